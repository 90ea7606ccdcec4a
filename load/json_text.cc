#include "load/json_text.h"

#include "load/figures.h"
#include "tiderace/http/wire/text/json_escape.h"

namespace tiderace::load {

std::string json_text(std::string_view value) {
    return '"' + http::wire::json_text(value) + '"';
}

void JsonItems::add(std::string_view json) {
    if (!items_.empty()) items_ += ',';
    items_ += json;
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

JsonObject& JsonObject::add_flag(std::string_view name, bool value) {
    return add_json(name, value ? "true" : "false");
}

}  // namespace tiderace::load
