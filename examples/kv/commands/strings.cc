// Strings: SET with all options, GET and its relatives, ranges, several keys at once.
#include <algorithm>

#include "examples/kv/commands.h"
#include "examples/kv/commands/expiry.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

void answer(Call& call, Text* text) {
    if (text == nullptr) {
        ++call.server.counters().misses;
        return call.reply.null();
    }
    ++call.server.counters().hits;
    call.answer(*text);
}

void store(Call& call, ByteView key, ByteView text, std::int64_t expires) {
    Entry* old = call.keys.find(key);
    // In place, so that the old text's memory is used again (Text::assign).
    if (auto* in_place = old != nullptr ? std::get_if<Text>(&old->value) : nullptr) {
        in_place->assign(text);
        if (old->expires != expires) call.keys.set_expiry(*old, expires);
    } else {
        Entry& made = call.keys.set(key, std::string(text));
        if (expires != 0) call.keys.set_expiry(made, expires);
    }
    call.changed(key);
    // The moment of its end, whichever way the command named it.
    if (expires != 0) call.log_as({"SET", key, text, "PXAT", std::to_string(expires)});
}

struct SetOptions {
    bool only_new = false;
    bool only_old = false;
    bool get = false;
    bool keep_expiry = false;
    std::int64_t expires = 0;
};

bool read_options(Call& call, SetOptions& options) {
    bool has_expiry = false;
    for (std::size_t i = 3; i < call.args.size(); ++i) {
        const ByteView word = call.args[i];
        if (same_word(word, "NX") && !options.only_old) {
            options.only_new = true;
        } else if (same_word(word, "XX") && !options.only_new) {
            options.only_old = true;
        } else if (same_word(word, "GET")) {
            options.get = true;
        } else if (same_word(word, "KEEPTTL") && !has_expiry) {
            options.keep_expiry = true;
        } else if (is_expiry_word(word) && !has_expiry && !options.keep_expiry &&
                   i + 1 < call.args.size()) {
            has_expiry = true;
            const auto when = expiry_moment(call, word, call.args[++i]);
            if (!when) return false;
            options.expires = *when;
        } else {
            call.syntax_error();
            return false;
        }
    }
    return true;
}

void set(Call& call) {
    const ByteView key = call.args[1];
    if (call.args.size() == 3) {
        store(call, key, call.args[2], 0);
        return call.reply.ok();
    }
    SetOptions options;
    if (!read_options(call, options)) return;
    Entry* old = call.keys.find(key);
    Text* text = nullptr;
    // SET replaces a value of any type, but with GET it has to show the old one.
    if (options.get && !call.find(key, text)) return;
    const bool stores = old != nullptr ? !options.only_new : !options.only_old;
    // Answered before anything is stored, because the old text ends there.
    if (options.get) {
        answer(call, text);
    } else if (stores) {
        call.reply.ok();
    } else {
        call.reply.null();
    }
    if (!stores) return;
    if (options.keep_expiry && old != nullptr) options.expires = old->expires;
    store(call, key, call.args[2], options.expires);
    // Without NX, XX and GET, which are decided (store() has logged a key that expires).
    if (options.expires == 0) call.log_as({"SET", key, call.args[2]});
}

void get(Call& call) {
    Text* text = nullptr;
    if (call.find(call.args[1], text)) answer(call, text);
}

void getex(Call& call) {
    const ByteView key = call.args[1];
    const std::size_t words = call.args.size() - 2;
    const bool expires = words == 2 && is_expiry_word(call.args[2]);
    const bool persists = words == 1 && same_word(call.args[2], "PERSIST");
    if (words > 0 && !expires && !persists) return call.syntax_error();
    // The number last, as in Redis, which does not parse it where there is no key.
    Text* text = nullptr;
    if (!call.find(key, text)) return;
    if (text == nullptr || words == 0) return answer(call, text);
    std::int64_t moment = 0;
    if (expires) {
        const auto when = expiry_moment(call, call.args[2], call.args[3]);
        if (!when) return;
        moment = *when;
    }
    // Answered first: a moment that has passed removes the key.
    answer(call, text);
    change_expiry(call, key, *call.keys.find(key), moment);
}

void getdel(Call& call) {
    Text* text = nullptr;
    if (!call.find(call.args[1], text)) return;
    answer(call, text);
    if (text == nullptr) return;
    call.keys.erase(call.args[1]);
    call.changed(call.args[1]);
    call.log_as({"DEL", call.args[1]});
}

void getset(Call& call) {
    Text* text = nullptr;
    if (!call.find(call.args[1], text)) return;
    answer(call, text);
    store(call, call.args[1], call.args[2], 0);
}

void setnx(Call& call) {
    if (call.keys.find(call.args[1]) != nullptr) return call.reply.integer(0);
    store(call, call.args[1], call.args[2], 0);
    call.reply.integer(1);
}

void set_with(Call& call, ByteView unit) {
    const auto when = expiry_moment(call, unit, call.args[2]);
    if (!when) return;
    store(call, call.args[1], call.args[3], *when);
    call.reply.ok();
}

void setex(Call& call) {
    set_with(call, "EX");
}

void psetex(Call& call) {
    set_with(call, "PX");
}

void mget(Call& call) {
    call.reply.array(call.args.size() - 1);
    // A key of another type is null and no error, as in Redis: it must not hide the others.
    for (const ByteView key : call.args.from(1)) {
        Entry* entry = call.keys.find(key);
        answer(call, entry != nullptr ? std::get_if<Text>(&entry->value) : nullptr);
    }
}

bool has_pairs(Call& call) {
    if (call.args.size() % 2 == 1) return true;
    call.reply.error("ERR wrong number of arguments for '" + std::string(call.args[0]) +
                     "' command");
    return false;
}

void mset(Call& call) {
    if (!has_pairs(call)) return;
    for (std::size_t i = 1; i < call.args.size(); i += 2) {
        store(call, call.args[i], call.args[i + 1], 0);
    }
    call.reply.ok();
}

void msetnx(Call& call) {
    if (!has_pairs(call)) return;
    for (std::size_t i = 1; i < call.args.size(); i += 2) {
        // All or none: each key is looked up before any is set.
        if (call.keys.find(call.args[i]) != nullptr) return call.reply.integer(0);
    }
    for (std::size_t i = 1; i < call.args.size(); i += 2) {
        store(call, call.args[i], call.args[i + 1], 0);
    }
    call.reply.integer(1);
}

// A command in the log fitted once, although the limit may be smaller now.
bool fits(Call& call, std::size_t bytes) {
    if (bytes <= call.server.limits().bulk_bytes_max || call.client.replays()) return true;
    call.reply.error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    return false;
}

void append(Call& call) {
    const ByteView key = call.args[1];
    Text* text = nullptr;
    if (!call.find(key, text)) return;
    if (!fits(call, (text != nullptr ? text->size() : 0) + call.args[2].size())) return;
    if (text == nullptr) {
        text = &std::get<Text>(call.keys.set(key, std::string()).value);
    }
    text->edit().append(call.args[2]);
    call.changed(key);
    call.reply.integer(static_cast<std::int64_t>(text->size()));
}

void length(Call& call) {
    Text* text = nullptr;
    if (!call.find(call.args[1], text)) return;
    call.reply.integer(text != nullptr ? static_cast<std::int64_t>(text->size()) : 0);
}

void getrange(Call& call) {
    const auto first = call.integer(call.args[2]);
    if (!first) return;
    const auto last = call.integer(call.args[3]);
    if (!last) return;
    Text* text = nullptr;
    if (!call.find(call.args[1], text)) return;
    const auto size = text != nullptr ? static_cast<std::int64_t>(text->size()) : 0;
    const auto place = [size](std::int64_t index) {
        return std::max<std::int64_t>(0, index < 0 ? index + size : index);
    };
    const std::int64_t begin = place(*first);
    const std::int64_t end = std::min(place(*last), size - 1) + 1;
    // The last condition: two places before the beginning would both be moved to the first byte.
    if (size == 0 || begin >= end || (*first < 0 && *last < 0 && *first > *last)) {
        return call.reply.bulk("");
    }
    call.answer(*text, text->view().substr(static_cast<std::size_t>(begin),
                                           static_cast<std::size_t>(end - begin)));
}

void setrange(Call& call) {
    const ByteView key = call.args[1];
    const auto offset = call.integer(call.args[2]);
    if (!offset) return;
    if (*offset < 0) return call.reply.error("ERR offset is out of range");
    Text* text = nullptr;
    if (!call.find(key, text)) return;
    const ByteView part = call.args[3];
    // Nothing to write makes no key and no zeros, as in Redis.
    if (part.empty()) {
        return call.reply.integer(text != nullptr ? static_cast<std::int64_t>(text->size()) : 0);
    }
    const auto at = static_cast<std::size_t>(*offset);
    if (!fits(call, at + part.size())) return;
    if (text == nullptr) {
        text = &std::get<Text>(call.keys.set(key, std::string()).value);
    }
    std::string& bytes = text->edit();
    if (bytes.size() < at + part.size()) bytes.resize(at + part.size());
    bytes.replace(at, part.size(), part);
    call.changed(key);
    call.reply.integer(static_cast<std::int64_t>(text->size()));
}

}  // namespace

Commands string_commands() {
    static constexpr Command commands[] = {
        {"set", set, -3, flag::write | flag::grows, 1, 1, 1},
        {"get", get, 2, 0, 1, 1, 1},
        {"getex", getex, -2, flag::write, 1, 1, 1},
        {"getdel", getdel, 2, flag::write, 1, 1, 1},
        {"getset", getset, 3, flag::write | flag::grows, 1, 1, 1},
        {"setnx", setnx, 3, flag::write | flag::grows, 1, 1, 1},
        {"setex", setex, 4, flag::write | flag::grows, 1, 1, 1},
        {"psetex", psetex, 4, flag::write | flag::grows, 1, 1, 1},
        {"mget", mget, -2, 0, 1, -1, 1},
        {"mset", mset, -3, flag::write | flag::grows, 1, -1, 2},
        {"msetnx", msetnx, -3, flag::write | flag::grows, 1, -1, 2},
        {"append", append, 3, flag::write | flag::grows, 1, 1, 1},
        {"strlen", length, 2, 0, 1, 1, 1},
        {"getrange", getrange, 4, 0, 1, 1, 1},
        {"substr", getrange, 4, 0, 1, 1, 1},
        {"setrange", setrange, 4, flag::write | flag::grows, 1, 1, 1},
    };
    return commands;
}

}  // namespace kv
