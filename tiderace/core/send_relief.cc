#include "tiderace/core/send_relief.h"

#include <algorithm>

namespace tiderace::core {

std::size_t SendRelief::relieve(const BlockPool& pool) {
    std::vector<SendHolder::Holding> all;
    holders_.for_each([&](SendHolder& holder) TR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
        for (SendHolder::Holding each : holder.holdings()) {
            each.holder = &holder;
            all.push_back(each);
        }
    });
    std::ranges::sort(all, std::ranges::greater(), &SendHolder::Holding::bytes);
    std::uint64_t wanted = pool.taken_bytes() - pool.bytes_max() * 7 / 8;
    std::size_t given_up = 0;
    for (const SendHolder::Holding& each : all) {
        if (each.bytes == 0 || wanted == 0) break;
        each.holder->give_up(each.id);
        ++given_up;
        // A block is held whole, however little is in it.
        wanted -= std::min(wanted, std::max<std::uint64_t>(each.bytes, BlockPool::block_bytes));
    }
    return given_up;
}

}  // namespace tiderace::core
