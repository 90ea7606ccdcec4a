#include "examples/kv/call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "examples/kv/glob.h"
#include "examples/kv/server.h"

namespace kv {

bool same_word(ByteView text, std::string_view upper) {
    return std::ranges::equal(text, upper, [](char a, char b) {
        return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
    });
}

std::optional<std::int64_t> strict_integer(ByteView text) {
    const ByteView digits = text.substr(text.starts_with('-') ? 1 : 0);
    // As Redis: "007", "-0" and "+1" are texts, so that an integer has one spelling.
    if (digits.empty() || (digits[0] == '0' && text != "0")) return std::nullopt;
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

std::string float_text(long double value) {
    std::array<char, 5200> text;  // the longest long double without an exponent, and 17 digits
    const int bytes = std::snprintf(text.data(), text.size(), "%.17Lf", value);
    std::string out(text.data(), static_cast<std::size_t>(bytes));
    if (out.find('.') != std::string::npos) {
        out.erase(out.find_last_not_of('0') + 1);
        if (out.ends_with('.')) out.pop_back();
    }
    return out == "-0" ? "0" : out;
}

Call::Call(Server& s, Client& c, resp::Arguments a, Answers& o)
    : server(s),
      client(c),
      keys(s.keys()),
      args(a),
      out(o),
      reply(o.text(), c.protocol, s.options().output_bytes_max) {}

void Call::answer(Text& text, ByteView part) {
    // The parts before this one have left the writer's string.
    if (out.own_bytes() >= reply.bytes_max()) return;
    if (part.size() < Text::shared_bytes_min) return reply.bulk(part);
    reply.bulk_head(part.size());
    // It may move the text into a block, so the part is found in it again.
    const auto from = static_cast<std::size_t>(part.data() - text.view().data());
    const core::Ref<Block> block = text.share(out.loose());
    out.share(block->view().substr(from, part.size()), block);
    out.text() += "\r\n";
}

std::optional<std::int64_t> Call::integer(ByteView text) {
    const auto value = strict_integer(text);
    if (!value) reply.error("ERR value is not an integer or out of range");
    return value;
}

std::optional<double> Call::real(ByteView text) {
    auto value = resp::parse_double(text);
    // Redis reads these by strtod(), which knows more spellings than RESP has.
    if (same_word(text, "INFINITY")) value = INFINITY;
    if (!value || std::isnan(*value)) {
        reply.error("ERR value is not a valid float");
        return std::nullopt;
    }
    return value;
}

bool Call::is_second_try() const {
    return client.blocked();
}

bool Call::takes_pattern(ByteView pattern) {
    if (pattern.size() <= Glob::bytes_max) return true;
    reply.error("ERR pattern is longer than " + std::to_string(Glob::bytes_max) + " bytes");
    return false;
}

std::optional<double> Call::timeout(ByteView text) {
    const auto seconds = resp::parse_double(text);
    // In milliseconds it has to be a number of 64 bits, as in Redis.
    constexpr double seconds_end = 9.2e15;
    if (seconds && *seconds >= 0 && *seconds < seconds_end) return seconds;
    const bool is_number = seconds && std::isfinite(*seconds);
    reply.error(!is_number     ? "ERR timeout is not a float or out of range"
                : *seconds < 0 ? "ERR timeout is negative"
                               : "ERR timeout is out of range");
    return std::nullopt;
}

void Call::wait_for(std::string_view name, resp::Arguments awaited, double seconds) {
    // It found nothing either: the client goes on waiting.
    if (is_second_try()) return;
    // A transaction is one step, during which no element can arrive.
    if (client.in_exec() || client.replays()) return reply.null_array();
    server.blocked().wait(*this, *server.commands().find(name), awaited, seconds);
}

void Call::changed(ByteView key) {
    is_changed_ = true;
    server.key_changed(key);
}

void Call::log_as(std::initializer_list<ByteView> command) {
    resp::Writer(log_text_).command(command);
}

void Call::log_as(std::span<const ByteView> command) {
    resp::Writer(log_text_).command(command);
}

void Call::log_as(const std::vector<std::string>& command) {
    std::vector<ByteView> views(command.begin(), command.end());
    resp::Writer(log_text_).command(views);
}

}  // namespace kv
