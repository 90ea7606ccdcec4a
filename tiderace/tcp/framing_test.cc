#include "tiderace/tcp/framing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tiderace::tcp {
namespace {

using namespace std::string_literals;
using Frames = std::vector<std::string>;

// Every frame of `input`, which comes in two pieces, cut at `split`; "!" for one that is too long.
template <typename F>
Frames frames_of(const F& framing, const std::string& input, std::size_t split) {
    Frames frames;
    std::string held;
    std::size_t seen = 0;
    for (const std::string& piece : {input.substr(0, split), input.substr(split)}) {
        held += piece;
        while (true) {
            const Found found = framing(held, seen);
            if (found.state == Found::State::too_long) {
                frames.push_back("!");
                return frames;
            }
            seen = found.seen;
            EXPECT_LE(seen, held.size());
            if (found.state == Found::State::more) break;
            frames.emplace_back(found.frame);
            held.erase(0, found.used);
            seen = 0;
        }
    }
    return frames;
}

template <typename F>
void expect_at_every_split(const F& framing, const std::string& input, const Frames& wanted) {
    for (std::size_t split = 0; split <= input.size(); ++split) {
        EXPECT_EQ(frames_of(framing, input, split), wanted) << "cut at " << split;
    }
}

TEST(Framing, LinesEndInEitherWay) {
    expect_at_every_split(Line{}, "one\r\ntwo\n\n\r\na\rb\nrest", {"one", "two", "", "", "a\rb"});
}

TEST(Framing, ALineHasAMaximum) {
    expect_at_every_split(Line{.bytes_max = 3}, "abc\r\nabc\nabcd\n", {"abc", "abc", "!"});
    expect_at_every_split(Line{.bytes_max = 3}, "abcd\r\n", {"!"});
    EXPECT_EQ(frames_of(Line{.bytes_max = 3}, "abcde", 0), Frames{"!"}) << "without an end";
    EXPECT_EQ(frames_of(Line{.bytes_max = 3}, "abc\r", 0), Frames{});
}

TEST(Framing, DelimitersMayComeInPieces) {
    expect_at_every_split(Delimiter{.mark = "--x"}, "a--x---x--x", {"a", "-", ""});
    expect_at_every_split(Delimiter{.mark = "--x", .bytes_max = 2}, "ab--xabc--x", {"ab", "!"});
    EXPECT_EQ(frames_of(Delimiter{.mark = "--x", .bytes_max = 2}, "ab--", 0), Frames{});
    EXPECT_EQ(frames_of(Delimiter{.mark = "--x", .bytes_max = 2}, "abc--", 0), Frames{"!"});
}

TEST(Framing, FixedOnesAreAllOfOneLength) {
    expect_at_every_split(Fixed{2}, "aabbc", {"aa", "bb"});
}

TEST(Framing, LengthFieldsOfAllKinds) {
    expect_at_every_split(LengthField{.field_bytes = 1}, "\3abc\0\1x"s, {"abc", "", "x"});
    expect_at_every_split(LengthField{.field_bytes = 2}, "\0\3abc\0\0"s, {"abc", ""});
    expect_at_every_split(LengthField{.field_bytes = 2, .little_endian = true}, "\3\0abc"s,
                          {"abc"});
    expect_at_every_split(LengthField{.field_bytes = 4, .counts_itself = true}, "\0\0\0\7abc"s,
                          {"abc"});
    expect_at_every_split(LengthField{.field_bytes = 8}, "\0\0\0\0\0\0\0\1x"s, {"x"});
}

TEST(Framing, ALengthAboveTheMaximumIsSeenBeforeItsBytes) {
    EXPECT_EQ(frames_of(LengthField{.bytes_max = 10}, "\0\0\0\013"s, 0), Frames{"!"});
    EXPECT_EQ(frames_of(LengthField{.field_bytes = 8}, std::string(8, '\xff'), 0), Frames{"!"});
    EXPECT_EQ(frames_of(LengthField{.counts_itself = true}, "\0\0\0\3"s, 0), Frames{"!"})
        << "shorter than itself";
}

TEST(Framing, AnyTakesWhatIsThere) {
    EXPECT_EQ(frames_of(Any{}, "abc", 1), (Frames{"a", "bc"}));
}

TEST(Framing, AMaximumMayBeNone) {
    expect_at_every_split(Line{.bytes_max = SIZE_MAX}, "one\r\ntwo\n", {"one", "two"});
    expect_at_every_split(Delimiter{.mark = "--", .bytes_max = SIZE_MAX}, "one--", {"one"});
    expect_at_every_split(LengthField{.field_bytes = 8, .bytes_max = SIZE_MAX},
                          std::string(7, '\0') + "\3one", {"one"});
}

}  // namespace
}  // namespace tiderace::tcp
