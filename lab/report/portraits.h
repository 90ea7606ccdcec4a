// Portraits: how a request flows through each engine and each opponent, as a small drawing, and
// which of them share a picture. The results describe them in words.
//
// Thread   Any: constants.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tiderace::lab::report {

// One picture each.
enum class Family : std::uint8_t { kernel, epolls, threads, foreign, servers, other };
std::string_view title_of(Family family);
inline constexpr std::size_t families = 6;

struct Portrait {
    std::string_view name;
    Family family;
    std::string_view flow;  // lines of at most 50 letters
};

std::span<const Portrait> portraits();
// nullptr: there is no portrait of this name.
const Portrait* portrait_of(std::string_view name);
Family family_of(std::string_view name);

}  // namespace tiderace::lab::report
