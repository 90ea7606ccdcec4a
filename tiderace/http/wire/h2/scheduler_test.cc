#include "tiderace/http/wire/h2/scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tiderace::http::wire {
namespace {

struct Stream : H2Scheduled {
    explicit Stream(char stream_name) : name(stream_name) {}
    char name;
};

class H2SchedulerTest : public ::testing::Test {
  protected:
    // The streams that get the next `turns` turns, each with more to send.
    std::string turns(int count) {
        std::string names;
        for (int i = 0; i < count; ++i) {
            Stream* stream = scheduler.next();
            if (stream == nullptr) return names + '.';
            names += stream->name;
            scheduler.sent_piece(*stream);
        }
        return names;
    }
    void add(Stream& stream, H2Priority priority) {
        scheduler.set_priority(stream, priority);
        scheduler.add(stream);
    }

    H2Scheduler<Stream> scheduler;
    Stream a{'a'};
    Stream b{'b'};
    Stream c{'c'};
};

TEST_F(H2SchedulerTest, IsEmptyAtFirst) {
    EXPECT_EQ(scheduler.next(), nullptr);
    EXPECT_TRUE(scheduler.empty());
}

TEST_F(H2SchedulerTest, EqualsThatAreNotIncrementalGoOneAfterTheOther) {
    scheduler.add(a);
    scheduler.add(b);
    EXPECT_EQ(turns(3), "aaa");
    scheduler.remove(a);
    EXPECT_EQ(turns(2), "bb");
    scheduler.remove(b);
    EXPECT_TRUE(scheduler.empty());
}

TEST_F(H2SchedulerTest, IncrementalOnesTakeTurns) {
    add(a, {3, true});
    add(b, {3, true});
    add(c, {3, true});
    EXPECT_EQ(turns(7), "abcabca");
    scheduler.remove(c);
    EXPECT_EQ(turns(4), "baba");
}

TEST_F(H2SchedulerTest, TheMoreUrgentGoFirst) {
    add(a, {7, false});
    add(b, {3, true});
    add(c, {0, false});
    EXPECT_EQ(turns(2), "cc");
    scheduler.remove(c);
    EXPECT_EQ(turns(2), "bb");
    scheduler.remove(b);
    EXPECT_EQ(turns(2), "aa");
    scheduler.add(c);
    EXPECT_EQ(turns(1), "c");
}

TEST_F(H2SchedulerTest, APriorityCanChangeInsideAndOutside) {
    scheduler.add(a);
    scheduler.add(b);
    scheduler.set_priority(b, {1, false});
    scheduler.set_priority(c, {0, false});
    EXPECT_FALSE(c.linked());
    EXPECT_EQ(turns(1), "b");
    scheduler.set_priority(b, {5, false});
    EXPECT_EQ(turns(1), "a");
    scheduler.add(c);
    EXPECT_EQ(turns(1), "c");
    EXPECT_EQ(c.priority(), (H2Priority{0, false}));
}

TEST_F(H2SchedulerTest, AddingTwiceIsAddingOnce) {
    scheduler.add(a);
    scheduler.add(b);
    scheduler.add(a);
    scheduler.remove(a);
    EXPECT_EQ(turns(1), "b");
}

TEST_F(H2SchedulerTest, AStreamThatDiesLeaves) {
    auto stream = std::make_unique<Stream>('d');
    add(*stream, {2, true});
    scheduler.add(a);
    EXPECT_EQ(turns(1), "d");
    stream.reset();
    EXPECT_EQ(turns(1), "a");
}

TEST_F(H2SchedulerTest, ATurnThatEndedTheStreamDoesNotPutItBack) {
    add(a, {3, true});
    scheduler.remove(a);
    scheduler.sent_piece(a);
    EXPECT_TRUE(scheduler.empty());
}

}  // namespace
}  // namespace tiderace::http::wire
