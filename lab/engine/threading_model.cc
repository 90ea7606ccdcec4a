#include "lab/engine/threading_model.h"

namespace tiderace::lab::engine {

std::optional<int> ThreadingModel::split(std::size_t, core::Signals&, Watching) {
    return std::nullopt;
}

std::size_t ThreadingModel::count_loops(std::size_t asked, std::size_t cpus) const {
    if (asked > 0) return asked;
    return cpus > 0 ? cpus : 1;
}

Result<std::unique_ptr<net::LoopGroup>> ThreadingModel::make_loops(
    std::size_t count, const core::LoopOptions& options) {
    // The model's engine names its own threading; the loops below get the backend that belongs to
    // it.
    core::LoopOptions plain = options;
    plain.engine = core_engine(options.engine);
    return net::LoopGroup::create(count, plain);
}

}  // namespace tiderace::lab::engine
