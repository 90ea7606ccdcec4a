// Fault: one thing that is wrong with a JSON text; Error: why a text was not read.
//
// Thread   Any; values.
// Limits   faults_max faults in one Error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/language.h"

namespace tiderace::json {

inline constexpr std::size_t faults_max = 16;

struct Fault {
    std::string path = {};     // "items[3].price"; "" is the whole value
    std::string problem = {};  // "expected an integer from 1 to 100", "is required", a sentence
    std::string found = {};    // "a string", "300"; "" where there is nothing to name
    std::size_t offset = 0;    // bytes before it in the text that was read

    // "items[3].price: expected a number, found a string (byte 17)"
    std::string message() const;

    friend bool operator==(const Fault&, const Fault&) = default;
};

using Faults = std::vector<Fault>;

class Error {
  public:
    enum class Kind {
        syntax,     // not JSON: one fault, whose offset is the first byte that is wrong (HTTP: 400)
        too_large,  // more bytes than Options::size_bytes_max (413)
        too_deep,   // more levels than Options::depth_max (400)
        content,    // JSON, but of another shape: all its faults, up to faults_max (422)
    };

    Error(Kind kind, Faults faults) : kind_(kind), faults_(std::move(faults)) {}

    Kind kind() const { return kind_; }
    // Never empty.
    const Faults& faults() const { return faults_; }
    // The messages of all faults, "; " between them.
    std::string message() const;

  private:
    Kind kind_;
    Faults faults_;
};

std::string_view to_string(Error::Kind kind);

}  // namespace tiderace::json
