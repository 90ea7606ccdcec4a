#include "tiderace/log/writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/log/collecting_sink.h"
#include "tiderace/log/console_sink.h"
#include "tiderace/log/file_sink.h"

namespace tiderace::log {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Lines = CollectingSink::Lines;

// Collects, but only while it is allowed to: else it refuses, or holds the writer's thread.
class MoodySink final : public Sink {
  public:
    struct Mood {
        enum class Kind : std::uint8_t { willing, refusing, holding };

        void set(Kind kind) {
            const std::lock_guard lock(mutex);
            now = kind;
            changed.notify_all();
        }
        void wait_until_held() {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return held; });
        }
        void wait_until_refused(int times) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return refusals >= times; });
        }

        std::mutex mutex;
        std::condition_variable changed;
        Kind now = Kind::willing;
        bool held = false;
        int refusals = 0;
    };
    MoodySink(Mood& mood, std::shared_ptr<Lines> lines)
        : mood_(mood), collecting_(std::move(lines)) {}

    Written write(ByteView lines) override {
        std::unique_lock lock(mood_.mutex);
        mood_.held = mood_.now == Mood::Kind::holding;
        mood_.changed.notify_all();
        mood_.changed.wait(lock, [&] { return mood_.now != Mood::Kind::holding; });
        mood_.held = false;
        if (mood_.now == Mood::Kind::refusing) {
            ++mood_.refusals;
            mood_.changed.notify_all();
            return {0, Error(ENOSPC, "write", "access.log")};
        }
        return collecting_.write(lines);
    }

  private:
    Mood& mood_;
    CollectingSink collecting_;
};

using Kind = MoodySink::Mood::Kind;

class FixedTime final : public TimeSource {
  public:
    std::int64_t unix_ms() override { return now_ms; }

    std::atomic<std::int64_t> now_ms = 1'795'262'400'125;  // 2026-11-21T12:00:00.125Z
};

// A pipe in blocking mode, as a shell gives it.
class Pipe {
  public:
    Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
    ~Pipe() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int in() const { return ends_[1]; }
    // Waits for `bytes`.
    std::string read(std::size_t bytes) {
        std::string all(bytes, '\0');
        std::size_t got = 0;
        while (got < bytes) {
            const ssize_t piece = ::read(ends_[0], all.data() + got, bytes - got);
            if (piece <= 0) break;
            got += static_cast<std::size_t>(piece);
        }
        all.resize(got);
        return all;
    }

  private:
    std::array<int, 2> ends_{};
};

class WriterTest : public ::testing::Test {
  protected:
    // Diagnostics and an access log in memory, and a short interval: nothing here waits for time.
    void start(WriterOptions options = {.flush_interval = 1ms}) {
        writer_.emplace(time_, options);
        diagnostics_ = &writer_->add_stream("diagnostics",
                                            std::make_unique<CollectingSink>(diagnostic_lines_));
        access_ = &writer_->add_stream("access", std::make_unique<MoodySink>(mood_, access_lines_));
        ASSERT_TRUE(writer_->start());
    }
    static bool put(Ring& ring, const std::string& line) {
        char* room = ring.reserve(line.size() + 1);
        if (room == nullptr) return false;
        std::memcpy(room, (line + "\n").data(), line.size() + 1);
        ring.commit(line.size() + 1);
        ring.publish();
        return true;
    }
    void wait_until_idle() const {
        while (!writer_->idle()) std::this_thread::yield();
    }

    FixedTime time_;
    MoodySink::Mood mood_;
    std::shared_ptr<Lines> diagnostic_lines_ = std::make_shared<Lines>();
    std::shared_ptr<Lines> access_lines_ = std::make_shared<Lines>();
    std::optional<Writer> writer_;
    Stream* diagnostics_ = nullptr;
    Stream* access_ = nullptr;
};

TEST_F(WriterTest, BringsWhatWasLoggedToItsSink) {
    start();
    Logger logger(diagnostics_->add_ring(64_KiB), time_);
    logger.info("net", "listening", field("loops", 2));
    put(access_->add_ring(64_KiB), "GET / 200");
    EXPECT_THAT(diagnostic_lines_->wait_for(1),
                ElementsAre("2026-11-21T12:00:00.125Z info net: listening loops=2"));
    EXPECT_THAT(access_lines_->wait_for(1), ElementsAre("GET / 200"));
}

TEST_F(WriterTest, StopWritesAllThatWasPublished) {
    // An hour: only stop can bring the later ones.
    start({.flush_interval = 1h});
    Ring& ring = access_->add_ring(1_MiB);
    for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(put(ring, std::to_string(i)));
    writer_->stop();
    writer_->stop();
    const std::vector<std::string> lines = access_lines_->all();
    ASSERT_THAT(lines, SizeIs(1'000));
    EXPECT_EQ(lines.back(), "999");
    EXPECT_TRUE(put(ring, "after the end")) << "harmless, but never written";
}

TEST_F(WriterTest, WhatWasLoggedBeforeTheStartIsKept) {
    Writer writer(time_);
    Stream& stream = writer.add_stream("early", std::make_unique<CollectingSink>(access_lines_));
    put(stream.add_ring(1_KiB), "early");
    ASSERT_TRUE(writer.start());
    EXPECT_THAT(access_lines_->wait_for(1), ElementsAre("early"));
}

TEST_F(WriterTest, AnIdleWriterSleepsWhileABusyOneTurns) {
    start();
    Ring& ring = access_->add_ring(64_KiB);
    put(ring, "first");
    access_lines_->wait_for(1);
    wait_until_idle();
    const std::uint64_t wakeups = writer_->wakeups();

    const auto busy_lines = std::make_shared<Lines>();
    Writer busy(time_, {.flush_interval = 1ms});
    Ring& busy_ring =
        busy.add_stream("busy", std::make_unique<CollectingSink>(busy_lines)).add_ring(64_KiB);
    ASSERT_TRUE(busy.start());
    for (std::size_t i = 1; i <= 50; ++i) {
        put(busy_ring, "turn");
        busy_lines->wait_for(i);
    }
    EXPECT_GE(busy.wakeups(), 20U);
    EXPECT_TRUE(writer_->idle());
    EXPECT_EQ(writer_->wakeups(), wakeups) << "same interval, nothing logged";

    put(ring, "second");
    access_lines_->wait_for(2);
    wait_until_idle();
    EXPECT_EQ(writer_->wakeups(), wakeups + 2) << "once for the line, once to see that it was all";
}

TEST_F(WriterTest, ABusyWriterIsNotWokenForEachLine) {
    start({.flush_interval = 1h});
    mood_.set(Kind::holding);
    Ring& ring = access_->add_ring(64_KiB);
    put(ring, "first");
    mood_.wait_until_held();
    const std::uint64_t wakeups = writer_->wakeups();
    for (int i = 0; i < 100; ++i) put(ring, "waits for the interval");
    mood_.set(Kind::willing);
    writer_->stop();
    EXPECT_THAT(access_lines_->all(), SizeIs(101));
    EXPECT_LE(writer_->wakeups(), wakeups + 2) << "by stop(), and perhaps once late by the first";
}

TEST_F(WriterTest, AnotherIntervalHoldsAtOnce) {
    start({.flush_interval = 1h});
    Ring& ring = access_->add_ring(64_KiB);
    put(ring, "first");
    access_lines_->wait_for(1);
    writer_->set_flush_interval(1ms);
    for (std::size_t i = 2; i <= 20; ++i) {
        put(ring, "more");
        access_lines_->wait_for(i);
    }
}

TEST_F(WriterTest, PassingHalfWakesItBeforeTheInterval) {
    start({.flush_interval = 1h});
    Ring& ring = access_->add_ring(1_KiB);
    // Idling, it would be woken once and then wait for an hour, with most of these still in the
    // ring.
    while (access_lines_->all().size() < 100) put(ring, std::string(99, 'a'));
    EXPECT_EQ(access_lines_->all().front(), std::string(99, 'a'));
}

TEST_F(WriterTest, ABlockingSinkDelaysNoProducerAndDropsAreReported) {
    start();
    mood_.set(Kind::holding);
    Ring& ring = access_->add_ring(1_KiB);
    put(ring, "held");
    mood_.wait_until_held();
    const std::string line(99, 'a');
    std::uint64_t kept = 1;
    for (int i = 0; i < 100; ++i) kept += put(ring, line) ? 1 : 0;
    EXPECT_EQ(access_->dropped(), 101 - kept);
    EXPECT_EQ(writer_->losses().lines_dropped, access_->dropped());
    EXPECT_GT(access_->dropped(), 80U);
    mood_.set(Kind::willing);
    EXPECT_THAT(diagnostic_lines_->wait_for(1).front(),
                EndsWith("warning log: records dropped, the ring was full stream=access count=" +
                         std::to_string(101 - kept)));
    EXPECT_THAT(access_lines_->wait_for(kept), SizeIs(kept));
    put(ring, "after");
    EXPECT_EQ(access_lines_->wait_for(kept + 1).back(), "after");
    writer_->stop();
    EXPECT_THAT(diagnostic_lines_->all(), SizeIs(1)) << "said once";
}

TEST_F(WriterTest, AFailingSinkIsReportedRetriedAndRecovers) {
    start();
    mood_.set(Kind::refusing);
    Ring& ring = access_->add_ring(64_KiB);
    put(ring, "first");
    put(ring, "second");
    mood_.wait_until_refused(3);
    EXPECT_THAT(diagnostic_lines_->wait_for(1).front(),
                EndsWith("error log: trouble with a sink, lines wait in memory stream=access "
                         "error=\"write access.log: no space left on device\""));
    // Other streams go on meanwhile.
    Logger logger(diagnostics_->add_ring(64_KiB), time_);
    logger.info("net", "alive");
    EXPECT_THAT(diagnostic_lines_->wait_for(2).back(), EndsWith("alive"));
    EXPECT_GE(access_->troubles(), 3U);
    mood_.set(Kind::willing);
    EXPECT_THAT(access_lines_->wait_for(2), ElementsAre("first", "second"));
    EXPECT_THAT(diagnostic_lines_->wait_for(3).back(), HasSubstr("the sink works again"));
    writer_->stop();
    EXPECT_THAT(diagnostic_lines_->all(), SizeIs(3)) << "each said once";
}

TEST_F(WriterTest, StopGivesUpOnASinkThatNeverTakes) {
    start({.flush_interval = 1ms, .stop_patience = 20ms});
    mood_.set(Kind::refusing);
    put(access_->add_ring(64_KiB), "lost");
    mood_.wait_until_refused(1);
    writer_->stop();
    EXPECT_THAT(access_lines_->all(), SizeIs(0));
    EXPECT_THAT(diagnostic_lines_->all().back(),
                EndsWith("error log: records lost at the end, the sink did not take them "
                         "stream=access count=1"));
}

TEST_F(WriterTest, WhatIsLostAtTheEndIsCountedToTheLastLine) {
    start({.flush_interval = 1ms, .stop_patience = 20ms});
    mood_.set(Kind::refusing);
    Ring& first = access_->add_ring(1_KiB);
    Ring& second = access_->add_ring(64_KiB);
    put(first, "first");
    mood_.wait_until_refused(1);
    int kept = 1;
    for (int i = 0; i < 200; ++i) kept += put(first, std::string(40 + i % 7, 'a')) ? 1 : 0;
    for (int i = 0; i < 200; ++i) kept += put(second, "b") ? 1 : 0;
    writer_->stop();
    int lost = 0, dropped = 0;
    for (const std::string& line : diagnostic_lines_->all()) {
        const std::size_t at = line.rfind("count=");
        if (at == std::string::npos) continue;
        const int count = std::atoi(line.c_str() + at + 6);
        if (line.find("lost at the end") != std::string::npos) lost += count;
        if (line.find("records dropped") != std::string::npos) dropped += count;
    }
    EXPECT_EQ(lost, kept);
    EXPECT_EQ(dropped, 401 - kept);
}

TEST_F(WriterTest, AFullPipeIsWrittenToAsSoonAsItsReaderMadeRoom) {
    Pipe pipe;
    // An hour: only room can bring the later ones.
    Writer writer(time_, {.flush_interval = 1h, .room_patience = 1h});
    writer.add_stream("diagnostics", std::make_unique<CollectingSink>(diagnostic_lines_));
    Ring& ring =
        writer.add_stream("access", std::make_unique<ConsoleSink>(pipe.in())).add_ring(1_MiB);
    std::string all;
    for (int i = 0; i < 8'000; ++i) {  // several pipefuls
        const std::string line = std::to_string(i) + std::string(90, 'a');
        ASSERT_TRUE(put(ring, line));
        all += line + '\n';
    }
    ASSERT_TRUE(writer.start());
    EXPECT_EQ(pipe.read(all.size()), all);
    writer.stop();
    EXPECT_THAT(diagnostic_lines_->all(), SizeIs(0)) << "a reader that goes on is no trouble";
}

TEST_F(WriterTest, APipeThatTakesNothingForLongIsTroubleUntilItHasTakenAll) {
    Pipe pipe;
    Writer writer(time_, {.flush_interval = 1ms, .room_patience = 5ms});
    writer.add_stream("diagnostics", std::make_unique<CollectingSink>(diagnostic_lines_));
    Ring& ring =
        writer.add_stream("access", std::make_unique<ConsoleSink>(pipe.in())).add_ring(1_MiB);
    const std::string line(999, 'a');
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(put(ring, line));
    ASSERT_TRUE(writer.start());
    EXPECT_THAT(diagnostic_lines_->wait_for(1).front(),
                EndsWith("trouble with a sink, lines wait in memory stream=access "
                         "error=\"write the console: resource temporarily unavailable\""));
    pipe.read(500'000);
    EXPECT_THAT(diagnostic_lines_->wait_for(2).back(), HasSubstr("the sink works again"));
}

TEST_F(WriterTest, DropsAreReportedAtOnceAndOnceAMinute) {
    start({.flush_interval = 1ms, .stop_patience = 1ms});
    mood_.set(Kind::refusing);
    Ring& ring = access_->add_ring(1_KiB);
    const auto drop = [&] {
        const std::uint64_t before = access_->dropped();
        while (access_->dropped() == before) put(ring, std::string(99, 'a'));
    };
    const auto drops_said = [](const std::vector<std::string>& lines) {
        return std::ranges::count_if(lines, [](const std::string& line) {
            return line.find("records dropped") != std::string::npos;
        });
    };
    drop();
    EXPECT_EQ(drops_said(diagnostic_lines_->wait_for(2)), 1) << "beside the trouble";
    for (int i = 0; i < 20; ++i) {
        drop();
        int refusals = 0;
        {
            const std::lock_guard lock(mood_.mutex);
            refusals = mood_.refusals;
        }
        mood_.wait_until_refused(refusals + 2);  // a whole pass
    }
    EXPECT_EQ(drops_said(diagnostic_lines_->all()), 1) << "within the minute";
    time_.now_ms += 60'000;
    drop();
    EXPECT_EQ(drops_said(diagnostic_lines_->wait_for(3)), 2);
    drop();
    writer_->stop();
    EXPECT_EQ(drops_said(diagnostic_lines_->all()), 3) << "and at the end";
}

TEST_F(WriterTest, DropsOfAMinuteAreReportedAtItsEndThoughNothingIsLogged) {
    start();
    mood_.set(Kind::holding);
    Ring& ring = access_->add_ring(1_KiB);
    put(ring, "held");
    mood_.wait_until_held();
    while (put(ring, std::string(99, 'a'))) {
    }
    mood_.set(Kind::willing);
    EXPECT_THAT(diagnostic_lines_->wait_for(1).front(), HasSubstr("records dropped"));
    const std::uint64_t dropped = access_->dropped();
    time_.now_ms += 59'999;
    while (access_->dropped() == dropped) put(ring, std::string(99, 'a'));
    EXPECT_THAT(diagnostic_lines_->all(), SizeIs(1));
    time_.now_ms += 1;
    EXPECT_THAT(diagnostic_lines_->wait_for(2).back(), HasSubstr("records dropped"));
    writer_->stop();
}

TEST_F(WriterTest, ASinkWithoutMemoryIsRetried) {
    class HungrySink final : public Sink {
      public:
        explicit HungrySink(std::shared_ptr<Lines> lines) : collecting_(std::move(lines)) {}
        Written write(ByteView lines) override {
            if (++calls_ < 5) throw std::bad_alloc();
            return collecting_.write(lines);
        }

      private:
        CollectingSink collecting_;
        int calls_ = 0;
    };
    Writer writer(time_, {.flush_interval = 1ms});
    Ring& ring =
        writer.add_stream("hungry", std::make_unique<HungrySink>(access_lines_)).add_ring(1_KiB);
    put(ring, "kept");
    ASSERT_TRUE(writer.start());
    EXPECT_THAT(access_lines_->wait_for(1), ::testing::Contains("kept"));
}

TEST_F(WriterTest, ReopensOnRequestAfterWhatWasBefore) {
    std::string pattern = (std::filesystem::temp_directory_path() / "tiderace_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    const std::string path = pattern + "/access.log";
    {
        Writer writer(time_, {.flush_interval = 1h});
        writer.add_stream("diagnostics", std::make_unique<CollectingSink>(diagnostic_lines_));
        auto file = FileSink::open({path});
        ASSERT_TRUE(file.has_value());
        Ring& ring = writer.add_stream("access", std::move(*file)).add_ring(64_KiB);
        ASSERT_TRUE(writer.start());
        put(ring, "before");
        std::filesystem::rename(path, path + ".moved");
        writer.reopen();
        EXPECT_THAT(diagnostic_lines_->wait_for(2),
                    ElementsAre(EndsWith("info log: reopened stream=diagnostics"),
                                EndsWith("info log: reopened stream=access")));
        put(ring, "after");
    }
    const auto text = [](const std::string& name) {
        std::ifstream file(name);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    EXPECT_EQ(text(path + ".moved"), "before\n");
    EXPECT_EQ(text(path), "after\n");
    std::filesystem::remove_all(pattern);
}

TEST_F(WriterTest, ManyThreadsLoggingLoseNothingUncounted) {
    constexpr int threads = 4;
    constexpr int records = 3'000;
    start();
    std::vector<std::thread> producers;
    for (int t = 0; t < threads; ++t) {
        producers.emplace_back([this, t] {
            // Small rings, so that some are full; two of them loops, two not.
            const Publish publish = t % 2 == 0 ? Publish::by_owner : Publish::each_record;
            Ring& ring = diagnostics_->add_ring(16_KiB);
            Logger logger(ring, time_, {.publish = publish});
            for (int i = 0; i < records; ++i) {
                logger.info("load", "record", field("thread", t), field("number", i));
                if (i % 16 == 0) logger.publish();
            }
            logger.publish();
        });
    }
    for (std::thread& producer : producers) producer.join();
    const std::uint64_t dropped = diagnostics_->dropped();
    writer_->stop();
    std::array<int, threads> next{};
    std::uint64_t arrived = 0;
    for (const std::string& line : diagnostic_lines_->all()) {
        int thread = 0, number = 0;
        const std::size_t at = line.find("load: record");
        if (at == std::string::npos) continue;  // the writer's own
        const char* fields = line.c_str() + at;
        ASSERT_EQ(std::sscanf(fields, "load: record thread=%d number=%d", &thread, &number), 2);
        ASSERT_GE(number, next[static_cast<std::size_t>(thread)]) << "out of order";
        next[static_cast<std::size_t>(thread)] = number + 1;
        ++arrived;
    }
    EXPECT_EQ(arrived + dropped, static_cast<std::uint64_t>(threads * records));
    EXPECT_GT(arrived, 0U);
}

TEST_F(WriterTest, ItsThreadTakesNoSignals) {
    class MaskSink final : public Sink {
      public:
        explicit MaskSink(std::atomic<bool>& blocked) : blocked_(blocked) {}
        Written write(ByteView lines) override {
            sigset_t mask;
            ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
            blocked_ = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGPIPE) == 1;
            return {lines.size(), std::nullopt};
        }

      private:
        std::atomic<bool>& blocked_;
    };
    std::atomic<bool> blocked = false;
    Writer writer(time_);
    Ring& ring = writer.add_stream("mask", std::make_unique<MaskSink>(blocked)).add_ring(1_KiB);
    ASSERT_TRUE(writer.start());
    put(ring, "x");
    writer.stop();
    EXPECT_TRUE(blocked);
    sigset_t mine;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    EXPECT_EQ(sigismember(&mine, SIGTERM), 0) << "and ours are as before";
}

using WriterDeathTest = WriterTest;

TEST_F(WriterDeathTest, StartingWithoutAStreamAborts) {
    Writer empty(time_);
    EXPECT_DEATH((void)empty.start(), "add a stream first");
}

TEST_F(WriterTest, StreamsComeAndGoWhileItRuns) {
    class Leaving final : public Sink {
      public:
        Leaving(std::atomic<int>& written, std::atomic<bool>& gone)
            : written_(&written), gone_(&gone) {}
        ~Leaving() override { *gone_ = true; }
        Written write(ByteView lines) override {
            *written_ += static_cast<int>(std::ranges::count(lines, '\n'));
            return {lines.size(), {}};
        }

      private:
        std::atomic<int>* written_;
        std::atomic<bool>* gone_;
    };
    start();
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> written = 0;
        std::atomic<bool> gone = false;
        Stream& late = writer_->add_stream("late", std::make_unique<Leaving>(written, gone));
        Ring& ring = late.add_ring(4_KiB);
        EXPECT_EQ(ring.reserve(8_KiB), nullptr);
        Logger(ring, time_).info("test", "one line");
        writer_->end_stream(late);
        while (!gone) std::this_thread::yield();
        EXPECT_EQ(written, 1);
    }
    EXPECT_EQ(writer_->losses().lines_dropped, 20U);
}

TEST_F(WriterTest, AStreamThatEndsBehindItsTurnLosesNoLine) {
    class Calling final : public Sink {
      public:
        explicit Calling(std::function<void()> call) : call_(std::move(call)) {}
        Written write(ByteView lines) override {
            std::exchange(call_, [] {})();
            return {lines.size(), {}};
        }

      private:
        std::function<void()> call_;
    };
    start();
    // The next pass takes both streams, and writes the second one's line behind the first's turn.
    mood_.set(Kind::holding);
    put(access_->add_ring(1_KiB), "held");
    mood_.wait_until_held();
    const auto written = std::make_shared<Lines>();
    std::atomic<bool> called = false;
    Stream& first = writer_->add_stream("first", std::make_unique<CollectingSink>(written));
    Ring& ring = first.add_ring(1_KiB);
    Stream& second = writer_->add_stream("second", std::make_unique<Calling>([&] {
                                             put(ring, "late");
                                             writer_->end_stream(first);
                                             called = true;
                                         }));
    put(second.add_ring(1_KiB), "calls");
    mood_.set(Kind::willing);
    while (!called) std::this_thread::yield();
    writer_->stop();
    EXPECT_THAT(written->all(), ElementsAre("late"));
}

}  // namespace
}  // namespace tiderace::log
