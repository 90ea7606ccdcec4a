#include "lab/load_text.h"

#include <array>
#include <cstdio>

#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/json_escape.h"

namespace tiderace::lab {

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

double per_second(std::uint64_t count, Duration elapsed) {
    return elapsed > Duration::zero() ? static_cast<double>(count) / seconds(elapsed) : 0;
}

double each_us(Duration cpu, std::uint64_t answers) {
    return answers > 0 ? seconds(cpu) * 1e6 / static_cast<double>(answers) : 0;
}

std::string fixed(double value, int digits) {
    std::array<char, 400> out;
    std::snprintf(out.data(), out.size(), "%.*f", digits, value);
    return out.data();
}

std::string readable(Duration duration) {
    const double us = seconds(duration) * 1e6;
    if (us < 1'000) return fixed(us, 0) + " us";
    return us < 1e6 ? fixed(us / 1e3, 2) + " ms" : fixed(us / 1e6, 2) + " s";
}

std::string readable_bytes(double bytes) {
    if (bytes < 1'000) return fixed(bytes, 0) + " B";
    if (bytes < 1e6) return fixed(bytes / 1e3, 1) + " kB";
    return bytes < 1e9 ? fixed(bytes / 1e6, 1) + " MB" : fixed(bytes / 1e9, 2) + " GB";
}

std::string json_text(std::string_view value) {
    std::string room(value.size() * http::wire::json_growth_max + 1, '\0');
    http::wire::BoundedText out{std::span<char>(room)};
    http::wire::append_json(out, value);
    return '"' + std::string(out.view()) + '"';
}

JsonObject& JsonObject::add_json(std::string_view name, std::string_view json) {
    if (!members_.empty()) members_ += ',';
    members_.append(json_text(name)).append(1, ':').append(json);
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

JsonObject& JsonObject::add_flag(std::string_view name, bool value) {
    return add_json(name, value ? "true" : "false");
}

}  // namespace tiderace::lab
