#include "tiderace/serve/watchdog.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "tiderace/base/thread_refusal.h"
#include "tiderace/core/contain.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/log/type_name.h"

namespace tiderace::serve {
namespace {

using Clock = std::chrono::steady_clock;

struct Free {
    void operator()(char** block) const { std::free(block); }
};

// The innermost first; no frame is copied. Empty: the thread does not answer.
struct Stack {
    std::unique_ptr<char*[], Free> frames;
    int first = 0;
    int end = 0;
};

#if defined(SYS_tgkill) && __has_include(<execinfo.h>)

// One stack at a time; a signal handler reaches only what is static.
//
//   idle --the watchdog asks--> asked --the handler begins--> writing --> done --read--> idle
//    ^                            |
//    +--no handler ran in time----+   (one that runs later finds no question, and leaves)
enum class Step : int { idle, asked, writing, done };
std::atomic<Step> step = Step::idle;
std::array<void*, Watchdog::frames_max> frames;
int frame_count = 0;

void take_stack(int) {
    Step asked = Step::asked;
    if (!step.compare_exchange_strong(asked, Step::writing)) return;
    frame_count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    step = Step::done;
}

void prepare_stacks() {
    // The first call loads a library, which no signal handler may do.
    ::backtrace(frames.data(), 1);
    struct sigaction action{};
    action.sa_handler = take_stack;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGURG, &action, nullptr);
}

int this_thread_number() {
    return static_cast<int>(::syscall(SYS_gettid));
}

// nullopt: the thread has ended, as loops do before their posts.
std::optional<Stack> stack_of(int thread) {
    step = Step::asked;
    if (::syscall(SYS_tgkill, ::getpid(), thread, SIGURG) != 0) return std::nullopt;
    // Bounded: a thread in an uninterruptible sleep, as over a hung disk, runs no handler.
    const auto until = Clock::now() + std::chrono::milliseconds(100);
    while (step != Step::done && Clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    Step asked = Step::asked;
    if (step.compare_exchange_strong(asked, Step::idle)) return Stack();
    // The handler is writing by now: do not read its frames or set the step back before it
    // ends.
    while (step != Step::done) std::this_thread::yield();
    constexpr int handler_frames = 2;  // take_stack, and what the kernel calls it through
    Stack stack;
    // Here and not in the handler: it allocates, and the thread may hold malloc()'s lock.
    stack.frames.reset(::backtrace_symbols(frames.data(), frame_count));
    if (stack.frames != nullptr) {
        stack.first = handler_frames;
        stack.end = frame_count;
    }
    step = Step::idle;
    return stack;
}

#else

void prepare_stacks() {}
int this_thread_number() {
    return 0;
}
std::optional<Stack> stack_of(int) {
    return Stack();
}

#endif

// "program(_ZN4shop4sellEv+0x1f) [0x5571]" with the name that a person wrote.
std::string readable(std::string frame) {
    const std::size_t begin = frame.find('(') + 1;
    const std::size_t end = frame.find('+', begin);
    if (begin == 0 || end == frame.npos || end == begin) return frame;
    const std::string name = frame.substr(begin, end - begin);
    return frame.replace(begin, name.size(), log::demangled(name.c_str()));
}

}  // namespace

Watchdog::Post::Post(Watchdog& watchdog, core::EventLoop& loop,
                     const std::atomic<const http::Matched*>* running)
    : watchdog_(&watchdog), loop_(&loop), running_(running) {
    const std::lock_guard held(watchdog.lock_);
    watchdog.posts_.push_back(this);
    ask();  // answered in the loop's first turn, before any request
}

// The loop answers by a store, and only when it turns: a loop that is blocked leaves the question
// open.
void Watchdog::Post::ask() {
    const std::uint64_t number = asked_ + 1;
    const bool sent = loop_->post([answers = answers_, number] {
        answers->thread = this_thread_number();
        answers->turned = true;
        answers->last = number;
    });
    // A full mailbox, or no memory: the next look asks again, and the loop counts as answered.
    if (!sent) return;
    asked_ = number;
    asked_at_ = Clock::now();
}

Watchdog::Post::~Post() {
    const std::lock_guard held(watchdog_->lock_);
    std::erase(watchdog_->posts_, this);
}

Result<std::unique_ptr<Watchdog>> Watchdog::start(Duration limit,
                                                  std::unique_ptr<log::Logger> logger) {
    prepare_stacks();
    std::unique_ptr<Watchdog> watchdog(new Watchdog(limit, std::move(logger)));
    const int code = thread_refusal(
        [self = watchdog.get()] { self->thread_ = std::thread([self] { self->run(); }); });
    if (code == 0) return watchdog;
    return fail(Error(code, "start", "the watchdog's thread",
                      "no further thread is allowed: raise the limit (ulimit -u, pids.max of "
                      "the cgroup), or leave ServeOptions::watchdog out"));
}

Watchdog::~Watchdog() {
    {
        const std::lock_guard held(lock_);
        ends_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();  // not where it could not be started
}

// It holds the lock while it looks, so that no Post, and no loop behind one, ends meanwhile.
void Watchdog::run() {
    std::unique_lock held(lock_);
    // Twice in each limit: a block is reported after one and a half times the limit at the latest.
    while (!wake_.wait_for(held, limit_ / 2, [this] { return ends_; })) {
        for (Post* const post : posts_) {
            core::contain(logger_.get(), "serve", "the watchdog", [&] { look(*post); });
        }
    }
}

// A block is reported once, and its end once: a loop that hangs for an hour fills no log.
void Watchdog::look(Post& post) {
    const bool answered = post.answers_->last == post.asked_;
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - post.asked_at_);
    if (!answered) {
        // Before its first answer a loop may not have begun to turn.
        if (!post.reported_ && post.answers_->turned && waited >= limit_) {
            post.reported_ = true;
            tell(post, waited.count());
        }
        return;
    }
    if (std::exchange(post.reported_, false)) {
        logger_->warning("serve", "a loop that was blocked turns again");
    }
    post.ask();
}

void Watchdog::tell(const Post& post, std::int64_t milliseconds) {
    const auto stack = stack_of(post.answers_->thread);
    if (!stack) return;
    const http::Matched* const at = post.running_ != nullptr ? post.running_->load() : nullptr;
    logger_->warning("serve", "a handler blocks its loop, and all that this loop serves",
                     log::field("milliseconds", milliseconds),
                     log::field("route", at != nullptr ? at->pattern : "unknown"));
    for (int i = stack->first; i < stack->end; ++i) {
        logger_->warning("serve", "  it is at", log::field("frame", readable(stack->frames[i])));
    }
}

}  // namespace tiderace::serve
