// Commands about the connection: PING, HELLO, AUTH, CLIENT, SELECT, QUIT, RESET.
#include "examples/kv/commands.h"
#include "examples/kv/server.h"
#include "tiderace/base/constant_time.h"

namespace kv {
namespace {

void ping(Call& call) {
    if (call.args.size() > 2) {
        return call.reply.error("ERR wrong number of arguments for 'ping' command");
    }
    const ByteView text = call.args.size() == 2 ? call.args[1] : ByteView();
    // In RESP 2 a subscriber gets arrays only, so that it can distinguish answers from messages.
    if (call.client.subscription_count() > 0 && call.reply.protocol() == resp::Protocol::resp2) {
        call.reply.array(2);
        call.reply.bulk("pong");
        return call.reply.bulk(text);
    }
    if (call.args.size() == 2) return call.reply.bulk(text);
    call.reply.simple("PONG");
}

void echo(Call& call) {
    call.reply.bulk(call.args[1]);
}

bool log_in(Call& call, ByteView user, ByteView password) {
    const std::string& wanted = call.server.options().password;
    if (wanted.empty() && user != "default") {
        call.reply.error("WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    if (!wanted.empty() &&
        (user != "default" || !tiderace::equals_in_constant_time(wanted, password))) {
        call.reply.error("WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    call.client.set_authenticated(true);
    return true;
}

void auth(Call& call) {
    if (call.args.size() > 3) return call.syntax_error();
    if (call.args.size() == 2 && call.server.options().password.empty()) {
        return call.reply.error(
            "ERR AUTH <password> called without any password configured for "
            "the default user. Are you sure your configuration is correct?");
    }
    const bool named = call.args.size() == 3;
    if (log_in(call, named ? call.args[1] : "default", call.args[named ? 2 : 1])) call.reply.ok();
}

// A name stands between spaces in a line of CLIENT LIST, so it holds neither spaces nor newlines.
bool is_name(Call& call, ByteView name) {
    for (const char c : name) {
        if (c >= '!' && c <= '~') continue;
        call.reply.error(
            "ERR Client names cannot contain spaces, newlines or "
            "special characters.");
        return false;
    }
    return true;
}

struct Hello {
    std::optional<std::int64_t> version;
    std::optional<ByteView> user;
    ByteView password;
    std::optional<ByteView> name;
};

// Reads all of it before anything is done: a HELLO that is refused changes nothing, and
// authenticates no client. nullopt: it cannot be read, and that was answered.
std::optional<Hello> read_hello(Call& call) {
    Hello hello;
    if (call.args.size() == 1) return hello;
    hello.version = strict_integer(call.args[1]);
    if (!hello.version || (*hello.version != 2 && *hello.version != 3)) {
        call.reply.error("NOPROTO unsupported protocol version");
        return std::nullopt;
    }
    for (std::size_t i = 2; i < call.args.size(); ++i) {
        if (same_word(call.args[i], "AUTH") && i + 2 < call.args.size()) {
            hello.user = call.args[i + 1];
            hello.password = call.args[i + 2];
            i += 2;
        } else if (same_word(call.args[i], "SETNAME") && i + 1 < call.args.size()) {
            hello.name = call.args[++i];
            if (!is_name(call, *hello.name)) return std::nullopt;
        } else {
            call.syntax_error();
            return std::nullopt;
        }
    }
    return hello;
}

void hello(Call& call) {
    const std::optional<Hello> wanted = read_hello(call);
    if (!wanted) return;
    if (wanted->user && !log_in(call, *wanted->user, wanted->password)) return;
    if (!call.client.authenticated()) {
        return call.reply.error(
            "NOAUTH HELLO must be called with the client already "
            "authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
            "option can be used to authenticate the client");
    }
    // Only now, because a client that is not authenticated changes nothing.
    if (wanted->name) call.client.name = *wanted->name;
    if (wanted->version) {
        call.client.protocol =
            *wanted->version == 3 ? resp::Protocol::resp3 : resp::Protocol::resp2;
        // HELLO itself is answered in the new protocol.
        call.reply = resp::Writer(call.reply.out(), call.client.protocol, call.reply.bytes_max());
    }
    resp::Writer& reply = call.reply;
    reply.map(7);
    reply.bulk("server");
    reply.bulk("redis");
    reply.bulk("version");
    // As in INFO: clients choose by it what they may send.
    reply.bulk("7.0.0");
    reply.bulk("proto");
    reply.integer(static_cast<std::int64_t>(call.client.protocol));
    reply.bulk("id");
    reply.integer(static_cast<std::int64_t>(call.client.id()));
    reply.bulk("mode");
    reply.bulk("standalone");
    reply.bulk("role");
    reply.bulk("master");
    reply.bulk("modules");
    reply.array(0);
}

std::string describe(Client& client) {
    std::string text = "id=" + std::to_string(client.id());
    text += " addr=" + client.address();
    text += " name=" + client.name;
    text += " db=0 sub=" + std::to_string(client.subscription_count());
    text += " multi=" + std::to_string(client.in_transaction()
                                           ? static_cast<int>(client.transaction().queue.size())
                                           : -1);
    return text + " resp=" + std::to_string(static_cast<int>(client.protocol)) + "\n";
}

void client_kill(Call& call) {
    const bool by_id = call.args.size() == 4 && same_word(call.args[2], "ID");
    const auto id = by_id ? strict_integer(call.args[3]) : std::nullopt;
    if (!id) return call.syntax_error();
    auto& all = call.server.clients();
    const auto found = all.find(static_cast<std::uint64_t>(*id));
    if (found == all.end()) return call.reply.integer(0);
    // Its own connection still has this answer to send.
    if (found->second == &call.client) {
        call.client.close_soon();
    } else {
        found->second->kill();
    }
    call.reply.integer(1);
}

// [TYPE normal|pubsub|master|replica] [ID number …]. nullopt: something else, which was answered.
std::optional<std::string> list(Call& call) {
    auto& all = call.server.clients();
    const resp::Arguments rest = call.args.from(2);
    std::string text;
    if (rest.empty()) {
        for (const auto& [id, each] : all) text += describe(*each);
        return text;
    }
    if (same_word(rest[0], "TYPE") && rest.size() == 2) {
        const bool normal = same_word(rest[1], "NORMAL");
        const bool pubsub = same_word(rest[1], "PUBSUB");
        if (!normal && !pubsub && !same_word(rest[1], "MASTER") && !same_word(rest[1], "REPLICA")) {
            call.reply.error("ERR Unknown client type");
            return std::nullopt;
        }
        for (const auto& [id, each] : all) {
            if (each->subscription_count() > 0 ? pubsub : normal) text += describe(*each);
        }
        return text;
    }
    if (!same_word(rest[0], "ID") || rest.size() == 1) {
        call.syntax_error();
        return std::nullopt;
    }
    for (const ByteView number : rest.from(1)) {
        const auto id = strict_integer(number);
        if (!id || *id <= 0) {
            call.reply.error("ERR Invalid client ID");
            return std::nullopt;
        }
        const auto found = all.find(static_cast<std::uint64_t>(*id));
        if (found != all.end()) text += describe(*found->second);
    }
    return text;
}

bool is_switch(ByteView word) {
    return same_word(word, "ON") || same_word(word, "OFF");
}

// Nothing is kept of what these set: the name of a library, and what Redis evicts and touches.
bool is_setting_without_effect(resp::Arguments args) {
    if (args.size() == 3) {
        return (same_word(args[1], "NO-EVICT") || same_word(args[1], "NO-TOUCH")) &&
               is_switch(args[2]);
    }
    return args.size() == 4 && same_word(args[1], "SETINFO") &&
           (same_word(args[2], "LIB-NAME") || same_word(args[2], "LIB-VER"));
}

void client(Call& call) {
    const ByteView word = call.args[1];
    const std::size_t count = call.args.size();
    if (same_word(word, "ID") && count == 2) {
        call.reply.integer(static_cast<std::int64_t>(call.client.id()));
    } else if (same_word(word, "GETNAME") && count == 2) {
        if (call.client.name.empty()) return call.reply.null();
        call.reply.bulk(call.client.name);
    } else if (same_word(word, "SETNAME") && count == 3) {
        if (!is_name(call, call.args[2])) return;
        call.client.name = call.args[2];
        call.reply.ok();
    } else if (is_setting_without_effect(call.args)) {
        call.reply.ok();
    } else if (same_word(word, "LIST")) {
        if (const auto text = list(call)) call.reply.verbatim("txt", *text);
    } else if (same_word(word, "INFO") && count == 2) {
        call.reply.verbatim("txt", describe(call.client));
    } else if (same_word(word, "KILL")) {
        client_kill(call);
    } else {
        call.reply.error("ERR unknown subcommand or wrong number of arguments for '" +
                         std::string(word.substr(0, 64)) +
                         "'. Try CLIENT ID, GETNAME, SETNAME, "
                         "LIST, INFO, KILL ID.");
    }
}

void select(Call& call) {
    const auto number = strict_integer(call.args[1]);
    if (!number) return call.reply.error("ERR invalid DB index");
    if (*number != 0) {
        return call.reply.error("ERR DB index is out of range: there is one database, 0");
    }
    call.reply.ok();
}

void quit(Call& call) {
    call.reply.ok();
    call.client.close_soon();
}

void reset(Call& call) {
    call.server.unwatch(call.client);
    call.client.end_transaction();
    call.server.unsubscribe_all(call.client);
    call.client.protocol = resp::Protocol::resp2;
    call.client.name.clear();
    call.client.set_authenticated(call.server.options().password.empty());
    call.reply.simple("RESET");
}

}  // namespace

Commands connection_commands() {
    static constexpr Command commands[] = {
        {"ping", ping, -1, flag::when_subscribed},
        {"echo", echo, 2, 0},
        {"auth", auth, -2, flag::before_auth | flag::no_transaction},
        {"hello", hello, -1, flag::before_auth | flag::no_transaction},
        {"client", client, -2, 0},
        {"select", select, 2, 0},
        {"quit", quit, -1, flag::when_subscribed | flag::before_auth | flag::in_transaction},
        {"reset", reset, 1, flag::when_subscribed | flag::before_auth | flag::in_transaction},
    };
    return commands;
}

}  // namespace kv
