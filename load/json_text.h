// JSON text: what the lab writes for programs (RFC 8259).
//
// text() renders an object or a list, and nested ones are added as rendered text. With an indent,
// each member is on a line of its own, that many spaces from the left: 2 for the outermost object,
// 4 within it.
//
// Thread   Any: pure functions; a JsonObject or a JsonList belongs to one thread.
// Errors   None: bytes that are not UTF-8 are escaped as in http/wire; a number that JSON cannot
//          express is null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/units.h"

namespace tiderace::load {

std::string json_text(std::string_view value);  // in quotes
std::string json_number(double value);          // as few digits as read back the same

// What both are made of: text after text, with commas.
class JsonItems {
  public:
    explicit JsonItems(unsigned indent) : indent_(indent) {}
    void add(std::string_view json);
    std::string between(char first, char last) const;

  private:
    std::string items_;
    unsigned indent_;
};

// Member by member, in the order of the calls.
class JsonObject {
  public:
    explicit JsonObject(unsigned indent = 0) : members_(indent) {}

    JsonObject& add(std::string_view name, std::uint64_t value);
    JsonObject& add(std::string_view name, Duration nanoseconds);
    JsonObject& add(std::string_view name, double value, int digits);
    JsonObject& add(std::string_view name, std::string_view text);
    JsonObject& add_number(std::string_view name, double value);
    JsonObject& add_flag(std::string_view name, bool value);
    // An object, a list, null: JSON text, added unchanged.
    JsonObject& add_json(std::string_view name, std::string_view json);
    std::string text() const { return members_.between('{', '}'); }

  private:
    JsonItems members_;
};

class JsonList {
  public:
    explicit JsonList(unsigned indent = 0) : elements_(indent) {}

    JsonList& add(std::uint64_t value) { return add_json(std::to_string(value)); }
    JsonList& add(std::string_view text) { return add_json(json_text(text)); }
    JsonList& add_number(double value) { return add_json(json_number(value)); }
    JsonList& add_json(std::string_view json) {
        elements_.add(json);
        return *this;
    }
    std::string text() const { return elements_.between('[', ']'); }

  private:
    JsonItems elements_;
};

}  // namespace tiderace::load
