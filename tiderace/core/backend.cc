#include "tiderace/core/backend.h"

#include <cerrno>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/epoll.h"
#include "tiderace/core/backend/epoll_edge.h"
#include "tiderace/core/backend/io_uring.h"
#include "tiderace/core/backend/kqueue.h"
#include "tiderace/core/backend/poll.h"
#include "tiderace/core/backend/readiness.h"
#include "tiderace/core/backend/select.h"

namespace tiderace::core {

void IoObserver::on_accepted(int, const Address&) {
    TR_CHECK(false, "not a listener");
}
void IoObserver::on_accept_failed(int) {
    TR_CHECK(false, "not a listener");
}
void IoObserver::on_connected(int) {
    TR_CHECK(false, "never connected");
}
void IoObserver::on_received(ByteView) {
    TR_CHECK(false, "never received");
}
void IoObserver::on_receive_failed(int) {
    TR_CHECK(false, "never received");
}
void IoObserver::on_sent(std::int64_t) {
    TR_CHECK(false, "never sent");
}
void IoObserver::on_ready(bool, bool) {
    TR_CHECK(false, "not watched");
}

std::string_view engine_names() {
#if defined(__linux__)
    return has_io_uring() ? "epoll io_uring epoll-lt epoll-et epoll-oneshot poll select"
                          : "epoll epoll-lt epoll-et epoll-oneshot poll select";
#else
    return has_kqueue() ? "kqueue poll select" : "poll select";
#endif
}

namespace {

std::unique_ptr<Poller> make_poller(std::string_view engine) {
    if (engine == "epoll") return make_epoll_poller("epoll", EpollMode::level);
    if (engine == "epoll-lt") return make_epoll_poller("epoll-lt", EpollMode::level);
    if (engine == "epoll-et") return make_edge_poller();
    if (engine == "epoll-oneshot") return make_epoll_poller("epoll-oneshot", EpollMode::oneshot);
    if (engine == "kqueue") return make_kqueue_poller();
    if (engine == "poll") return make_poll_poller();
    if (engine == "select") return make_select_poller();
    return nullptr;
}

std::unique_ptr<Poller> make_best_poller() {
    for (const std::string_view engine : {"epoll", "kqueue"}) {
        if (auto poller = make_poller(engine)) return poller;
    }
    return make_poll_poller();
}

Error not_here(std::string_view engine) {
    const std::string here(engine_names());
    if (engine == "kqueue") {
        return Error(0, "choose the engine", engine,
                     "it is of BSD and macOS; this machine has: auto " + here);
    }
    if (engine.starts_with("epoll")) {
        return Error(0, "choose the engine", engine,
                     "it is of Linux; this machine has: auto " + here);
    }
    return Error(0, "choose the engine", engine, "not known here; one of: auto " + here);
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(std::string_view engine,
                                              const BackendOptions& options) {
    if (engine == "io_uring") return make_io_uring_backend(options);
    std::unique_ptr<Poller> poller = engine == "auto" ? make_best_poller() : make_poller(engine);
    if (poller == nullptr) return fail(not_here(engine));
    return std::make_unique<ReadinessBackend>(std::move(poller), options);
}

}  // namespace tiderace::core
