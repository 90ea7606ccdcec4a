// Workloads: the requests that every server gets, as a table. docs/lab/measuring.md explains the
// choice.
//
// Thread   Any: constants.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "load/options.h"

namespace tiderace::lab::run {

// The files that are served, of exact sizes.
enum class SiteFile : std::uint8_t { tiny, index, middle, large };
struct SiteFileFacts {
    std::string_view path;  // in the request
    std::string_view name;
    std::uint64_t bytes;
};
inline constexpr std::array<SiteFileFacts, 4> site_files{
    {{"/tiny.txt", "tiny.txt", 40},
     {"/", "index.html", 3'658},
     {"/middle.html", "middle.html", 57'244},
     {"/large.html", "large.html", 2'496'629}}};
constexpr const SiteFileFacts& facts_of(SiteFile file) {
    return site_files[static_cast<std::size_t>(file)];
}

// One kind of client. Most workloads have one.
struct LoadPart {
    SiteFile file = SiteFile::tiny;
    std::uint64_t connections = 0;  // 0: as many as the cell has
    bool close = false;
    std::uint64_t pipeline = 1;
    std::uint64_t rate = 0;  // 0: closed loop
    std::uint64_t slow_readers = 0;
    bool only_once = false;  // each connection sends one request, and then is idle
    bool echoes = false;     // no HTTP: as many bytes as the file has go, and come back
};

struct Workload {
    std::string_view name;
    std::string_view about;
    std::vector<LoadPart> parts;
    std::vector<std::uint64_t> connections;
    std::vector<std::uint64_t> quick_connections;  // empty: not in a quick run
    std::string_view measure = "cpu_us";           // or "connection_bytes"
    std::string_view absent = {};                  // why no server can run it here
};

std::span<const Workload> workloads();
// nullptr: there is none of this name.
const Workload* find_workload(std::string_view name);

// The load generator's options for one part of a cell, without address and time.
load::LoadOptions load_of(const Workload& workload, const LoadPart& part,
                          std::uint64_t connections);
std::string url_of(const LoadPart& part, const std::string& address);
// The same for a shell: "tiderace load http://ADDRESS/tiny.txt --connections 100".
std::string load_command(const Workload& workload);

}  // namespace tiderace::lab::run
