#include "tiderace/core/backend.h"

#include <cerrno>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/epoll.h"
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
    return has_io_uring() ? "epoll io_uring poll select" : "epoll poll select";
#else
    return has_kqueue() ? "kqueue poll select" : "poll select";
#endif
}

namespace {

struct Known {
    std::string_view name;
    std::unique_ptr<Poller> (*make)();  // nullptr where this system has none
};

// The engines made of readiness, the best first: "auto" is the first that is here.
constexpr Known pollers[] = {{"epoll", make_epoll_poller},
                             {"kqueue", make_kqueue_poller},
                             {"poll", make_poll_poller},
                             {"select", make_select_poller}};

Error not_here(std::string_view engine) {
    const std::string here(engine_names());
    if (engine == "kqueue") {
        return Error(0, "choose the engine", engine,
                     "BSD and macOS only; this machine has: auto " + here);
    }
    if (engine == "epoll") {
        return Error(0, "choose the engine", engine, "Linux only; this machine has: auto " + here);
    }
    if (engine == "select") {
        return Error(EMFILE, "choose the engine", engine,
                     "it holds descriptors below 1,024, and none of them is free for its own; "
                     "choose another engine");
    }
    return Error(0, "choose the engine", engine, "not known here; one of: auto " + here);
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(std::string_view engine,
                                              const BackendOptions& options) {
    if (engine == "io_uring") return make_io_uring_backend(options);
    for (const auto& [name, make] : pollers) {
        if (engine != "auto" && engine != name) continue;
        if (auto poller = make()) {
            return std::make_unique<ReadinessBackend>(name, std::move(poller), options);
        }
    }
    return fail(not_here(engine));
}

}  // namespace tiderace::core
