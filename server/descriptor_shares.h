// How the descriptors that this process may open are shared out: a part for each loop's own needs,
// the rest for connections and files.
//
//   limit = least + loops * (least_per_loop + passing_per_loop)
//         + connections + connections of the redirect port + files
//
// Connections come first, but an eighth of all descriptors stays for files: a server whose
// connections hold them all could accept clients and then answer each with 503.
//
// Thread   Any: pure functions.
// Keywords: RLIMIT_NOFILE, file descriptors, maximum connections
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tiderace::server {

struct DescriptorNeeds {
    std::size_t loops = 1;
    std::size_t folders = 1;       // that are served, each by every loop
    bool small_loops = false;      // one connection each
    std::size_t path_logs = 0;     // each has a descriptor, besides the site's access log
    std::size_t side_servers = 0;  // each with its connections
    bool redirects = false;        // there is a redirect port
    std::optional<std::uint64_t> connections_max;  // requested; unset: as many as there is room for
};

struct DescriptorShares {
    std::size_t connections_max_of_all = 1;
    std::size_t connections_max = 1;    // of one loop
    std::size_t redirects_max = 1;      // of one loop's redirect port
    std::size_t files_open_max = 1024;  // of one loop
};

// With fewer it cannot start: a loop that lacks a descriptor would end the process.
std::size_t descriptors_needed(const DescriptorNeeds& needs);
DescriptorShares share_descriptors(std::uint64_t limit, const DescriptorNeeds& needs);

}  // namespace tiderace::server
