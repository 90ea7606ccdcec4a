#include "examples/kv/commands/counted_keys.h"

namespace kv {

std::optional<resp::Arguments> read_keys(Call& call, std::size_t at) {
    const auto count = call.integer(call.args[at]);
    if (!count) return std::nullopt;
    if (*count <= 0) {
        call.reply.error("ERR numkeys should be greater than 0");
        return std::nullopt;
    }
    if (static_cast<std::size_t>(*count) > call.args.size() - at - 1) {
        call.reply.error("ERR Number of keys can't be greater than number of args");
        return std::nullopt;
    }
    return call.args.part(at + 1, at + 1 + static_cast<std::size_t>(*count));
}

std::optional<MultiPop> read_multi_pop(Call& call, std::size_t at, std::string_view first,
                                       std::string_view last) {
    const auto keys = read_keys(call, at);
    if (!keys) return std::nullopt;
    MultiPop pop{.keys = *keys};
    const resp::Arguments rest = call.args.from(at + 1 + keys->size());
    if (!rest.empty()) pop.first = same_word(rest[0], first);
    const bool has_count = rest.size() == 3 && same_word(rest[1], "COUNT");
    if (rest.empty() || (!pop.first && !same_word(rest[0], last)) ||
        (rest.size() != 1 && !has_count)) {
        call.syntax_error();
        return std::nullopt;
    }
    if (!has_count) return pop;
    const auto count = call.integer(rest[2]);
    if (!count) return std::nullopt;
    if (*count <= 0) {
        call.reply.error("ERR count should be greater than 0");
        return std::nullopt;
    }
    pop.count = *count;
    return pop;
}

std::optional<LimitedKeys> read_limited_keys(Call& call) {
    const auto keys = read_keys(call, 1);
    if (!keys) return std::nullopt;
    LimitedKeys read{.keys = *keys};
    const resp::Arguments rest = call.args.from(2 + keys->size());
    if (rest.empty()) return read;
    if (rest.size() != 2 || !same_word(rest[0], "LIMIT")) {
        call.syntax_error();
        return std::nullopt;
    }
    const auto limit = call.integer(rest[1]);
    if (!limit) return std::nullopt;
    if (*limit < 0) {
        call.reply.error("ERR LIMIT can't be negative");
        return std::nullopt;
    }
    read.limit = *limit;
    return read;
}

}  // namespace kv
