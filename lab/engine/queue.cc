#include "lab/engine/queue.h"

namespace tiderace::lab::engine {
namespace {

class Queue final : public net::ThreadingModel {
  public:
    bool listens_apart() const override { return true; }
    std::string_view core_engine(std::string_view) const override { return "auto"; }
};

}  // namespace

std::unique_ptr<net::ThreadingModel> arrange_queue() {
    return std::make_unique<Queue>();
}

}  // namespace tiderace::lab::engine
