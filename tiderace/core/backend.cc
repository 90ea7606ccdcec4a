#include "tiderace/core/backend.h"

#include <cerrno>
#include <string>

#include "tiderace/core/backend/epoll.h"
#include "tiderace/core/backend/io_uring.h"
#include "tiderace/core/backend/poll.h"
#include "tiderace/core/backend/readiness.h"
#include "tiderace/core/backend/select.h"

namespace tiderace::core {

std::string_view engine_names() {
#if defined(__linux__)
    return has_io_uring() ? "epoll io_uring poll select" : "epoll poll select";
#else
    return "poll select";
#endif
}

Result<std::unique_ptr<Backend>> make_backend(std::string_view engine,
                                              const BackendOptions& options) {
    if (engine == "io_uring") return make_io_uring_backend(options);
    std::unique_ptr<Poller> poller;
    if (engine == "auto" || engine == "epoll") poller = make_epoll_poller();
    if (engine == "poll" || (engine == "auto" && poller == nullptr)) poller = make_poll_poller();
    if (engine == "select") poller = make_select_poller();
    if (poller == nullptr) {
        return fail(Error(0, "choose the engine", engine,
                          "not known here; one of: auto " + std::string(engine_names())));
    }
    return std::make_unique<ReadinessBackend>(std::move(poller), options);
}

}  // namespace tiderace::core
