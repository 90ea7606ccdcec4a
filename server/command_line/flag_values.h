// How the text of a flag's value becomes a value: times, sizes, counts, choices.
//
// Thread   Any: pure functions.
// Errors   A sentence that names the expected form, without the flag's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tiderace/base/units.h"

namespace tiderace::server {

using Applied = std::expected<void, std::string>;

// Which systems have a choice of this name that this one lacks; "" for none.
using SystemsOf = std::string_view (*)(std::string_view name);

std::expected<Duration, std::string> duration_value(std::string_view value);
// `has_off`: the word "off" is 0.
std::expected<std::uint64_t, std::string> bytes_value(std::string_view value,
                                                      std::uint64_t smallest, std::uint64_t largest,
                                                      bool has_off = true);
std::expected<std::uint64_t, std::string> count_value(std::string_view value,
                                                      std::uint64_t smallest,
                                                      std::uint64_t largest);
// The index of the name.
std::expected<std::size_t, std::string> choice_value(std::string_view value,
                                                     std::span<const std::string_view> names,
                                                     SystemsOf systems_of = nullptr);

// "a, b or c"
std::string join_choices(std::span<const std::string_view> words);

}  // namespace tiderace::server
