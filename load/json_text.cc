#include "load/json_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "load/figures.h"
#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/text/json_escape.h"

namespace tiderace::load {
namespace {

constexpr unsigned indent_step = 2;
constexpr double whole_max = 9e15;  // below 2^53: every whole number is itself

}  // namespace

std::string json_text(std::string_view value) {
    std::string room(value.size() * http::wire::json_growth_max + 1, '\0');
    http::wire::BoundedText out{std::span<char>(room)};
    http::wire::append_json(out, value);
    return '"' + std::string(out.view()) + '"';
}

std::string json_number(double value) {
    // JSON has no word for it (RFC 8259, 6).
    if (!std::isfinite(value)) return "null";
    // The fewest digits of 100,000 are "1e+05".
    if (value == std::floor(value) && std::abs(value) < whole_max) {
        return std::to_string(static_cast<std::int64_t>(value));
    }
    std::array<char, 32> digits;
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

void JsonItems::add(std::string_view json) {
    if (!items_.empty()) items_ += ',';
    if (indent_ > 0) items_.append(1, '\n').append(indent_, ' ');
    items_ += json;
}

std::string JsonItems::between(char first, char last) const {
    std::string out = first + items_;
    if (indent_ > 0 && !items_.empty()) out.append(1, '\n').append(indent_ - indent_step, ' ');
    return out + last;
}

JsonObject& JsonObject::add_json(std::string_view name, std::string_view json) {
    members_.add(json_text(name).append(1, ':').append(json));
    return *this;
}

JsonObject& JsonObject::add(std::string_view name, std::uint64_t value) {
    return add_json(name, std::to_string(value));
}

JsonObject& JsonObject::add(std::string_view name, Duration nanoseconds) {
    return add_json(name, std::to_string(nanoseconds.count()));
}

JsonObject& JsonObject::add(std::string_view name, double value, int digits) {
    return add_json(name, fixed(value, digits));
}

JsonObject& JsonObject::add(std::string_view name, std::string_view text) {
    return add_json(name, json_text(text));
}

JsonObject& JsonObject::add_number(std::string_view name, double value) {
    return add_json(name, json_number(value));
}

JsonObject& JsonObject::add_flag(std::string_view name, bool value) {
    return add_json(name, value ? "true" : "false");
}

}  // namespace tiderace::load
