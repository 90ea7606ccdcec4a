#include "load/lookup.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include "load/run.h"
#include "tiderace/base/thread_refusal.h"
#include "tiderace/core/child_process.h"

namespace tiderace::load {
namespace {

constexpr int look_interval_ms = 250;

// The thread's and the waiter's together, because either may leave first.
struct Waited {
    Result<std::vector<core::Address>> found = fail(Error(ECANCELED, "look up", ""));
    core::Pipe pipe;  // whose writing end the thread closes once it has found
};

}  // namespace

Result<std::vector<core::Address>> look_up_for(LoadAudience* audience, const std::string& host,
                                               const Lookup& look_up) {
    if (audience == nullptr) return look_up(host);
    auto pipe = core::Pipe::open();
    if (!pipe) return fail(pipe.error());
    auto waited = std::make_shared<Waited>();
    waited->pipe = std::move(*pipe);
    std::thread thread;
    const int code = thread_refusal([&] {
        thread = std::thread([waited, host, look_up] {
            waited->found = look_up(host);
            waited->pipe.writing.reset();
        });
    });
    if (code != 0) return fail(Error(code, "look up", host, "no further thread is allowed"));
    while (true) {
        std::array<pollfd, 2> ready{pollfd{waited->pipe.reading.get(), 0, 0},
                                    pollfd{audience->descriptor(), POLLIN, 0}};
        ::poll(ready.data(), ready.size(), look_interval_ms);
        if (ready[0].revents != 0) break;
        if (!audience->wants_end()) continue;
        thread.detach();
        return fail(Error(ECANCELED, "look up", host, "ended before an address was found"));
    }
    thread.join();
    return std::move(waited->found);
}

}  // namespace tiderace::load
