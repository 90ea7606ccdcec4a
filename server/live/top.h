// `tiderace top`: what a server does now, each second: what `tiderace status` prints, and how many
// requests each site answers in a second.
//
//   ask "/top" -> TopSample --the one before--> top_text() -> the terminal, until q or ^C
//
// Where it does not write to a terminal it prints one and ends.
//
// Thread   Main; blocks.
// Errors   Of admin_client.h.
// Keywords: live view, dashboard, requests per second
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/command_line/command_words.h"
#include "tiderace/base/units.h"

namespace tiderace::server {

struct TopSample {
    Duration uptime{};
    std::optional<std::uint64_t> in_flight = {};  // nullopt: requests are not counted
    std::map<std::string, std::uint64_t> answered = {};
    std::string status = {};  // lines for people
};

// What the admin socket answers; nullopt: it is something else.
std::optional<TopSample> read_sample(std::string_view text);
// At most so many lines; a site more is worth less than one that answers more.
std::string top_text(const TopSample& before, const TopSample& now, std::size_t lines_max);

// The exit status: 0, or 2 where no server answers.
int show_top(const CommandWords& words);

}  // namespace tiderace::server
