#include "tiderace/core/send_relief.h"

#include <algorithm>

namespace tiderace::core {
namespace {

using Holding = SendHolder::Holding;

// One large answer may be larger than the limit, so only a part of shared bytes counts.
std::uint64_t counted_bytes(const Holding& holding, const BlockPool& pool) {
    return holding.held.copied + std::min<std::uint64_t>(holding.held.shared, pool.bytes_max() / 4);
}

// Bytes times waiting time: a fresh answer is not taken for a peer that does not read.
double cost_of(const Holding& holding) {
    return static_cast<double>(holding.held.all()) *
           (1 + static_cast<double>(holding.held.waits / 1ms));
}

}  // namespace

std::size_t SendRelief::relieve(const BlockPool& pool) {
    std::vector<Holding> all;
    holders_.for_each([&](SendHolder& holder) TR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
        for (Holding each : holder.holdings()) {
            each.holder = &holder;
            all.push_back(each);
        }
    });
    std::uint64_t used = pool.taken_bytes();
    for (const Holding& each : all) used += counted_bytes(each, pool) - each.held.copied;
    if (used <= pool.bytes_max()) return 0;
    std::ranges::sort(all, std::ranges::greater(), cost_of);
    // An eighth more than needed, so that the next turns do not come here again.
    std::uint64_t wanted = used - pool.bytes_max() * 7 / 8;
    std::size_t given_up = 0;
    for (const Holding& each : all) {
        const std::uint64_t bytes = counted_bytes(each, pool);
        // The rest holds nothing, or enough is freed.
        if (bytes == 0 || wanted == 0) break;
        each.holder->give_up(each.id);
        ++given_up;
        // A block is freed whole, however few bytes it holds.
        wanted -= std::min(wanted, std::max<std::uint64_t>(bytes, BlockPool::block_bytes));
    }
    return given_up;
}

}  // namespace tiderace::core
