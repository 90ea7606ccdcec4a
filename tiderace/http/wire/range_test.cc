#include "tiderace/http/wire/range.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

constexpr std::uint64_t max = std::numeric_limits<std::uint64_t>::max();

// "0-4,7-9", "ignore" or "unsatisfiable".
std::string read(ByteView value, std::uint64_t size) {
    const RangeResult result = parse_range(value, size);
    if (result.kind == RangeResult::Kind::ignore) return "ignore";
    if (result.kind == RangeResult::Kind::unsatisfiable) return "unsatisfiable";
    std::string text;
    for (const ByteRange& range : result.ranges) {
        if (!text.empty()) text += ',';
        text += std::to_string(range.first) + '-' + std::to_string(range.last);
    }
    return text;
}

TEST(Range, ReadsTheRangesOfTheStandard) {
    EXPECT_EQ(read("bytes=0-499", 10000), "0-499");
    EXPECT_EQ(read("bytes=500-999", 10000), "500-999");
    EXPECT_EQ(read("bytes=-500", 10000), "9500-9999");
    EXPECT_EQ(read("bytes=9500-", 10000), "9500-9999");
    EXPECT_EQ(read("bytes=0-0,-1", 10000), "0-0,9999-9999");
    EXPECT_EQ(read("bytes= 0-999, 4500-5499, -1000", 10000), "0-999,4500-5499,9000-9999");
    EXPECT_EQ(read("bytes=500-600,601-999", 10000), "500-999");
    EXPECT_EQ(read("bytes=500-700,601-999", 10000), "500-999");
}

TEST(Range, EndsARangeWhereTheFileEnds) {
    EXPECT_EQ(read("bytes=0-99", 10), "0-9");
    EXPECT_EQ(read("bytes=9-9", 10), "9-9");
    EXPECT_EQ(read("bytes=9-", 10), "9-9");
    EXPECT_EQ(read("bytes=-10", 10), "0-9");
    EXPECT_EQ(read("bytes=-11", 10), "0-9");
}

TEST(Range, ReportsThatNoRequestedPartExists) {
    EXPECT_EQ(read("bytes=10-", 10), "unsatisfiable");
    EXPECT_EQ(read("bytes=10-20", 10), "unsatisfiable");
    EXPECT_EQ(read("bytes=-0", 10), "unsatisfiable");
    EXPECT_EQ(read("bytes=10-,20-30,-0", 10), "unsatisfiable");
    EXPECT_EQ(read("bytes=0-", 0), "unsatisfiable");
    EXPECT_EQ(read("bytes=0-0", 0), "unsatisfiable");
}

TEST(Range, LeavesOutWhatIsNotThereAmongWhatIs) {
    EXPECT_EQ(read("bytes=10-20,3-4,-0", 10), "3-4");
}

TEST(Range, IgnoresASuffixOfNothing) {
    EXPECT_EQ(read("bytes=-5", 0), "ignore");
    EXPECT_EQ(read("bytes=-0", 0), "ignore");
}

TEST(Range, IgnoresWhatItDoesNotUnderstand) {
    const ByteView cases[] = {
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=--1",
        "bytes=a-b",
        "bytes=0",
        "bytes=0-1-2",
        "bytes=5-4",
        "bytes 0-1",
        "bytes =0-1",
        " bytes=0-1",
        "items=0-1",
        "bytes=0 -1",
        "bytes=0- 1",
        "bytes=+0-1",
        "bytes=0x0-1",
        "bytes=0-1;2-3",
        "bytes=1-0,0-1",
        "bytes=0-1,x",
        "bytes=\"0-1\"",
        "bytes=0-1,\"",
        "bytes=0-1 2-3",
        "bytes=-1-",
        "bytes=1.0-2",
        "none",
        "bytes=*/10",
    };
    for (const ByteView value : cases) {
        EXPECT_EQ(read(value, 10), "ignore") << value;
    }
    EXPECT_EQ(read(ByteView("bytes=0\0-1", 10), 10), "ignore");
}

TEST(Range, TakesTheUnitInAnyCaseAndListsWithGaps) {
    EXPECT_EQ(read("Bytes=0-1", 10), "0-1");
    EXPECT_EQ(read("BYTES=0-1", 10), "0-1");
    EXPECT_EQ(read("bytes=,0-1 ,, \t5-6,", 10), "0-1,5-6");
}

TEST(Range, SurvivesNumbersLargerThanAnyFile) {
    EXPECT_EQ(read("bytes=0-18446744073709551615", 10), "0-9");
    EXPECT_EQ(read("bytes=0-18446744073709551616", 10), "0-9");
    EXPECT_EQ(read("bytes=0-99999999999999999999999999", 10), "0-9");
    EXPECT_EQ(read("bytes=-18446744073709551616", 10), "0-9");
    EXPECT_EQ(read("bytes=9223372036854775808-", 10), "unsatisfiable");
    EXPECT_EQ(read("bytes=18446744073709551616-", 10), "unsatisfiable");
    EXPECT_EQ(read("bytes=0-", max), "0-18446744073709551614");
    EXPECT_EQ(read("bytes=18446744073709551614-18446744073709551615", max),
              "18446744073709551614-18446744073709551614");
    EXPECT_EQ(read("bytes=18446744073709551615-", max), "unsatisfiable");
    EXPECT_EQ(read("bytes=00000000000000000000000000000001-2", 10), "1-2");
    EXPECT_EQ(read("bytes=0-9223372036854775806,0-9223372036854775806,1-", max - 1),
              "0-18446744073709551613");
    EXPECT_EQ(read("bytes=1-,0-", max), "ignore");
}

TEST(Range, JoinsRangesThatAscendAndOverlapOrTouch) {
    EXPECT_EQ(read("bytes=0-1,1-2", 10), "0-2");
    EXPECT_EQ(read("bytes=0-1,2-3", 10), "0-3");
    EXPECT_EQ(read("bytes=0-1,3-4", 10), "0-1,3-4");
    EXPECT_EQ(read("bytes=0-9,2-3", 10), "0-9");
    EXPECT_EQ(read("bytes=0-,0-,0-", 10), "0-9");
    EXPECT_EQ(read("bytes=0-4,-5", 10), "0-9");
}

TEST(Range, KeepsTheOrderOfRangesThatDoNotAscend) {
    EXPECT_EQ(read("bytes=5-6,0-1", 10), "5-6,0-1");
    EXPECT_EQ(read("bytes=5-6,3-5", 10), "5-6,3-5");
}

TEST(Range, IgnoresASetThatIsMoreThanTheFile) {
    EXPECT_EQ(read("bytes=1-9,0-9", 10), "ignore");
    EXPECT_EQ(read("bytes=5-9,0-4", 10), "5-9,0-4");
    EXPECT_EQ(read("bytes=5-9,0-5", 10), "ignore");
}

std::string many(std::size_t count, std::size_t step) {
    std::string value = "bytes=";
    for (std::size_t i = 0; i < count; ++i) {
        const std::string at = std::to_string(i * step);
        value += (i ? "," : "") + at + "-" + at;
    }
    return value;
}

TEST(Range, IgnoresMoreRangesThanItsLimitWhateverTheyAre) {
    EXPECT_EQ(parse_range(many(ranges_max, 2), 1000).ranges.size(), ranges_max);
    EXPECT_EQ(read(many(ranges_max + 1, 2), 1000), "ignore");
    EXPECT_EQ(read(many(ranges_max + 1, 1), 1000), "ignore");
    EXPECT_EQ(read(many(5000, 2), 100'000), "ignore");
    EXPECT_EQ(read(many(ranges_max + 1, 2), 1), "ignore");
}

TEST(Range, EveryRangeLiesInsideTheFileAndTheirSumIsNotMore) {
    constexpr std::array<ByteView, 16> pieces = {"0",  "1", "7", "9", "10",
                                                 "99", "-", "-", "-", ",",
                                                 ",",  " ", "5", "3", "18446744073709551616",
                                                 "x"};
    int satisfiable = 0;
    for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
        Random random(seed);
        std::string value = "bytes=";
        for (std::uint64_t n = random.below(16); n > 0; --n) {
            value += pieces[random.chance(1, 10) ? random.below(16) : random.below(12)];
        }
        const std::uint64_t size = random.below(20);
        const RangeResult result = parse_range(value, size);
        SCOPED_TRACE("seed " + std::to_string(seed) + " " + value);
        ASSERT_EQ(result.kind == RangeResult::Kind::satisfiable, !result.ranges.empty());
        satisfiable += !result.ranges.empty();
        std::uint64_t sum = 0;
        for (const ByteRange& range : result.ranges) {
            ASSERT_LE(range.first, range.last);
            ASSERT_LT(range.last, size);
            sum += range.bytes();
        }
        ASSERT_LE(sum, size);
    }
    EXPECT_GT(satisfiable, 500);
}

TEST(Range, EveryPrefixIsReadWithinItsBounds) {
    const std::string value = "bytes=0-1, 3-4 ,-1";
    for (std::size_t size = 0; size <= value.size(); ++size) {
        const std::vector<char> exact(value.begin(), value.begin() + size);  // asan sees one past
        const ByteView view(exact.data(), exact.size());
        EXPECT_EQ(read(view, 10) == "0-1,3-4,9-9", size == value.size());
    }
}

TEST(ContentRange, IsWrittenForBothAnswers) {
    const auto part = format_content_range({0, 9}, 100);
    EXPECT_EQ(part.view(), "bytes 0-9/100");
    const auto none = format_unsatisfied_range(100);
    EXPECT_EQ(none.view(), "bytes */100");
    EXPECT_EQ(format_content_range({max, max}, max).size(), 68u);
}

TEST(Multipart, FramesEachRange) {
    RangeSet ranges;
    ranges.add({500, 999});
    ranges.add({7000, 7999});
    const MultipartRanges parts(ranges, 8000, "application/pdf", "THIS_STRING_SEPARATES");
    const auto first = parts.piece(0), second = parts.piece(1), tail = parts.piece(2);
    EXPECT_EQ(first.view(),
              "--THIS_STRING_SEPARATES\r\nContent-Type: application/pdf\r\n"
              "Content-Range: bytes 500-999/8000\r\n\r\n");
    EXPECT_EQ(second.view(),
              "\r\n--THIS_STRING_SEPARATES\r\nContent-Type: application/pdf\r\n"
              "Content-Range: bytes 7000-7999/8000\r\n\r\n");
    EXPECT_EQ(tail.view(), "\r\n--THIS_STRING_SEPARATES--\r\n");
    EXPECT_EQ(parts.content_length(), first.size() + 500 + second.size() + 1000 + tail.size());
}

TEST(Multipart, LeavesOutATypeThatIsNotKnown) {
    RangeSet ranges;
    ranges.add({0, 0});
    const auto piece = MultipartRanges(ranges, 1, "", "b").piece(0);
    EXPECT_EQ(piece.view(), "--b\r\nContent-Range: bytes 0-0/1\r\n\r\n");
}

TEST(Multipart, HoldsTheLongestPiece) {
    RangeSet ranges;
    ranges.add({max - 2, max - 1});
    ranges.add({max - 1, max - 1});
    const std::string type(MultipartRanges::type_bytes_max, 't');
    const std::string boundary(MultipartRanges::boundary_bytes_max, 'b');
    const auto piece = MultipartRanges(ranges, max, type, boundary).piece(0);
    EXPECT_LE(piece.size() + 2, 320u);
}

TEST(MultipartDeathTest, RefusesWhatCouldNotBeFramed) {
    RangeSet none, one;
    one.add({0, 0});
    const std::string long_type(MultipartRanges::type_bytes_max + 1, 't');
    const std::string long_boundary(MultipartRanges::boundary_bytes_max + 1, 'b');
    EXPECT_DEATH(MultipartRanges(none, 1, "", "b"), "no parts");
    EXPECT_DEATH(MultipartRanges(one, 1, long_type, "b"), "content type");
    EXPECT_DEATH(MultipartRanges(one, 1, "", ""), "boundary");
    EXPECT_DEATH(MultipartRanges(one, 1, "", long_boundary), "boundary");
    EXPECT_DEATH(MultipartRanges(one, 1, "", "b").piece(2), "no such part");
}

}  // namespace
}  // namespace tiderace::http::wire
