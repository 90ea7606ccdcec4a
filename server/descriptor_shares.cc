#include "server/descriptor_shares.h"

#include <algorithm>

#include "server/live/side_server.h"
#include "server/worker.h"
#include "tiderace/core/process_limits.h"

namespace tiderace::server {
namespace {

// Reserved by a loop that holds a single connection.
constexpr std::size_t kept_per_small_loop = Worker::small_descriptors + 8;
// The log, the signals and one connection.
constexpr std::size_t least = 12;
// A loop's queue, waker, listening socket, spare descriptor and root.
constexpr std::size_t least_per_loop = 9;
// The descriptors that a loop opens for a moment only, and the least for its files.
constexpr std::size_t passing_per_loop = 4;
constexpr std::size_t files_open_least = 2;
// Each loop needs this for each folder but the first: the root, the notices of changes, and files.
constexpr std::size_t least_per_folder = 2 + files_open_least;
constexpr std::size_t files_share = 8;  // an eighth of all descriptors
// Extra connections for the redirect port, whose clients send one request and leave.
constexpr std::size_t redirects_share = 16;

}  // namespace

std::size_t descriptors_needed(const DescriptorNeeds& needs) {
    const std::size_t folders = std::max<std::size_t>(needs.folders, 1) - 1;
    return least + needs.path_logs + needs.side_servers * (1 + SideServer::connections_max) +
           (least_per_loop + least_per_folder * folders) * needs.loops;
}

DescriptorShares share_descriptors(std::uint64_t limit, const DescriptorNeeds& needs) {
    const std::size_t loops = needs.loops;
    const auto all = static_cast<std::size_t>(limit);
    std::size_t room = core::room_for_connections(
        limit, loops, needs.small_loops ? kept_per_small_loop : core::descriptors_kept_per_loop);
    // With few descriptors, files and descriptors in passing are served first.
    const std::size_t fixed = descriptors_needed(needs) + passing_per_loop * loops;
    const std::size_t kept = fixed + std::max(files_open_least * loops, all / files_share);
    if (!needs.small_loops) room = std::min(room, all > kept ? all - kept : 1);
    DescriptorShares shares;
    shares.connections_max_of_all =
        std::min(static_cast<std::size_t>(needs.connections_max.value_or(room)), room);
    const std::size_t one_share = (shares.connections_max_of_all + loops - 1) / loops;
    // The kernel deals connections out unevenly, so that one loop may have them all; they are
    // counted together (net::ConnectionRoom).
    shares.connections_max = needs.small_loops ? one_share : shares.connections_max_of_all;
    if (needs.redirects) {
        shares.redirects_max = std::max<std::size_t>(1, one_share / redirects_share);
    }
    // Files may hold all that connections cannot.
    const std::size_t taken = fixed + shares.connections_max_of_all + shares.redirects_max * loops;
    shares.files_open_max = std::max(files_open_least, all > taken ? (all - taken) / loops : 0);
    return shares;
}

}  // namespace tiderace::server
