// Commands about the server: CONFIG, COMMAND, SAVE, BGSAVE, BGREWRITEAOF, SHUTDOWN, DEBUG, TIME.
#include <algorithm>
#include <chrono>
#include <string>

#include "examples/kv/commands.h"
#include "examples/kv/glob.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

void config_get(Call& call) {
    std::vector<std::string_view> found;
    std::vector<Glob> patterns;
    for (const ByteView each : call.args.from(2)) {
        if (!call.takes_pattern(each)) return;
        patterns.emplace_back(each);
    }
    for (const std::string_view name : option_names()) {
        const auto matches = [name](Glob& pattern) { return pattern.matches(name); };
        if (std::ranges::any_of(patterns, matches)) found.push_back(name);
    }
    // redis-benchmark requests this: here no snapshot is made by a schedule.
    const bool save = call.args.size() == 3 && same_word(call.args[2], "SAVE");
    call.reply.map(found.size() + (save ? 1 : 0));
    for (const std::string_view name : found) {
        call.reply.bulk(name);
        call.reply.bulk(option_text(call.server.options(), name));
    }
    if (!save) return;
    call.reply.bulk("save");
    call.reply.bulk("");
}

void config_set(Call& call) {
    if (call.args.size() < 4 || call.args.size() % 2 != 0) return call.syntax_error();
    Options changed = call.server.options();
    for (std::size_t i = 2; i < call.args.size(); i += 2) {
        std::string name;
        for (const char c : call.args[i]) {
            name += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
        }
        // These are used once, at the start.
        const bool fixed = name == "dir" || name == "appendonly" || name == "appendfsync" ||
                           name == "fsync" || name == "engine" || name == "maxclients" ||
                           name == "output-max" || name == "input-max" ||
                           name == "proto-max-bulk-len";
        if (fixed) {
            return call.reply.error("ERR CONFIG SET failed: '" + name +
                                    "' can be given at the start only");
        }
        const auto known = set_option(changed, name, call.args[i + 1]);
        if (!known) return call.reply.error("ERR CONFIG SET failed: " + known.error().message());
        if (!*known) {
            return call.reply.error("ERR Unknown option or number of arguments for CONFIG SET - '" +
                                    name + "'");
        }
    }
    // All or nothing: none of them is set before all are known to be good.
    call.server.options() = changed;
    call.reply.ok();
}

void config(Call& call) {
    if (same_word(call.args[1], "GET") && call.args.size() >= 3) return config_get(call);
    if (same_word(call.args[1], "SET")) return config_set(call);
    if (same_word(call.args[1], "RESETSTAT") && call.args.size() == 2) {
        call.server.counters() = {};
        return call.reply.ok();
    }
    call.reply.error("ERR unknown subcommand. Try CONFIG GET, SET, RESETSTAT.");
}

void show(Call& call, const Command* command) {
    if (command == nullptr) return call.reply.null_array();
    call.reply.array(6);
    call.reply.bulk(command->name);
    call.reply.integer(command->arity);
    const bool writes = (command->flags & flag::write) != 0;
    const bool grows = (command->flags & flag::grows) != 0;
    call.reply.set(grows ? 2 : 1);
    call.reply.simple(writes ? "write" : "readonly");
    if (grows) call.reply.simple("denyoom");
    call.reply.integer(command->first_key);
    call.reply.integer(command->last_key);
    call.reply.integer(command->key_step);
}

void command(Call& call) {
    const CommandTable& table = call.server.commands();
    if (call.args.size() == 1) {
        call.reply.array(table.size());
        table.for_each([&call](const Command& each) { show(call, &each); });
    } else if (same_word(call.args[1], "COUNT") && call.args.size() == 2) {
        call.reply.integer(static_cast<std::int64_t>(table.size()));
    } else if (same_word(call.args[1], "INFO")) {
        call.reply.array(call.args.size() - 2);
        for (const ByteView name : call.args.from(2)) show(call, table.find(name));
    } else if (same_word(call.args[1], "DOCS")) {
        call.reply.map(0);
    } else if (same_word(call.args[1], "LIST") && call.args.size() == 2) {
        call.reply.array(table.size());
        table.for_each([&call](const Command& each) { call.reply.bulk(each.name); });
    } else {
        call.syntax_error();
    }
}

void save(Call& call) {
    const std::uint64_t number =
        std::max(call.server.snapshots().generation(), call.server.log().number()) + 1;
    // With a log a snapshot has to begin a new log as well, which BGREWRITEAOF does.
    if (call.server.log().is_open()) {
        return call.reply.error("ERR there is a log, which makes a snapshot with BGREWRITEAOF");
    }
    const auto saved = call.server.snapshots().save(call.keys, number);
    if (!saved) return call.reply.error("ERR " + saved.error().message());
    call.reply.ok();
}

void begin(Call& call, std::string_view answer) {
    const auto begun = call.server.begin_snapshot();
    if (!begun) return call.reply.error("ERR " + begun.error().message());
    call.reply.simple(answer);
}

void bgsave(Call& call) {
    // Nothing else forks here that the save would have to wait for.
    const bool scheduled = call.args.size() == 2 && same_word(call.args[1], "SCHEDULE");
    if (call.args.size() > 1 && !scheduled) return call.syntax_error();
    begin(call, "Background saving started");
}

void bgrewriteaof(Call& call) {
    begin(call, "Background append only file rewriting started");
}

void lastsave(Call& call) {
    call.reply.integer(call.server.snapshots().last_save());
}

void shutdown(Call& call) {
    bool save = false;
    bool no_save = false;
    for (const ByteView word : call.args.from(1)) {
        if (same_word(word, "NOSAVE")) {
            no_save = true;
        } else if (same_word(word, "SAVE")) {
            save = true;
        } else if (!same_word(word, "NOW") && !same_word(word, "FORCE")) {
            return call.syntax_error();
        }
    }
    if (save && no_save) return call.syntax_error();
    const auto done = call.server.shut_down(!no_save);
    if (!done) return call.reply.error("ERR " + done.error().message());
    call.client.close_soon();  // without an answer, as Redis: the end of the connection is one
}

void debug(Call& call) {
    if (same_word(call.args[1], "OBJECT") && call.args.size() == 3) {
        if (call.keys.peek(call.args[2]) == nullptr) return call.reply.error("ERR no such key");
        return call.reply.simple("Value at:0 refcount:1");
    }
    if (same_word(call.args[1], "SET-ACTIVE-EXPIRE") && call.args.size() == 3) {
        return call.reply.ok();
    }
    call.reply.error("ERR unknown subcommand. Try DEBUG OBJECT.");
}

void time(Call& call) {
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    call.reply.array(2);
    call.reply.bulk(std::to_string(now / 1'000'000));
    call.reply.bulk(std::to_string(now % 1'000'000));
}

}  // namespace

Commands server_commands() {
    static constexpr Command commands[] = {
        {"config", config, -2, 0},
        {"command", command, -1, 0},
        {"save", save, 1, flag::no_transaction},
        {"bgsave", bgsave, -1, flag::no_transaction},
        {"bgrewriteaof", bgrewriteaof, 1, flag::no_transaction},
        {"lastsave", lastsave, 1, 0},
        {"shutdown", shutdown, -1, flag::no_transaction},
        {"debug", debug, -2, 0},
        {"time", time, 1, 0},
    };
    return commands;
}

}  // namespace kv
