// The calls to the kernel, and how its answers are read; that the engine works as the others do is
// asked by core/backend_test.cc.
#include "tiderace/core/backend/kqueue.h"

#include <gmock/gmock.h>
#include <sys/event.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace tiderace::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records its calls; answers as scripted.
class ScriptedQueue final : public KernelQueue {
  public:
    int exchange(std::span<const struct kevent> changes, std::span<struct kevent> events,
                 const timespec* wait_max) override {
        given.clear();
        for (const struct kevent& change : changes) given.push_back(describe(change));
        waited.reset();
        if (wait_max != nullptr) {
            waited = std::chrono::seconds(wait_max->tv_sec) +
                     std::chrono::nanoseconds(wait_max->tv_nsec);
        }
        room = events.size();
        ++calls;
        if (answers.empty()) return 0;
        const auto answer = std::move(answers.front());
        answers.pop_front();
        for (std::size_t i = 0; i < answer.size(); ++i) events[i] = answer[i];
        return answer.empty() ? -EINTR : static_cast<int>(answer.size());
    }

    static std::string describe(const struct kevent& change) {
        const std::string what = change.filter == EVFILT_READ    ? " read "
                                 : change.filter == EVFILT_WRITE ? " write "
                                                                 : " user ";
        return ((change.flags & EV_ADD) != 0      ? "add"
                : (change.flags & EV_DELETE) != 0 ? "delete"
                                                  : "trigger") +
               what + std::to_string(change.ident) + "/" +
               std::to_string(reinterpret_cast<std::uintptr_t>(change.udata));
    }

    std::vector<std::string> given;
    std::optional<Duration> waited;
    std::size_t room = 0;
    int calls = 0;
    std::deque<std::vector<struct kevent>> answers;  // an empty one is EINTR
};

struct kevent event(int fd, short filter, std::uint32_t generation, unsigned flags = 0,
                    unsigned error = 0, int data = 1) {
    struct kevent made{};
    made.ident = static_cast<std::uintptr_t>(fd);
    made.filter = filter;
    made.flags = static_cast<unsigned short>(flags);
    made.fflags = error;
    made.data = data;
    made.udata = reinterpret_cast<void*>(static_cast<std::uintptr_t>(generation));
    return made;
}

class Kqueue : public ::testing::Test {
  protected:
    Kqueue() {
        auto queue = std::make_unique<ScriptedQueue>();
        queue_ = queue.get();
        poller_ = make_kqueue_poller(std::move(queue));
    }
    int wait(Duration longest = Duration::zero()) { return poller_->wait(ready_, longest); }
    int wait_with(std::vector<struct kevent> answer) {
        queue_->answers.push_back(std::move(answer));
        return wait();
    }

    ScriptedQueue* queue_;
    std::unique_ptr<Poller> poller_;
    std::array<Ready, 4> ready_;
};

TEST_F(Kqueue, WakesByAUserEvent) {
    EXPECT_THAT(queue_->given, ElementsAre("add user 0/0"));
    poller_->wake();
    EXPECT_THAT(queue_->given, ElementsAre("trigger user 0/0"));
    EXPECT_EQ(queue_->room, 0U);
    EXPECT_EQ(wait_with({event(0, EVFILT_USER, 0)}), 0);
}

TEST_F(Kqueue, TheChangesOfATurnGoWithItsWait) {
    poller_->set(5, 1, {.readable = true}, false);
    poller_->set(6, 1, {.readable = true, .writable = true}, false);
    EXPECT_EQ(queue_->calls, 1);  // the one for the waker
    wait();
    EXPECT_THAT(queue_->given, ElementsAre("add read 5/1", "add read 6/1", "add write 6/1"));
    wait();
    EXPECT_THAT(queue_->given, IsEmpty());
    poller_->set(6, 1, {.readable = true}, true);
    wait();
    EXPECT_THAT(queue_->given, ElementsAre("delete write 6/1"));
}

TEST_F(Kqueue, WhatIsTakenBackBeforeTheWaitIsNeverSaid) {
    poller_->set(5, 1, {.readable = true}, false);
    wait();
    poller_->set(5, 1, {}, true);
    poller_->set(5, 1, {.readable = true}, true);
    poller_->set(6, 1, {.readable = true}, false);
    poller_->remove(6, Afterwards::open);
    wait();
    EXPECT_THAT(queue_->given, IsEmpty());
}

TEST_F(Kqueue, RemovingDeletesAndClosingNeedNot) {
    poller_->set(5, 1, {.readable = true}, false);
    poller_->set(6, 1, {.readable = true}, false);
    wait();
    poller_->remove(5, Afterwards::open);
    poller_->remove(6, Afterwards::closed);
    wait();
    EXPECT_THAT(queue_->given, ElementsAre("delete read 5/1"));
}

TEST_F(Kqueue, ANumberThatIsUsedAgainIsAddedUnderItsNewGeneration) {
    poller_->set(5, 1, {.readable = true, .writable = true}, false);
    poller_->set(6, 1, {.readable = true, .writable = true}, false);
    wait();
    poller_->remove(5, Afterwards::closed);
    poller_->set(5, 2, {.readable = true}, false);
    poller_->remove(6, Afterwards::open);  // left open, and attached again
    poller_->set(6, 2, {.readable = true}, false);
    wait();
    EXPECT_THAT(queue_->given, ElementsAre("add read 5/2", "add read 6/2", "delete write 6/2"));
}

TEST_F(Kqueue, EventsBecomeReadiness) {
    poller_->set(5, 7, {.readable = true, .writable = true}, false);
    ASSERT_EQ(wait_with({event(5, EVFILT_READ, 7), event(5, EVFILT_WRITE, 7)}), 2);
    EXPECT_EQ(ready_[0].fd, 5);
    EXPECT_EQ(ready_[0].generation, 7U);
    EXPECT_TRUE(ready_[0].readable && !ready_[0].writable && !ready_[0].failed);
    EXPECT_TRUE(!ready_[1].readable && ready_[1].writable && !ready_[1].failed);
    ASSERT_EQ(wait_with({event(5, EVFILT_READ, 7, EV_EOF)}), 1);
    EXPECT_TRUE(ready_[0].readable && !ready_[0].failed) << "a half-close is read as an end";
    ASSERT_EQ(wait_with({event(5, EVFILT_WRITE, 7, EV_EOF, ECONNRESET)}), 1);
    EXPECT_TRUE(ready_[0].writable && ready_[0].failed);
}

TEST_F(Kqueue, ADetachedFilterIsDeletedAndNotReported) {
    poller_->set(5, 2, {.readable = true}, false);
    EXPECT_EQ(wait_with({event(5, EVFILT_READ, 1), event(5, EVFILT_WRITE, 2)}), 0);
    wait();
    EXPECT_THAT(queue_->given, ElementsAre("delete read 5/0", "delete write 5/0"));
}

TEST_F(Kqueue, ARefusedDeletionDoesNotEndTheWait) {
    poller_->set(5, 1, {.readable = true, .writable = true}, false);
    wait();
    poller_->set(5, 1, {.readable = true}, true);
    queue_->calls = 0;
    queue_->answers.push_back({event(5, EVFILT_WRITE, 1, EV_ERROR, 0, ENOENT)});
    EXPECT_EQ(wait_with({event(5, EVFILT_READ, 1)}), 1);
    EXPECT_EQ(queue_->calls, 2);
    EXPECT_THAT(queue_->given, IsEmpty());
}

TEST_F(Kqueue, ARefusedFilterIsReportedAsFailedAndRetriedSoon) {
    poller_->set(5, 1, {.readable = true}, false);
    ASSERT_EQ(wait_with({event(5, EVFILT_READ, 1, EV_ERROR, 0, ENOMEM)}), 1);
    EXPECT_TRUE(ready_[0].readable && ready_[0].failed);
    wait(Duration(-1));
    EXPECT_THAT(queue_->given, ElementsAre("add read 5/1"));
    EXPECT_EQ(queue_->waited, kqueue_retry_interval);
    wait(Duration(-1));
    EXPECT_EQ(queue_->waited, std::nullopt);
}

TEST_F(Kqueue, ThereIsRoomForTheRefusalOfEveryChangeAndWhatHasNoneIsSaidAgain) {
    std::vector<struct kevent> all;
    for (int fd = 0; fd < 2'000; ++fd) {
        poller_->set(fd, 1, {.readable = true}, false);
        all.push_back(event(fd, EVFILT_READ, 1));
    }
    EXPECT_EQ(wait_with(all), 4);
    EXPECT_GE(queue_->room, 2'000U);
}

TEST_F(Kqueue, AnInterruptedCallHasTakenItsChanges) {
    poller_->set(5, 1, {.readable = true}, false);
    EXPECT_EQ(wait_with({}), -EINTR);
    EXPECT_THAT(queue_->given, ElementsAre("add read 5/1"));
    wait();
    EXPECT_THAT(queue_->given, IsEmpty());
}

TEST_F(Kqueue, WaitsToTheNanosecond) {
    wait(1'500'000'001ns);
    EXPECT_EQ(queue_->waited, 1'500'000'001ns);
    wait(Duration(-1));
    EXPECT_EQ(queue_->waited, std::nullopt);
    wait(1'000h);
    EXPECT_EQ(queue_->waited, 1h);
}

}  // namespace
}  // namespace tiderace::core
