// EXPIRE and its relatives, TTL and its relatives.
#include "examples/kv/commands/expiry.h"

#include "examples/kv/commands.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

// The moment that a number of seconds or milliseconds, from now or since 1970, means.
std::optional<std::int64_t> moment(Call& call, std::int64_t number, bool seconds, bool from_now) {
    std::int64_t when = number;
    // While a log is replayed now() is 0; nothing relative is in it (change_expiry, store).
    if ((seconds && __builtin_mul_overflow(number, 1000, &when)) ||
        (from_now && __builtin_add_overflow(when, call.keys.now(), &when))) {
        std::string name;
        for (const char c : call.args[0]) name += static_cast<char>(c | 0x20);
        call.reply.error("ERR invalid expire time in '" + name + "' command");
        return std::nullopt;
    }
    return when;
}

struct Conditions {
    bool nx = false, xx = false, gt = false, lt = false;
};

bool read_conditions(Call& call, Conditions& c) {
    for (const ByteView word : call.args.from(3)) {
        if (same_word(word, "NX")) {
            c.nx = true;
        } else if (same_word(word, "XX")) {
            c.xx = true;
        } else if (same_word(word, "GT")) {
            c.gt = true;
        } else if (same_word(word, "LT")) {
            c.lt = true;
        } else {
            call.reply.error("ERR Unsupported option " + std::string(word));
            return false;
        }
    }
    if ((c.nx && (c.xx || c.gt || c.lt)) || (c.gt && c.lt)) {
        call.reply.error(c.nx
                             ? "ERR NX and XX, GT or LT options at the same time are not compatible"
                             : "ERR GT and LT options at the same time are not compatible");
        return false;
    }
    return true;
}

void expire(Call& call, bool seconds, bool from_now) {
    const auto number = call.integer(call.args[2]);
    if (!number) return;
    Conditions conditions;
    if (!read_conditions(call, conditions)) return;
    const auto when = moment(call, *number, seconds, from_now);
    if (!when) return;
    Entry* entry = call.keys.find(call.args[1]);
    if (entry == nullptr) return call.reply.integer(0);
    const std::int64_t old = entry->expires;
    // A key without expiry lives for ever: nothing is greater.
    const bool changes = !(conditions.nx && old != 0) && !(conditions.xx && old == 0) &&
                         !(conditions.gt && (old == 0 || *when <= old)) &&
                         !(conditions.lt && old != 0 && *when >= old);
    // 0 means "never" in an entry; a moment before 1970 has passed as 1 has.
    if (changes) change_expiry(call, call.args[1], *entry, *when > 0 ? *when : 1);
    call.reply.integer(changes ? 1 : 0);
}

void expire_in_seconds(Call& call) {
    expire(call, true, true);
}
void expire_in_ms(Call& call) {
    expire(call, false, true);
}
void expire_at_second(Call& call) {
    expire(call, true, false);
}
void expire_at_ms(Call& call) {
    expire(call, false, false);
}

void persist(Call& call) {
    Entry* entry = call.keys.find(call.args[1]);
    if (entry == nullptr || entry->expires == 0) return call.reply.integer(0);
    change_expiry(call, call.args[1], *entry, 0);
    call.reply.integer(1);
}

// -2: no such key; -1: never.
std::optional<std::int64_t> when_of(Call& call) {
    Entry* entry = call.keys.peek(call.args[1]);
    if (entry != nullptr && entry->expires != 0) return entry->expires;
    call.reply.integer(entry == nullptr ? -2 : -1);
    return std::nullopt;
}

// To the nearest, as Redis. Without a sum that the greatest moment would overflow.
std::int64_t rounded_seconds(std::int64_t ms) {
    return ms / 1000 + (ms % 1000 >= 500 ? 1 : 0);
}

void ttl(Call& call) {
    if (const auto when = when_of(call))
        call.reply.integer(rounded_seconds(*when - call.keys.now()));
}
void pttl(Call& call) {
    if (const auto when = when_of(call)) call.reply.integer(*when - call.keys.now());
}
void expiretime(Call& call) {
    if (const auto when = when_of(call)) call.reply.integer(rounded_seconds(*when));
}
void pexpiretime(Call& call) {
    if (const auto when = when_of(call)) call.reply.integer(*when);
}

}  // namespace

bool is_expiry_word(ByteView word) {
    return same_word(word, "EX") || same_word(word, "PX") || same_word(word, "EXAT") ||
           same_word(word, "PXAT");
}

std::optional<std::int64_t> expiry_moment(Call& call, ByteView word, ByteView number) {
    const auto value = call.integer(number);
    if (!value) return std::nullopt;
    if (*value <= 0) {
        std::string name;
        for (const char c : call.args[0]) name += static_cast<char>(c | 0x20);
        call.reply.error("ERR invalid expire time in '" + name + "' command");
        return std::nullopt;
    }
    const bool seconds = same_word(word, "EX") || same_word(word, "EXAT");
    const bool from_now = same_word(word, "EX") || same_word(word, "PX");
    return moment(call, *value, seconds, from_now);
}

void change_expiry(Call& call, ByteView key, Entry& entry, std::int64_t when) {
    if (when == 0 && entry.expires == 0) return;
    // now() is 0 while a log is replayed, and then nothing has passed.
    const bool passed = when != 0 && call.keys.now() != 0 && when <= call.keys.now();
    if (passed) {
        call.keys.erase(key);
        // Logged as DEL, because that is what it did.
        call.log_as({"DEL", key});
    } else {
        call.keys.set_expiry(entry, when);
        if (when == 0) {
            call.log_as({"PERSIST", key});
        } else {
            // The moment, not the time from now, which would begin anew with each replay.
            call.log_as({"PEXPIREAT", key, std::to_string(when)});
        }
    }
    call.changed(key);
}

Commands expiry_commands() {
    static constexpr Command commands[] = {
        {"expire", expire_in_seconds, -3, flag::write, 1, 1, 1},
        {"pexpire", expire_in_ms, -3, flag::write, 1, 1, 1},
        {"expireat", expire_at_second, -3, flag::write, 1, 1, 1},
        {"pexpireat", expire_at_ms, -3, flag::write, 1, 1, 1},
        {"persist", persist, 2, flag::write, 1, 1, 1},
        {"ttl", ttl, 2, 0, 1, 1, 1},
        {"pttl", pttl, 2, 0, 1, 1, 1},
        {"expiretime", expiretime, 2, 0, 1, 1, 1},
        {"pexpiretime", pexpiretime, 2, 0, 1, 1, 1},
    };
    return commands;
}

}  // namespace kv
