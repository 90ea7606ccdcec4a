// The watching process is a child of the test and the parent of the serving ones: no part of this
// process ever serves.
#include "lab/engine/prefork.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <set>
#include <string_view>
#include <vector>

namespace tiderace::lab::engine {
namespace {

// UndefinedBehaviorSanitizer makes pipes of its own to look at an object, and ends without them.
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define TR_NEEDS_PIPES 1
#endif
#endif
#ifndef TR_NEEDS_PIPES
#define TR_NEEDS_PIPES 0
#endif
constexpr bool sanitizer_needs_pipes = TR_NEEDS_PIPES != 0;

enum class Kind : char { serving, all_serve, drained, closed_listeners };

struct Word {
    Kind kind;
    pid_t pid;
};

class PreforkTest : public ::testing::Test {
  protected:
    // `serve` is what each process does, and its exit status; it may block in wait_for_end().
    void start(std::size_t processes, int (*serve)(PreforkTest&)) {
        ASSERT_EQ(::pipe(pipe_), 0);
        std::fflush(nullptr);  // or the child would write our buffer as well
        watching_ = ::fork();
        if (watching_ == 0) {
            ::close(pipe_[0]);
            watch(processes, serve);
        }
        ::close(pipe_[1]);
    }
    [[noreturn]] void watch(std::size_t processes, int (*serve)(PreforkTest&)) {
        static_cast<void>(!::freopen("/dev/null", "w", stderr));
        auto signals = core::Signals::open(std::vector<int>{SIGTERM, SIGINT, SIGUSR1});
        const auto prefork = arrange_prefork();
        if (before_start_ != nullptr) before_start_();
        const auto ended = prefork->split(processes, *signals,
                                          {.on_serving = [this] { say(Kind::all_serve); },
                                           .on_drain = [this] { say(Kind::closed_listeners); },
                                           .drain = 60s});
        if (ended) ::_exit(*ended);
        say(Kind::serving);
        if (serve == &serve_until_told) prefork->note_serving();
        ::_exit(serve(*this));
    }
    void say(Kind kind) const {
        const Word word{kind, ::getpid()};
        static_cast<void>(!::write(pipe_[1], &word, sizeof word));
    }
    // In a serving process: blocks until it has to end.
    static void wait_for_end() {
        sigset_t end;
        sigemptyset(&end);
        sigaddset(&end, SIGTERM);
        int number = 0;
        sigwait(&end, &number);
    }
    static int serve_until_told(PreforkTest& test) {
        wait_for_end();
        test.say(Kind::drained);
        return 0;
    }

    // The next thing said; pid -1: all of them have ended.
    Word hear() const {
        Word word{Kind::serving, -1};
        pollfd polled{.fd = pipe_[0], .events = POLLIN, .revents = 0};
        const int ready = ::poll(&polled, 1, 20'000);
        EXPECT_EQ(ready, 1) << "nothing was said";
        if (ready != 1 || ::read(pipe_[0], &word, sizeof word) != sizeof word) word.pid = -1;
        return word;
    }
    // Ids of the processes that began to serve; the first ones end with a line for all of them.
    std::set<pid_t> hear_serving(std::size_t count, bool at_start = true) const {
        std::set<pid_t> pids;
        for (bool all = !at_start; pids.size() < count || !all;) {
            const Word word = hear();
            if (word.pid < 0) break;
            if (word.kind == Kind::serving) pids.insert(word.pid);
            if (word.kind == Kind::all_serve) {
                EXPECT_EQ(pids.size(), count);
                EXPECT_EQ(word.pid, watching_);
                all = true;
            }
        }
        return pids;
    }
    int status_of_watching() const {
        int status = 0;
        EXPECT_EQ(::waitpid(watching_, &status, 0), watching_);
        return status;
    }

    int pipe_[2] = {-1, -1};
    pid_t watching_ = -1;
    void (*before_start_)() = nullptr;  // what the watching process does to itself
};

TEST_F(PreforkTest, StartsThemAndTellsThemToEnd) {
    start(3, serve_until_told);
    const std::set<pid_t> pids = hear_serving(3);
    EXPECT_EQ(pids.size(), 3u);
    EXPECT_FALSE(pids.contains(watching_));
    ::kill(watching_, SIGTERM);
    EXPECT_EQ(hear().kind, Kind::closed_listeners) << "before any is told";
    for (int i = 0; i < 3; ++i) EXPECT_EQ(hear().kind, Kind::drained);
    EXPECT_EQ(hear().pid, -1);
    const int status = status_of_watching();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(PreforkTest, AnotherTakesThePlaceOfOneThatDied) {
    start(2, serve_until_told);
    std::set<pid_t> pids = hear_serving(2);
    const pid_t victim = *pids.begin();
    ::kill(victim, SIGKILL);
    const std::set<pid_t> fresh = hear_serving(1, false);
    EXPECT_FALSE(pids.contains(*fresh.begin()));
    ::kill(watching_, SIGINT);
    while (hear().pid >= 0) {
    }
    EXPECT_EQ(status_of_watching(), 0);
}

TEST_F(PreforkTest, NoneOutlivesTheOneThatWatches) {
    start(2, serve_until_told);
    hear_serving(2);
    ::kill(watching_, SIGKILL);
    status_of_watching();
    EXPECT_EQ(hear().kind, Kind::drained) << "told by the kernel, in order";
    EXPECT_EQ(hear().kind, Kind::drained);
    EXPECT_EQ(hear().pid, -1);
}

// `what`: RLIMIT_NPROC and its like, of whatever type a system has them.
void limit_to(auto what, rlim_t most) {
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = most;
    ::setrlimit(what, &limit);
}

TEST_F(PreforkTest, GivesUpWhereTheMachineRefusesEachProcess) {
    struct Refusal {
        std::string_view what;
        void (*refuse)();
    };
    std::vector<Refusal> cases{
        {"a process",
         [] {
             limit_to(RLIMIT_NPROC, 1);
             // root has no such limit.
             if (::getuid() == 0 && ::setuid(54'321) != 0) ::_exit(2);
         }},
    };
    if (!sanitizer_needs_pipes) cases.push_back({"a pipe", [] { limit_to(RLIMIT_NOFILE, 3); }});
    for (const Refusal& each : cases) {
        before_start_ = each.refuse;
        start(1, serve_until_told);
        EXPECT_EQ(hear().kind, Kind::closed_listeners) << each.what;
        ::kill(watching_, SIGTERM);  // should it go on trying
        const int status = status_of_watching();
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << each.what << ": " << status;
        ::close(pipe_[0]);
    }
}

TEST_F(PreforkTest, GivesUpWhereAllEndAsSoonAsTheyAreStarted) {
    start(1, [](PreforkTest&) { return 3; });
    std::size_t started = 0;
    Word word = hear();
    for (; word.pid >= 0 && word.kind == Kind::serving; word = hear()) ++started;
    EXPECT_EQ(started, 5u) << "with pauses that double";
    EXPECT_EQ(word.kind, Kind::closed_listeners);
    const int status = status_of_watching();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

}  // namespace
}  // namespace tiderace::lab::engine
