#include "tiderace/net/arrangement.h"

namespace tiderace::net {

std::optional<int> Arrangement::split(std::size_t, core::Signals&, Watching) {
    return std::nullopt;
}

std::size_t Arrangement::count_loops(std::size_t asked, std::size_t cpus) const {
    if (asked > 0) return asked;
    return cpus > 0 ? cpus : 1;
}

Result<std::unique_ptr<LoopGroup>> Arrangement::make_loops(std::size_t count,
                                                           const core::LoopOptions& options) {
    core::LoopOptions plain = options;
    plain.engine = core_engine(options.engine);
    return LoopGroup::create(count, plain);
}

}  // namespace tiderace::net
