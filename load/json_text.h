// JSON text: what the load generator writes for programs (RFC 8259), without the room json, which
// needs simdjson.
//
// text() renders an object or a list, and nested ones are added as rendered text.
//
// Thread   Any: pure functions; a JsonObject or a JsonList belongs to one thread.
// Errors   None: bytes that are not UTF-8 are escaped as in http/wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/units.h"

namespace tiderace::load {

std::string json_text(std::string_view value);  // in quotes

// What both are made of: text after text, with commas.
class JsonItems {
  public:
    void add(std::string_view json);
    std::string between(char first, char last) const { return first + items_ + last; }

  private:
    std::string items_;
};

// Member by member, in the order of the calls.
class JsonObject {
  public:
    JsonObject& add(std::string_view name, std::uint64_t value);
    JsonObject& add(std::string_view name, Duration nanoseconds);
    JsonObject& add(std::string_view name, double value, int digits);
    JsonObject& add(std::string_view name, std::string_view text);
    JsonObject& add_flag(std::string_view name, bool value);
    // An object, a list, null: JSON text, added unchanged.
    JsonObject& add_json(std::string_view name, std::string_view json);
    std::string text() const { return members_.between('{', '}'); }

  private:
    JsonItems members_;
};

class JsonList {
  public:
    JsonList& add(std::uint64_t value) { return add_json(std::to_string(value)); }
    JsonList& add(std::string_view text) { return add_json(json_text(text)); }
    JsonList& add_json(std::string_view json) {
        elements_.add(json);
        return *this;
    }
    std::string text() const { return elements_.between('[', ']'); }

  private:
    JsonItems elements_;
};

}  // namespace tiderace::load
