// PathTable: one value for each path that was given one. It holds for all below the path, too; of
// several that hold, the longest counts.
//
//   {"/api": a, "/api/deep": b}    /api -> a    /api/x -> a    /api/deep/x -> b    /apis: none
//
// Paths are compared as the canonical path of the request has it (http/wire/canonical_path.h):
// decoded, without "." and "..". They name what a client requests, not files: a link beneath
// another path leads around them.
//
// Owner    Whatever holds it.
// Thread   find() is const: any, once all is added.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tiderace::server {

// `prefix` is without a '/' at its end; "" is above all paths, and above what has none ("*").
inline bool is_below(std::string_view path, std::string_view prefix) {
    return prefix.empty() || (path.starts_with(prefix) &&
                              (path.size() == prefix.size() || path[prefix.size()] == '/'));
}

template <typename T>
class PathTable {
  public:
    // A later value of the same prefix replaces the earlier one.
    void set(std::string_view prefix, T value) {
        const auto same = std::ranges::find(places_, prefix, &Place::prefix);
        if (same != places_.end()) {
            same->value = std::move(value);
            return;
        }
        const auto shorter = std::ranges::find_if(
            places_, [&](const Place& place) { return place.prefix.size() < prefix.size(); });
        places_.insert(shorter, {std::string(prefix), std::move(value)});
    }

    // Valid until the next set(). nullptr: nothing holds for this path.
    const T* find(std::string_view path) const {
        const auto found = std::ranges::find_if(
            places_, [&](const Place& place) { return is_below(path, place.prefix); });
        return found != places_.end() ? &found->value : nullptr;
    }

  private:
    struct Place {
        std::string prefix;
        T value;
    };
    std::vector<Place> places_;  // the longest first
};

}  // namespace tiderace::server
