// Strings that are numbers: INCR, DECR and their relatives.
#include <cmath>
#include <cstdlib>

#include "examples/kv/commands.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

// Keeps the expiry.
void put(Call& call, ByteView key, std::string text) {
    if (Entry* entry = call.keys.find(key)) {
        entry->value = std::move(text);
    } else {
        call.keys.set(key, std::move(text));
    }
    call.changed(key);
}

void add(Call& call, std::int64_t by) {
    const ByteView key = call.args[1];
    Text* text = nullptr;
    if (!call.find(key, text)) return;
    const auto value = text != nullptr ? call.integer(text->view()) : std::int64_t{0};
    if (!value) return;
    std::int64_t sum = 0;
    if (__builtin_add_overflow(*value, by, &sum)) {
        return call.reply.error("ERR increment or decrement would overflow");
    }
    put(call, key, std::to_string(sum));
    call.reply.integer(sum);
}

void incr(Call& call) {
    add(call, 1);
}

void decr(Call& call) {
    add(call, -1);
}

void incrby(Call& call) {
    if (const auto by = call.integer(call.args[2])) add(call, *by);
}

void decrby(Call& call) {
    const auto by = call.integer(call.args[2]);
    if (!by) return;
    // It has no positive counterpart.
    if (*by == INT64_MIN) return call.reply.error("ERR decrement would overflow");
    add(call, -*by);
}

void incrbyfloat(Call& call) {
    const ByteView key = call.args[1];
    Text* text = nullptr;
    if (!call.find(key, text)) return;
    long double value = 0;
    if (text != nullptr) {
        if (!call.real(text->view())) return;  // strtold() also takes hexadecimals and a part
        value = std::strtold(std::string(text->view()).c_str(), nullptr);
    }
    if (!call.real(call.args[2])) return;
    value += std::strtold(std::string(call.args[2]).c_str(), nullptr);
    if (std::isnan(value) || std::isinf(value)) {
        return call.reply.error("ERR increment would produce NaN or Infinity");
    }
    const std::string sum = float_text(value);
    put(call, key, sum);
    // The result instead of the sum: another machine might round otherwise.
    call.log_as({"SET", key, sum, "KEEPTTL"});
    call.reply.bulk(sum);
}

}  // namespace

Commands number_commands() {
    static constexpr Command commands[] = {
        {"incr", incr, 2, flag::write | flag::grows, 1, 1, 1},
        {"decr", decr, 2, flag::write | flag::grows, 1, 1, 1},
        {"incrby", incrby, 3, flag::write | flag::grows, 1, 1, 1},
        {"decrby", decrby, 3, flag::write | flag::grows, 1, 1, 1},
        {"incrbyfloat", incrbyfloat, 3, flag::write | flag::grows, 1, 1, 1},
    };
    return commands;
}

}  // namespace kv
