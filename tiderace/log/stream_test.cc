#include "tiderace/log/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/log/logger.h"

namespace tiderace::log {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A sink that takes what its script allows, then everything.
class ScriptedSink final : public Sink {
  public:
    struct Script {
        std::vector<std::size_t>
            takes;  // bytes of each coming call; fewer than given is a full disk
        std::vector<std::string> taken;
        bool throws = false;
    };
    explicit ScriptedSink(Script& script) : script_(script) {}

    Written write(ByteView lines) override {
        if (script_.throws) throw std::runtime_error("no such table");
        std::size_t bytes = lines.size();
        if (!script_.takes.empty()) {
            bytes = std::min(bytes, script_.takes.front());
            script_.takes.erase(script_.takes.begin());
        }
        if (bytes != 0) script_.taken.emplace_back(lines.substr(0, bytes));
        if (bytes == lines.size()) return {bytes, std::nullopt};
        return {bytes, Error(ENOSPC, "write", "access.log")};
    }
    Result<> reopen() override { throw 1; }

  private:
    Script& script_;
};

class StreamTest : public ::testing::Test {
  protected:
    static void log(Ring& ring, ByteView line) {
        char* room = ring.reserve(line.size());
        ASSERT_NE(room, nullptr);
        std::memcpy(room, line.data(), line.size());
        ring.commit(line.size());
        ring.publish();
    }

    Doorbell bell_;
    ScriptedSink::Script script_;
    Stream stream_{"access", std::make_unique<ScriptedSink>(script_), bell_};
};

TEST_F(StreamTest, DrainsEveryRingAndThenIsEmpty) {
    Ring& first = stream_.add_ring(256);
    Ring& second = stream_.add_ring(256);
    log(first, "first\n");
    log(second, "second\n");
    EXPECT_FALSE(stream_.empty());
    const Stream::Drained drained = stream_.drain(1_KiB);
    EXPECT_TRUE(drained.some);
    EXPECT_FALSE(drained.left);
    EXPECT_TRUE(stream_.empty());
    EXPECT_THAT(script_.taken, ElementsAre("first\n", "second\n"));
    EXPECT_EQ(stream_.bytes_written(), 13U);
    EXPECT_FALSE(stream_.drain(1_KiB).some);
}

TEST_F(StreamTest, BatchesAreWholeLines) {
    Ring& ring = stream_.add_ring(256);
    for (const char* line : {"1234\n", "1234\n", "12\n", "a line longer than a batch\n", "x\n"}) {
        log(ring, line);
    }
    stream_.drain(10);
    EXPECT_THAT(script_.taken,
                ElementsAre("1234\n1234\n", "12\n", "a line longer than a batch\n", "x\n"));
}

TEST_F(StreamTest, RefusedBytesComeAgain) {
    Ring& ring = stream_.add_ring(256);
    log(ring, "one\n");
    script_.takes = {0};
    Stream::Drained drained = stream_.drain(1_KiB);
    EXPECT_FALSE(drained.some);
    EXPECT_TRUE(drained.left);
    EXPECT_FALSE(stream_.empty());
    EXPECT_EQ(stream_.troubles(), 1U);
    drained = stream_.drain(1_KiB);
    EXPECT_TRUE(drained.some);
    EXPECT_FALSE(drained.left);
    EXPECT_THAT(script_.taken, ElementsAre("one\n"));
    EXPECT_EQ(stream_.troubles(), 1U);
}

TEST_F(StreamTest, ALineTakenInPartIsEndedBeforeAnotherRingSpeaks) {
    Ring& first = stream_.add_ring(256);
    Ring& second = stream_.add_ring(256);
    log(second, "second\n");
    script_.takes = {3};
    EXPECT_TRUE(stream_.drain(1_KiB).left);
    log(first, "first\n");
    stream_.drain(1_KiB);
    EXPECT_THAT(script_.taken, ElementsAre("sec", "ond\n", "first\n"));
}

TEST_F(StreamTest, ASinkThatThrowsHasTakenNothing) {
    Ring& ring = stream_.add_ring(256);
    log(ring, "one\n");
    script_.throws = true;
    EXPECT_TRUE(stream_.drain(1_KiB).left);
    EXPECT_EQ(stream_.troubles(), 1U);
    EXPECT_THAT(script_.taken, IsEmpty());
    EXPECT_FALSE(stream_.reopen().has_value());
    script_.throws = false;
    stream_.drain(1_KiB);
    EXPECT_THAT(script_.taken, ElementsAre("one\n"));
}

TEST_F(StreamTest, AnyPatternOfRefusalsKeepsEveryByteInOrder) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Random random(seed);
        ScriptedSink::Script script;
        Stream stream("access", std::make_unique<ScriptedSink>(script), bell_);
        Ring& ring = stream.add_ring(256);
        std::string expected;
        for (int step = 0; step < 200; ++step) {
            const std::string line(random.below(40), static_cast<char>('a' + step % 26));
            if (char* room = ring.reserve(line.size() + 1); room != nullptr) {
                std::memcpy(room, (line + "\n").data(), line.size() + 1);
                ring.commit(line.size() + 1);
                ring.publish();
                expected += line + "\n";
            }
            script.takes.push_back(random.below(60));
            if (random.chance(2, 3)) stream.drain(64);
        }
        script.takes.clear();
        stream.drain(64);
        std::string taken;
        for (const std::string& piece : script.taken) taken += piece;
        ASSERT_EQ(taken, expected) << "seed " << seed;
    }
}

TEST_F(StreamTest, SumsTheDropsOfItsRings) {
    Ring& first = stream_.add_ring(64);
    Ring& second = stream_.add_ring(64);
    EXPECT_EQ(first.reserve(65), nullptr);
    EXPECT_EQ(second.reserve(65), nullptr);
    EXPECT_EQ(second.reserve(65), nullptr);
    EXPECT_EQ(stream_.dropped(), 3U);
}

TEST_F(StreamTest, TooManyRingsAbort) {
    for (std::size_t i = 0; i < Stream::rings_max; ++i) stream_.add_ring(1);
    EXPECT_DEATH(stream_.add_ring(1), "too many rings");
}

// Loops that lack memory at the same time fill the log no faster than one of them.
TEST_F(StreamTest, ItsLoggersShareTheLineASecondOfWhatComesOften) {
    struct Time final : TimeSource {
        std::int64_t unix_ms() override { return ms; }
        std::int64_t ms = 1'000'000;
    };
    Time time;
    Logger one(stream_.add_ring(4_KiB), time);
    Logger other(stream_.add_ring(4_KiB), time);
    EXPECT_EQ(one.may_log(Often::out_of_memory), 0U);
    EXPECT_EQ(other.may_log(Often::out_of_memory), std::nullopt);
    EXPECT_EQ(other.may_log(Often::exception), 0U) << "another kind";
    time.ms += 999;
    EXPECT_EQ(one.may_log(Often::out_of_memory), std::nullopt);
    time.ms += 1;
    EXPECT_EQ(other.may_log(Often::out_of_memory), 2U);
    EXPECT_EQ(one.may_log(Often::out_of_memory), std::nullopt);

    Stream elsewhere("elsewhere", std::make_unique<ScriptedSink>(script_), bell_);
    Logger apart(elsewhere.add_ring(4_KiB), time);
    EXPECT_EQ(apart.may_log(Often::out_of_memory), 0U);
}

}  // namespace
}  // namespace tiderace::log
