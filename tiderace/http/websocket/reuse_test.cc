// Objects that all sockets of a loop use in turn keep nothing of the last message: the next
// peer's is read and written as by a stream that was never used.
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/http/websocket/service.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::http {
namespace {

using Outcome = wire::WebSocketInflater::Outcome;

const std::string pattern = "pattern of another peer's message, which nobody else may read";

template <std::size_t count>
std::string octets(const char (&text)[count]) {
    return {text, count - 1};
}

std::string noise(std::size_t bytes) {
    Random random(5);
    std::string out(bytes, '\0');
    for (char& c : out) c = static_cast<char>(random.below(256));
    return out;
}

std::string compressed(wire::WebSocketDeflater& deflater, ByteView message, bool keep = false) {
    std::string out;
    deflater.compress(message, keep, out);
    return out;
}

// A message that refers to `pattern`, as the second of a stream that keeps its context.
std::string reference_to_pattern() {
    wire::WebSocketDeflater deflater(15, 6);
    compressed(deflater, pattern, true);
    std::string second = compressed(deflater, pattern, true);
    EXPECT_LT(second.size(), 10U);
    return second;
}

// It fails, having given no more than the letters that are in it.
std::pair<Outcome, std::string> read_freshly(ByteView payload) {
    std::string out;
    const Outcome outcome = wire::WebSocketInflater().decompress(payload, false, 1'000'000, out);
    EXPECT_EQ(outcome, Outcome::malformed);
    EXPECT_LT(out.size(), 5U);
    return {outcome, out};
}

class WebSocketReuse : public ::testing::Test {
  protected:
    // Its form by a stream of the service, with its scratch.
    std::pair<Outcome, std::string> read(ByteView payload, std::size_t bytes_max = 1'000'000) {
        std::string& out = service_.inflate_scratch();
        EXPECT_TRUE(out.empty());
        const Outcome outcome = service_.inflater().decompress(payload, false, bytes_max, out);
        return {outcome, out};
    }
    void expect_that_nothing_is_left_to_read() {
        EXPECT_EQ(read(reference_), fresh_);
        wire::WebSocketDeflater deflater(15, 6);
        EXPECT_EQ(read(compressed(deflater, "hello")), std::pair(Outcome::whole, octets("hello")));
    }

    testing::FakeWorld world_;
    WebSocketService service_{world_.loop(), {}};
    const std::string reference_ = reference_to_pattern();
    const std::pair<Outcome, std::string> fresh_ = read_freshly(reference_);
};

TEST_F(WebSocketReuse, TheInflaterKeepsNothingHoweverAMessageEnded) {
    wire::WebSocketDeflater deflater(15, 6);
    const std::string whole = compressed(deflater, pattern);
    const std::string large = compressed(deflater, pattern + std::string(100'000, 'x') + pattern);
    EXPECT_EQ(read(whole), std::pair(Outcome::whole, pattern));
    expect_that_nothing_is_left_to_read();
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        read(ByteView(whole).substr(0, cut));
        expect_that_nothing_is_left_to_read();
    }
    for (const std::string& end :
         {octets("\x03\x00"), octets("\x07"), octets("\x01\x00\x00\xff\xff")}) {
        read(whole + octets("\x00\x00\xff\xff") + end);
        expect_that_nothing_is_left_to_read();
    }
    for (const std::size_t bytes_max : {0U, 1U, 60U, 1'000U, 99'999U}) {
        EXPECT_EQ(read(large, bytes_max).first, Outcome::too_large);
        expect_that_nothing_is_left_to_read();
    }
}

TEST_F(WebSocketReuse, TheInflaterKeepsNothingOfAMessageThatMemoryWasLackingFor) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    wire::WebSocketDeflater deflater(15, 6);
    const std::string large = compressed(deflater, pattern + noise(300'000) + pattern);
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        std::string().swap(service_.inflate_scratch());
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            try {
                service_.inflater().decompress(large, false, 1'000'000, service_.inflate_scratch());
            } catch (const std::bad_alloc&) {
                failed = true;
            }
        }
        expect_that_nothing_is_left_to_read();
        return failed;
    });
    EXPECT_GE(calls, 3U);
}

TEST_F(WebSocketReuse, TheDeflaterWritesAsOneThatIsNew) {
    const std::vector<std::string> messages{"", "hello", pattern, noise(200'000),
                                            std::string(300'000, 'x')};
    for (const int bits : {9, 12, 15}) {
        for (const std::string& one : messages) {
            compressed(service_.deflater(bits), one);
            for (const std::string& probe : messages) {
                wire::WebSocketDeflater fresh(bits, service_.options().deflate_level);
                EXPECT_TRUE(compressed(service_.deflater(bits), probe) == compressed(fresh, probe))
                    << bits << ' ' << one.size() << ' ' << probe.size();
            }
        }
    }
}

TEST_F(WebSocketReuse, TheDeflaterKeepsNothingOfAMessageThatMemoryWasLackingFor) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const std::string large = pattern + noise(300'000) + pattern;
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        std::string().swap(service_.deflate_scratch());
        service_.deflater(15);
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            try {
                service_.deflater(15).compress(large, false, service_.deflate_scratch());
            } catch (const std::bad_alloc&) {
                failed = true;
            }
        }
        EXPECT_TRUE(service_.deflate_scratch().empty());
        wire::WebSocketDeflater fresh(15, service_.options().deflate_level);
        const std::string next = compressed(service_.deflater(15), pattern);
        EXPECT_TRUE(next == compressed(fresh, pattern)) << nth;
        EXPECT_EQ(read(next), std::pair(Outcome::whole, pattern)) << nth;
        return failed;
    });
    EXPECT_GE(calls, 2U);
}

}  // namespace
}  // namespace tiderace::http
