// The rules of kqueue(2), checked with the stand-in.
#include "tiderace/testing/fake/stand_in_queue.h"

#include <gtest/gtest.h>
#include <sys/event.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

namespace tiderace::testing {
namespace {

class StandInQueueTest : public ::testing::Test {
  protected:
    StandInQueueTest() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_), 0);
    }
    ~StandInQueueTest() override {
        for (const int fd : ends_) {
            if (fd >= 0) ::close(fd);
        }
    }
    static struct kevent change(int fd, short filter, unsigned flags, unsigned notes = 0) {
        return {.ident = static_cast<std::uintptr_t>(fd),
                .filter = filter,
                .flags = static_cast<unsigned short>(flags),
                .fflags = notes};
    }
    int give(std::vector<struct kevent> changes, std::size_t room = 0) {
        const timespec at_once{};
        return queue_.exchange(changes, std::span(events_).first(room), &at_once);
    }
    int wait(timespec longest = {}) { return queue_.exchange({}, events_, &longest); }
    void peer_says(std::string_view text) {
        ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    void read_all() {
        char sink[64];
        while (::read(ends_[0], sink, sizeof sink) > 0) {
        }
    }

    PolledQueue queue_;
    int ends_[2];
    std::array<struct kevent, 4> events_;
};

TEST_F(StandInQueueTest, SaysHowMuchThereIsToReadUntilItIsRead) {
    ASSERT_EQ(give({change(ends_[0], EVFILT_READ, EV_ADD)}), 0);
    EXPECT_EQ(wait(), 0);
    peer_says("hello");
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(wait(), 1);
        EXPECT_EQ(events_[0].ident, static_cast<std::uintptr_t>(ends_[0]));
        EXPECT_EQ(events_[0].filter, EVFILT_READ);
        EXPECT_EQ(events_[0].data, 5);
        EXPECT_EQ(events_[0].flags & EV_EOF, 0);
    }
    read_all();
    EXPECT_EQ(wait(), 0);
}

TEST_F(StandInQueueTest, AnEndIsReportedWithTheRemainingBytes) {
    give({change(ends_[0], EVFILT_READ, EV_ADD), change(ends_[0], EVFILT_WRITE, EV_ADD)});
    peer_says("bye");
    ::shutdown(ends_[1], SHUT_WR);
    ASSERT_EQ(wait(), 2);
    const struct kevent& read = events_[events_[0].filter == EVFILT_READ ? 0 : 1];
    EXPECT_EQ(read.data, 3);
    EXPECT_NE(read.flags & EV_EOF, 0);
    const struct kevent& write = events_[events_[0].filter == EVFILT_READ ? 1 : 0];
    EXPECT_EQ(write.flags & EV_EOF, 0);
    EXPECT_GT(write.data, 0);
    ::close(std::exchange(ends_[1], -1));
    ASSERT_EQ(wait(), 2);
    EXPECT_NE(events_[0].flags & EV_EOF, 0);
    EXPECT_NE(events_[1].flags & EV_EOF, 0);
}

TEST_F(StandInQueueTest, ClearSaysAThingOnceUntilItChanged) {
    give({change(ends_[0], EVFILT_READ, EV_ADD | EV_CLEAR)});
    peer_says("x");
    EXPECT_EQ(wait(), 1);
    EXPECT_EQ(wait(), 0);
    peer_says("y");
    EXPECT_EQ(wait(), 1);
    EXPECT_EQ(events_[0].data, 2);
    give({change(ends_[0], EVFILT_READ, EV_ADD | EV_CLEAR)});
    EXPECT_EQ(wait(), 1) << "adding again looks anew";
}

TEST_F(StandInQueueTest, OnceAndDisabledAndDeleted) {
    give({change(ends_[0], EVFILT_WRITE, EV_ADD | EV_ONESHOT)});
    EXPECT_EQ(wait(), 1);
    EXPECT_EQ(queue_.filters(), 0U);
    give({change(ends_[0], EVFILT_WRITE, EV_ADD), change(ends_[0], EVFILT_WRITE, EV_DISABLE)});
    EXPECT_EQ(wait(), 0);
    give({change(ends_[0], EVFILT_WRITE, EV_ENABLE)});
    EXPECT_EQ(wait(), 1);
    give({change(ends_[0], EVFILT_WRITE, EV_DELETE)});
    EXPECT_EQ(wait(), 0);
}

TEST_F(StandInQueueTest, ARefusedChangeIsAnEventWhereThereIsRoomAndFailsTheCallElsewhere) {
    const auto nothing = change(ends_[0], EVFILT_READ, EV_DELETE);
    const auto good = change(ends_[1], EVFILT_WRITE, EV_ADD);
    ASSERT_EQ(give({nothing, good}, 4), 1) << "refusals come alone";
    EXPECT_EQ(events_[0].flags, EV_ERROR);
    EXPECT_EQ(events_[0].data, ENOENT);
    EXPECT_EQ(queue_.filters(), 1U);
    EXPECT_EQ(give({nothing}), -ENOENT);
    EXPECT_EQ(give({change(99'999, EVFILT_READ, EV_ADD)}), -EBADF);
    EXPECT_EQ(give({change(ends_[0], -3, EV_ADD)}), -EINVAL);
}

TEST_F(StandInQueueTest, AReceiptIsARefusalWithoutAnError) {
    peer_says("not told in the same call");
    ASSERT_EQ(give({change(ends_[0], EVFILT_READ, EV_ADD | EV_RECEIPT)}, 4), 1);
    EXPECT_EQ(events_[0].flags, EV_ERROR);
    EXPECT_EQ(events_[0].data, 0);
    EXPECT_EQ(wait(), 1);
}

TEST_F(StandInQueueTest, ClosingDeletesAndTheNextOfTheNumberIsAnotherOne) {
    give({change(ends_[0], EVFILT_WRITE, EV_ADD)});
    const int number = ends_[0];
    ::close(number);
    ends_[0] = ::dup(ends_[1]);
    ASSERT_EQ(ends_[0], number);
    EXPECT_EQ(wait(), 0);
    EXPECT_EQ(give({change(number, EVFILT_WRITE, EV_DELETE)}), -ENOENT);
}

TEST_F(StandInQueueTest, AUserEventEndsAWaitFromAnotherThread) {
    give({change(0, EVFILT_USER, EV_ADD | EV_CLEAR)});
    EXPECT_EQ(wait(), 0);
    std::thread other([this] {
        const auto trigger = change(0, EVFILT_USER, 0, NOTE_TRIGGER);
        const timespec at_once{};
        queue_.exchange({&trigger, 1}, {}, &at_once);
    });
    EXPECT_EQ(queue_.exchange({}, events_, nullptr), 1);
    other.join();
    EXPECT_EQ(events_[0].filter, EVFILT_USER);
    EXPECT_EQ(wait(), 0);
}

TEST_F(StandInQueueTest, EverybodyHasATurnWhenThereIsLittleRoom) {
    give({change(ends_[0], EVFILT_WRITE, EV_ADD), change(ends_[1], EVFILT_WRITE, EV_ADD)});
    const timespec at_once{};
    std::uintptr_t seen[2];
    for (auto& ident : seen) {
        ASSERT_EQ(queue_.exchange({}, std::span(events_).first(1), &at_once), 1);
        ident = events_[0].ident;
    }
    EXPECT_NE(seen[0], seen[1]);
}

}  // namespace
}  // namespace tiderace::testing
