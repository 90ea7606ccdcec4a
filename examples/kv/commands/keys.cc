// Keys of any type: DEL, EXISTS, RENAME, COPY, TYPE, RANDOMKEY, OBJECT, DBSIZE, FLUSHALL.
#include "examples/kv/commands.h"
#include "examples/kv/server.h"
#include "examples/kv/snapshot_writer.h"

namespace kv {
namespace {

using Index = std::int64_t;

void del(Call& call) {
    Index gone = 0;
    for (const ByteView key : call.args.from(1)) {
        if (!call.keys.erase(key)) continue;
        ++gone;
        call.changed(key);
    }
    call.reply.integer(gone);
}

void exists(Call& call) {
    Index found = 0;
    // A key that is named twice counts twice, as in Redis.
    for (const ByteView key : call.args.from(1)) found += call.keys.find(key) != nullptr ? 1 : 0;
    call.reply.integer(found);
}

void type(Call& call) {
    const Entry* entry = call.keys.peek(call.args[1]);
    call.reply.simple(entry != nullptr ? to_string(entry->type()) : "none");
}

void rename(Call& call, bool only_new) {
    if (call.keys.find(call.args[1]) == nullptr) return call.reply.error("ERR no such key");
    if (only_new && call.keys.find(call.args[2]) != nullptr) return call.reply.integer(0);
    if (call.args[1] != call.args[2]) {
        call.keys.rename(call.args[1], call.args[2]);
        call.changed(call.args[1]);
        call.changed(call.args[2]);
    }
    if (only_new) return call.reply.integer(1);
    call.reply.ok();
}

void rename_any(Call& call) {
    rename(call, false);
}
void rename_new(Call& call) {
    rename(call, true);
}

Value copy_of(const Value& value) {
    if (const auto* list = std::get_if<std::unique_ptr<List>>(&value)) {
        return std::make_unique<List>(**list);
    }
    if (const auto* hash = std::get_if<std::unique_ptr<Hash>>(&value)) {
        auto copy = std::make_unique<Hash>();
        (*hash)->for_each(
            [&copy](auto& node) { copy->insert(node.key).first->mapped = node.mapped; });
        return copy;
    }
    if (const auto* set = std::get_if<std::unique_ptr<Set>>(&value)) {
        auto copy = std::make_unique<Set>();
        (*set)->for_each([&copy](auto& node) { copy->insert(node.key); });
        return copy;
    }
    if (const auto* sorted = std::get_if<std::unique_ptr<SortedSet>>(&value)) {
        auto copy = std::make_unique<SortedSet>();
        for (const auto* node = (*sorted)->at(0); node != nullptr; node = node->next()) {
            copy->set(node->member(), node->score());
        }
        return copy;
    }
    return Text(std::string(std::get<Text>(value).view()));
}

void copy(Call& call) {
    bool replaces = false;
    for (const ByteView word : call.args.from(3)) {
        if (!same_word(word, "REPLACE")) return call.syntax_error();
        replaces = true;
    }
    Entry* from = call.keys.find(call.args[1]);
    if (call.args[1] == call.args[2]) {
        return call.reply.error("ERR source and destination objects are the same");
    }
    if (from == nullptr || (!replaces && call.keys.find(call.args[2]) != nullptr)) {
        return call.reply.integer(0);
    }
    const std::int64_t expires = from->expires;
    // set() clears an old expiry, so the copy's is set behind it.
    Entry& made = call.keys.set(call.args[2], copy_of(from->value));
    call.keys.set_expiry(made, expires);
    call.changed(call.args[2]);
    call.reply.integer(1);
}

void randomkey(Call& call) {
    const Entry* entry = call.keys.random();
    if (entry == nullptr) return call.reply.null();
    call.reply.bulk(*entry->key);
}

void dbsize(Call& call) {
    call.reply.integer(static_cast<Index>(call.keys.size()));
}

void flush(Call& call) {
    // Both words mean the same here: all is gone before the answer.
    const bool has_word = call.args.size() == 2 &&
                          (same_word(call.args[1], "ASYNC") || same_word(call.args[1], "SYNC"));
    if (call.args.size() > 1 && !has_word) return call.syntax_error();
    call.server.all_keys_go();
    call.keys.clear();
    call.changed_all();
    call.log_as({"FLUSHALL"});
    call.reply.ok();
}

std::string_view encoding(const Entry& entry) {
    switch (entry.type()) {
        case Type::string: {
            const ByteView text = std::get<Text>(entry.value).view();
            // The names and the bound of Redis, which tests and tools compare.
            return strict_integer(text) ? "int" : text.size() <= 44 ? "embstr" : "raw";
        }
        case Type::list:
            return "quicklist";
        case Type::sorted_set:
            return "skiplist";
        default:
            return "hashtable";
    }
}

void object(Call& call) {
    if (call.args.size() != 3) return call.syntax_error();
    const Entry* entry = call.keys.peek(call.args[2]);
    if (entry == nullptr) return call.reply.null();
    if (same_word(call.args[1], "ENCODING")) return call.reply.bulk(encoding(*entry));
    // Tools request these. No value is shared between keys here, and no time of use is kept.
    if (same_word(call.args[1], "REFCOUNT")) return call.reply.integer(1);
    if (same_word(call.args[1], "IDLETIME") || same_word(call.args[1], "FREQ")) {
        return call.reply.integer(0);
    }
    call.syntax_error();
}

void memory(Call& call) {
    const std::size_t count = call.args.size();
    const bool samples = count == 5 && same_word(call.args[3], "SAMPLES");
    if (!same_word(call.args[1], "USAGE") || (count != 3 && !samples)) return call.syntax_error();
    // All of a value is counted, whatever the number of samples.
    if (samples && !call.integer(call.args[4])) return;
    const Entry* entry = call.keys.peek(call.args[2]);
    if (entry == nullptr) return call.reply.null();
    // As long as the commands that make it again, and its place in the table (dict.h).
    std::size_t bytes = sizeof(Entry) + 48;
    if (const auto* string = std::get_if<Text>(&entry->value)) {
        bytes += entry->key->size() + string->size();
    } else {
        std::string text;
        append_commands(*entry, text);
        bytes += text.size();
    }
    call.reply.integer(static_cast<Index>(bytes));
}

void touch(Call& call) {
    exists(call);
}

}  // namespace

Commands key_commands() {
    static constexpr Command commands[] = {
        {"del", del, -2, flag::write, 1, -1, 1},
        {"unlink", del, -2, flag::write, 1, -1, 1},
        {"exists", exists, -2, 0, 1, -1, 1},
        {"touch", touch, -2, 0, 1, -1, 1},
        {"type", type, 2, 0, 1, 1, 1},
        {"rename", rename_any, 3, flag::write, 1, 2, 1},
        {"renamenx", rename_new, 3, flag::write, 1, 2, 1},
        {"copy", copy, -3, flag::write | flag::grows, 1, 2, 1},
        {"randomkey", randomkey, 1, 0},
        {"dbsize", dbsize, 1, 0},
        {"flushall", flush, -1, flag::write},
        {"flushdb", flush, -1, flag::write},
        {"object", object, -2, 0, 2, 2, 1},
        {"memory", memory, -2, 0},
    };
    return commands;
}

}  // namespace kv
