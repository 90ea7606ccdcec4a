#include "tiderace/core/backend.h"

#include <cerrno>
#include <string>

#include "tiderace/core/backend/epoll.h"
#include "tiderace/core/backend/epoll_edge.h"
#include "tiderace/core/backend/io_uring.h"
#include "tiderace/core/backend/poll.h"
#include "tiderace/core/backend/readiness.h"
#include "tiderace/core/backend/select.h"

namespace tiderace::core {

std::string_view engine_names() {
#if defined(__linux__)
    return has_io_uring() ? "epoll io_uring epoll-lt epoll-et epoll-oneshot poll select"
                          : "epoll epoll-lt epoll-et epoll-oneshot poll select";
#else
    return "poll select";
#endif
}

namespace {

std::unique_ptr<Poller> make_poller(std::string_view engine) {
    if (engine == "epoll") return make_epoll_poller("epoll", EpollMode::level);
    if (engine == "epoll-lt") return make_epoll_poller("epoll-lt", EpollMode::level);
    if (engine == "epoll-et") return make_edge_poller();
    if (engine == "epoll-oneshot") return make_epoll_poller("epoll-oneshot", EpollMode::oneshot);
    if (engine == "poll") return make_poll_poller();
    if (engine == "select") return make_select_poller();
    return nullptr;
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(std::string_view engine,
                                              const BackendOptions& options) {
    if (engine == "io_uring") return make_io_uring_backend(options);
    std::unique_ptr<Poller> poller = make_poller(engine == "auto" ? "epoll" : engine);
    if (poller == nullptr && engine == "auto") poller = make_poll_poller();
    if (poller == nullptr) {
        return fail(Error(0, "choose the engine", engine,
                          "not known here; one of: auto " + std::string(engine_names())));
    }
    return std::make_unique<ReadinessBackend>(std::move(poller), options);
}

}  // namespace tiderace::core
