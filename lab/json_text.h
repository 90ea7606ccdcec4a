// JSON text: what the lab writes for programs (RFC 8259).
//
// Thread   Any: pure functions; a JsonObject belongs to one thread.
// Errors   None: what is not text of UTF-8 is escaped as http/wire has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/units.h"

namespace tiderace::lab {

// One object, member by member, in the order of the calls.
class JsonObject {
  public:
    JsonObject& add(std::string_view name, std::uint64_t value);
    JsonObject& add(std::string_view name, Duration nanoseconds);
    JsonObject& add(std::string_view name, double value, int digits);
    JsonObject& add(std::string_view name, std::string_view text);
    JsonObject& add_flag(std::string_view name, bool value);
    // An object, an array, null: JSON as it stands.
    JsonObject& add_json(std::string_view name, std::string_view json);
    std::string text() const { return "{" + members_ + "}"; }

  private:
    std::string members_;
};

std::string json_text(std::string_view value);  // in quotes

}  // namespace tiderace::lab
