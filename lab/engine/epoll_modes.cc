// Three engines that differ in one flag of epoll_ctl: how often readiness is reported.
//
//                   reported                a request on a kept connection costs, beside the wait
//   epoll-lt        while it is ready       recv, send
//   epoll-et        when it becomes ready   recv, send
//   epoll-oneshot   once, until re-armed    recv, send, epoll_ctl
//
// In all of them each loop has an epoll and listeners of its own, and a connection stays with the
// loop that accepted it. Above them is core's readiness backend, which makes the calls: a Poller
// only reports readiness, so that the whole difference is in the two files of the pollers.
#include "lab/engine/epoll_modes.h"

#include <utility>

#include "lab/engine/edge_poller.h"
#include "lab/engine/oneshot_poller.h"
#include "tiderace/core/backend/epoll.h"
#include "tiderace/core/backend/readiness.h"

namespace tiderace::lab::engine {
namespace {

class EpollModel final : public ThreadingModel {
  public:
    explicit EpollModel(core::BackendFactory make) : make_(make) {}

    Result<std::unique_ptr<net::LoopGroup>> make_loops(std::size_t count,
                                                       const core::LoopOptions& options) override {
        core::LoopOptions ours = options;
        ours.make_backend = make_;
        return net::LoopGroup::create(count, ours);
    }
    std::string_view core_engine(std::string_view) const override { return "auto"; }

  private:
    core::BackendFactory make_;
};

}  // namespace

std::string_view epoll_modes_absent() {
    return "";
}

Result<std::unique_ptr<core::Backend>> make_level_backend(const core::BackendOptions& options) {
    return std::make_unique<core::ReadinessBackend>("epoll-lt", core::make_epoll_poller(), options);
}

Result<std::unique_ptr<core::Backend>> make_edge_backend(const core::BackendOptions& options) {
    auto poller = std::make_unique<EdgePoller>(*options.kernel);
    core::BackendOptions noted = options;
    noted.kernel = &poller->kernel();
    return std::make_unique<core::ReadinessBackend>("epoll-et", std::move(poller), noted);
}

Result<std::unique_ptr<core::Backend>> make_oneshot_backend(const core::BackendOptions& options) {
    return std::make_unique<core::ReadinessBackend>("epoll-oneshot",
                                                    std::make_unique<OneshotPoller>(), options);
}

std::unique_ptr<ThreadingModel> arrange_level() {
    return std::make_unique<EpollModel>(make_level_backend);
}

std::unique_ptr<ThreadingModel> arrange_edge() {
    return std::make_unique<EpollModel>(make_edge_backend);
}

std::unique_ptr<ThreadingModel> arrange_oneshot() {
    return std::make_unique<EpollModel>(make_oneshot_backend);
}

}  // namespace tiderace::lab::engine
