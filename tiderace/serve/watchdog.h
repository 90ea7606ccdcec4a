// Watchdog: finds loops that a handler blocks, and logs the place: the route, unless the
// handler has waited before, and the stack of the loop's thread.
//
//   its thread, twice in each limit:  post an errand to each loop --answered--> fine
//                                       \-> unanswered for the limit: SIGURG to the loop's thread
//                                             -> backtrace -> a line of the log for each frame
//
// A request costs nothing; an idle loop is woken twice in each limit. Names in the stack need the
// program linked with -rdynamic; otherwise `addr2line -e program` takes the offsets.
//
// Owner    App::serve. A Post is one loop's, and ends before its loop.
// Thread   Its own; watch() and the end of a Post: the one that makes the loops.
// Errors   start() fails where the machine allows no further thread. The line has no stack where
//          there is no backtrace() (musl), no tgkill() (BSD, macOS) or no memory for it. An
//          exception on its thread ends that look at a loop.
// Limits   One in a process: a signal handler reaches only what is static, which two would share.
//          frames_max of a stack. SIGURG is taken from the program, which ignores it by default.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/event_loop.h"

namespace tiderace::http {
struct Matched;
}

namespace tiderace::serve {

class Watchdog final {
  public:
    static constexpr int frames_max = 24;

    // One loop that is watched.
    class Post final {
      public:
        // `running` names the route that the loop is in; it outlives this, as the routes do.
        Post(Watchdog& watchdog, core::EventLoop& loop,
             const std::atomic<const http::Matched*>* running = nullptr);
        ~Post();
        Post(const Post&) = delete;
        Post& operator=(const Post&) = delete;

      private:
        friend class Watchdog;

        // What its errands share with it.
        struct Answers {
            std::atomic<std::uint64_t> last = 0;
            std::atomic<int> thread = 0;  // the kernel's number
            std::atomic<bool> turned = false;
        };

        void ask();

        Watchdog* watchdog_;
        core::EventLoop* loop_;
        const std::atomic<const http::Matched*>* running_;
        std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
        std::uint64_t asked_ = 0;
        std::chrono::steady_clock::time_point asked_at_{};
        bool reported_ = false;
    };

    // Logs to `logger`, which is its thread's from now on.
    static Result<std::unique_ptr<Watchdog>> start(Duration limit,
                                                   std::unique_ptr<log::Logger> logger);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    Watchdog(Duration limit, std::unique_ptr<log::Logger> logger)
        : limit_(limit), logger_(std::move(logger)) {}

    void run();
    void look(Post& post);
    void tell(const Post& post, std::int64_t milliseconds);

    const Duration limit_;
    const std::unique_ptr<log::Logger> logger_;
    std::mutex lock_;  // guards what follows, and the posts
    std::condition_variable wake_;
    std::vector<Post*> posts_;
    bool ends_ = false;
    std::thread thread_;  // last: it uses the others
};

}  // namespace tiderace::serve
