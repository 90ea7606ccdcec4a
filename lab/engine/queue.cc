#include "lab/engine/queue.h"

namespace tiderace::lab::engine {
namespace {

class Queue final : public net::Arrangement {
  public:
    Result<std::unique_ptr<net::LoopGroup>> make_loops(std::size_t count,
                                                       const core::LoopOptions& options) override {
        core::LoopOptions loops = options;
        loops.engine = "auto";
        return net::LoopGroup::create(count, loops);
    }
    bool listens_apart() const override { return true; }
    std::string_view listening_engine(std::string_view) const override { return "auto"; }
};

}  // namespace

std::unique_ptr<net::Arrangement> arrange_queue() {
    return std::make_unique<Queue>();
}

}  // namespace tiderace::lab::engine
