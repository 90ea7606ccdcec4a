// Writer, where memory runs out on its thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "tiderace/log/collecting_sink.h"
#include "tiderace/log/writer.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::log {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Lines = CollectingSink::Lines;

class StillTime final : public TimeSource {
  public:
    std::int64_t unix_ms() override { return 1'795'262'400'125; }
};

class WriterWithoutMemory : public ::testing::Test {
  protected:
    static void put(Ring& ring, const std::string& line) {
        char* room = ring.reserve(line.size() + 1);
        ASSERT_NE(room, nullptr);
        std::memcpy(room, (line + "\n").data(), line.size() + 1);
        ring.commit(line.size() + 1);
        ring.publish();
    }

    StillTime time_;
};

// Its first write leaves the writer's thread without memory until the next one; the third succeeds.
class PoorSink final : public Sink {
  public:
    struct Seen {
        std::atomic<bool> failed = false;  // an allocation
        std::atomic<bool> reopened = false;
    };
    PoorSink(std::uint64_t nth, Seen& seen, std::shared_ptr<Lines> lines)
        : nth_(nth), seen_(seen), collecting_(std::move(lines)) {}
    Written write(ByteView lines) override {
        if (scarce_) seen_.failed = scarce_->failed();
        scarce_.reset();
        if (++calls_ >= 3) return collecting_.write(lines);
        Written written{0, Error(ENOSPC, "write", "a file whose name is not short")};
        if (calls_ == 1) scarce_.emplace(nth_);
        return written;
    }
    Result<> reopen() override {
        seen_.reopened = true;
        return {};
    }

  private:
    const std::uint64_t nth_;
    Seen& seen_;
    CollectingSink collecting_;
    std::optional<testing::ScarceMemory> scarce_;
    int calls_ = 0;
};

TEST_F(WriterWithoutMemory, AtAnyPointItReopensAndReportsAllTheSame) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    bool failed = true;
    std::uint64_t nth = 1;
    for (; failed; ++nth) {
        const auto notices = std::make_shared<Lines>();
        const auto lines = std::make_shared<Lines>();
        PoorSink::Seen seen;
        Writer writer(time_, {.flush_interval = 1ms});
        writer.add_stream("diagnostics", std::make_unique<CollectingSink>(notices));
        Stream& access = writer.add_stream("access", std::make_unique<PoorSink>(nth, seen, lines));
        put(access.add_ring(1_KiB), "kept");
        writer.reopen();  // before the first pass
        EXPECT_TRUE(writer.start());
        EXPECT_THAT(lines->wait_for(1), ElementsAre("kept"));
        writer.stop();
        EXPECT_TRUE(seen.reopened) << nth;
        EXPECT_THAT(notices->all(), Contains(HasSubstr("trouble with a sink"))) << nth;
        failed = seen.failed;
    }
    EXPECT_GE(nth, 5U);
}

// The pass that finds no memory is, but for a slow stop(), the last one.
TEST_F(WriterWithoutMemory, InItsLastPassItLosesNothing) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    bool failed = true;
    std::uint64_t nth = 1;
    for (; failed; ++nth) {
        const auto notices = std::make_shared<Lines>();
        const auto lines = std::make_shared<Lines>();
        PoorSink::Seen seen;
        Writer writer(time_, {.flush_interval = 1ms, .stop_patience = 1h});
        writer.add_stream("diagnostics", std::make_unique<CollectingSink>(notices));
        Stream& access = writer.add_stream("access", std::make_unique<PoorSink>(nth, seen, lines));
        put(access.add_ring(1_KiB), "kept");
        EXPECT_TRUE(writer.start());
        writer.stop();
        EXPECT_THAT(lines->all(), ElementsAre("kept")) << nth;
        failed = seen.failed;
    }
    EXPECT_GE(nth, 4U);
}

// Takes nothing, and leaves the writer's thread without memory after each write.
class RefusingPoorSink final : public Sink {
  public:
    explicit RefusingPoorSink(std::uint64_t nth) : nth_(nth) {}
    Written write(ByteView) override {
        scarce_.reset();
        Written written{0, Error(ENOSPC, "write", "a file whose name is not short")};
        scarce_.emplace(nth_);
        return written;
    }
    Result<> reopen() override { return {}; }

  private:
    const std::uint64_t nth_;
    std::optional<testing::ScarceMemory> scarce_;
};

TEST_F(WriterWithoutMemory, ItReportsAllTheSameWhatIsLostAtTheEnd) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    for (std::uint64_t nth = 1; nth <= 8; ++nth) {
        const auto notices = std::make_shared<Lines>();
        // No patience: the losses are reported right after the last write.
        Writer writer(time_, {.flush_interval = 1ms, .stop_patience = Duration::zero()});
        writer.add_stream("diagnostics", std::make_unique<CollectingSink>(notices));
        Stream& access = writer.add_stream("access", std::make_unique<RefusingPoorSink>(nth));
        put(access.add_ring(1_KiB), "lost");
        EXPECT_TRUE(writer.start());
        writer.stop();
        EXPECT_THAT(notices->all(), Contains(HasSubstr("records lost at the end"))) << nth;
    }
}

// Its thread's own data is the first thing that is allocated.
TEST_F(WriterWithoutMemory, ForItsThreadItDoesNotStartAndTheSignalsAreAsBefore) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    Writer writer(time_);
    writer.add_stream("lines", std::make_unique<CollectingSink>(std::make_shared<Lines>()));
    Result<> started;
    {
        const testing::ScarceMemory scarce(1);
        started = writer.start();
    }
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code(), ENOMEM);
    sigset_t mine;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    EXPECT_EQ(sigismember(&mine, SIGTERM), 0);
}

}  // namespace
}  // namespace tiderace::log
