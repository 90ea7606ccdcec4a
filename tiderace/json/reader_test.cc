#include "tiderace/json/reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/json.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::json {
namespace {

struct Small {
    int a;
    std::string b;
};

template <typename T = Small>
std::string fault_of(std::string_view text, const Options& options = {}) {
    const auto result = json::read<T>(text, options);
    return result ? "none"
                  : std::string(to_string(result.error().kind())) + ": " + result.error().message();
}

using Numbers = std::vector<double>;

TEST(JsonReader, RefusesMoreBytesThanAllowed) {
    EXPECT_EQ(fault_of<Numbers>("[1,2]", {.size_bytes_max = 5}), "none");
    EXPECT_EQ(fault_of<Numbers>("[1,2]", {.size_bytes_max = 4}),
              "too_large: more than 4 bytes (byte 4)");
}

TEST(JsonReader, RefusesMoreLevelsThanAllowed) {
    const auto nested = [](std::size_t levels) {
        return "{\"a\":1,\"b\":\"\",\"c\":" + std::string(levels - 1, '[') +
               std::string(levels - 1, ']') + "}";
    };
    const Options ignore = {.unknown = Unknown::ignore};
    EXPECT_EQ(fault_of(nested(64), ignore), "none");
    EXPECT_EQ(fault_of(nested(65), ignore), "too_deep: too many levels (byte 81)");
    EXPECT_TRUE(fault_of(nested(10'000), ignore).starts_with("too_deep"));
    EXPECT_TRUE(fault_of(std::string(10'000, '['), ignore).starts_with("too_deep"));
    EXPECT_TRUE(fault_of(nested(1025), {.depth_max = 1 << 20, .unknown = Unknown::ignore})
                    .starts_with("too_deep"))
        << "the stack has its limit, whatever the options";
    EXPECT_EQ(fault_of(nested(1024), {.depth_max = 1 << 20, .unknown = Unknown::ignore}), "none");
}

// Reads while its nth allocation fails, and then again, as the thread's next request would. False:
// there are fewer.
bool reads_after_failing(std::uint64_t nth, const std::string& text) {
    const Options options = {.depth_max = 8};
    bool failed = false;
    bool refused = false;  // for lack of memory, which is no fault of the text
    {
        const testing::ScarceMemory scarce(nth);
        try {
            refused = !json::read<std::string>(text, options);
        } catch (const std::bad_alloc&) {
        }
        failed = scarce.failed();
    }
    EXPECT_FALSE(refused) << nth;
    const auto again = json::read<std::string>(text, options);
    EXPECT_TRUE(again && again->size() == text.size() - 2) << "after failure " << nth;
    EXPECT_EQ(fault_of<Numbers>("[[[[[[[[[]]]]]]]]]", options),
              "too_deep: too many levels (byte 8)")
        << "after failure " << nth;
    return failed;
}

// Each in a thread of its own, because a thread keeps its parser.
TEST(JsonReader, ReadsOnWhereMemoryRanOut) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    for (const std::size_t size : {10, 100'000}) {
        bool failed = true;
        for (std::uint64_t nth = 1; failed && nth < 100; ++nth) {
            std::thread([&] {
                failed = reads_after_failing(nth, '"' + std::string(size, 'a') + '"');
            }).join();
        }
        EXPECT_FALSE(failed) << "not all were tried";
    }
}

TEST(JsonReader, RefusesMoreElementsThanAllowed) {
    EXPECT_EQ(fault_of<Numbers>("[1,2,3]", {.elements_max = 3}), "none");
    EXPECT_EQ(fault_of<Numbers>("[1,2,3]", {.elements_max = 2}),
              "content: more than 2 elements (byte 0)");
    using Rows = std::vector<std::vector<int>>;
    EXPECT_EQ(fault_of<Rows>("[[1],[2],[3]]", {.elements_max = 6}), "none");
    EXPECT_EQ(fault_of<Rows>("[[1],[2],[3]]", {.elements_max = 3}),
              "content: [1]: more than 3 elements (byte 5)");
}

TEST(JsonReader, NamesWhereATextIsNotJson) {
    EXPECT_EQ(fault_of("{\"a\":1,\"b\":\"x\"} x"),
              "syntax: expected the end of the text (byte 16)");
    EXPECT_EQ(fault_of(""), "syntax: expected a value (byte 0)");
    EXPECT_EQ(fault_of(std::string_view()), "syntax: expected a value (byte 0)");
    EXPECT_EQ(fault_of("  "), "syntax: expected a value (byte 2)");
    EXPECT_EQ(fault_of("{\"a\":01}"), "syntax: expected ',' or '}' after the member (byte 6)");
    EXPECT_EQ(fault_of("{\"a\":1,}"), "syntax: expected a member's name in quotes (byte 7)");
    EXPECT_EQ(fault_of("\"\xFF\""), "syntax: not UTF-8 (byte 1)");
    EXPECT_EQ(fault_of(R"({"a":1,"b":"\ud800"})"), "syntax: half of a surrogate pair (byte 12)");
    EXPECT_EQ(fault_of(R"({"a":1,"b":"\udc00"})"), "syntax: half of a surrogate pair (byte 12)");
    EXPECT_EQ(fault_of(R"({"a":1,"\udc00":"x"})"), "syntax: half of a surrogate pair (byte 8)");
    EXPECT_EQ(fault_of<Numbers>("[1e999]"),
              "syntax: a number beyond what a double can hold (byte 1)");
}

TEST(JsonReader, RefusesATextCutAnywhere) {
    const std::string_view text =
        R"({"a": -12, "b": "\u00e9\ud83d\ude00é", "c": [1.5e3, true, null, {"d": {}}]})";
    const Options ignore = {.unknown = Unknown::ignore};
    ASSERT_EQ(fault_of(text, ignore), "none");
    for (std::size_t size = 0; size < text.size(); ++size) {
        // In memory that ends there, so that a sanitizer notices a read beyond it.
        const std::vector<char> cut(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_TRUE(fault_of({cut.data(), cut.size()}, ignore).starts_with("syntax")) << size;
    }
}

TEST(JsonReader, IgnoresOnlyWhatIsJson) {
    const Options ignore = {.unknown = Unknown::ignore};
    EXPECT_EQ(fault_of(R"({"a":1,"c":[1,{"d":"\n"}],"b":""})", ignore), "none");
    EXPECT_TRUE(fault_of(R"({"a":1,"c":[1,{"d":"\x"}],"b":""})", ignore).starts_with("syntax"));
    EXPECT_TRUE(fault_of(R"({"a":1,"c":nul,"b":""})", ignore).starts_with("syntax"));
    EXPECT_EQ(fault_of(R"({"a":1,"c":2,"b":""})"), "content: c: is not a known member (byte 11)");
}

TEST(JsonReader, RefusesMembersThatComeTwice) {
    EXPECT_EQ(fault_of(R"({"a":1,"b":"","a":2})"), "content: a: appears twice (byte 18)");
    EXPECT_EQ(fault_of(R"({"a":1,"b":"","\u0061":2})"), "content: a: appears twice (byte 23)");
}

TEST(JsonReader, TakesIntegersBeyond64BitsForNumbers) {
    const auto read = json::read<Numbers>(
        R"([100000000000000000000, -123456789012345678901234567890, 18446744073709551615, 1,)"
        "1000000000000000000000.5,10000000000000000000000e-3]");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, (Numbers{1e20, -123456789012345678901234567890.0, 18446744073709551615.0, 1,
                              1e21, 1e19}));
    EXPECT_EQ(fault_of<std::vector<std::string>>(
                  R"(["100000000000000000000", "\"", 100000000000000000000])"),
              "content: [2]: expected a string, found 1e+20 (byte 32)");
    EXPECT_EQ(
        fault_of(R"({"a":100000000000000000000,"b":""})"),
        "content: a: expected an integer from -2147483648 to 2147483647, found 1e+20 (byte 5)");
}

struct Row {
    std::int64_t least;
    std::uint64_t most;
    std::vector<std::int64_t> ids;
    double x;
};

TEST(JsonReader, AnIntegerBeyond64BitsLeavesTheOthersAsTheyAre) {
    const auto read = json::read<Row>(
        R"({"least":-9223372036854775808,"most":18446744073709551615,)"
        R"("ids":[1234567890123456789,9223372036854775807,-0],"x":100000000000000000000})");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->least, INT64_MIN);
    EXPECT_EQ(read->most, UINT64_MAX);
    EXPECT_EQ(read->ids, (std::vector<std::int64_t>{1234567890123456789, INT64_MAX, 0}));
    EXPECT_EQ(read->x, 1e20);
    // One below and one above what 64 bits hold.
    EXPECT_EQ(json::read<Numbers>("[-9223372036854775809,18446744073709551616]").value(),
              (Numbers{-9223372036854775809.0, 18446744073709551616.0}));
}

TEST(JsonReader, NamesNoMoreFaultsThanItsLimit) {
    std::string text = "[";
    for (int i = 0; i < 100; ++i) text += "true,";
    text.back() = ']';
    const auto result = json::read<Numbers>(text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().faults().size(), faults_max);
    EXPECT_EQ(result.error().faults().back().path, "[15]");
}

TEST(JsonReader, KeepsNothingOfTheTextBefore) {
    // A long text, then a short one in the same parser; then one within another's validate().
    std::string text = "[" + std::string(50'000, ' ') + "1]";
    EXPECT_EQ(fault_of<Numbers>(text), "none");
    EXPECT_EQ(fault_of<Numbers>("[1,2,3]"), "none");
    EXPECT_EQ(fault_of<Numbers>("[1,2"), "syntax: expected ',' or ']' after the element (byte 4)");
    EXPECT_EQ(fault_of<Numbers>("[]"), "none");
    EXPECT_EQ(fault_of<Numbers>("[[1]]", {.depth_max = 1}), "too_deep: too many levels (byte 1)");
    EXPECT_EQ(fault_of<std::vector<Numbers>>("[[1]]"), "none");
}

struct Open {
    static constexpr Unknown unknown_members = Unknown::ignore;
    int a;
};
struct Closed {
    static constexpr Unknown unknown_members = Unknown::refuse;
    int a;
};
struct Both {
    Open open;
    Closed closed;
    std::optional<Small> other;
};
struct Coincidence {
    std::string unknown_members;
};

TEST(JsonReader, AStructDecidesAboutItsUnknownMembers) {
    constexpr Options ignore = {.unknown = Unknown::ignore};
    EXPECT_EQ(fault_of<Open>(R"({"a":1,"b":2})"), "none");
    EXPECT_EQ(fault_of<Closed>(R"({"a":1,"b":2})", ignore),
              "content: b: is not a known member (byte 11)");
    const std::string_view one_each =
        R"({"open":{"a":1,"x":2},"closed":{"a":1},"other":{"a":1,"b":"","y":2}})";
    EXPECT_EQ(fault_of<Both>(one_each), "content: other.y: is not a known member (byte 65)");
    EXPECT_EQ(fault_of<Both>(one_each, ignore), "none");
    EXPECT_EQ(fault_of<Both>(R"({"open":{"a":1},"closed":{"a":1},"z":{"x":1}})"),
              "content: z: is not a known member (byte 37)");
    // The constant is no member of the JSON, and a member of that name is no constant.
    EXPECT_EQ(json::write(Open{1}), R"({"a":1})");
    EXPECT_EQ(fault_of<Coincidence>(R"({"unknown_members":"x"})"), "none");
    EXPECT_EQ(fault_of<Coincidence>(R"({"unknown_members":"x","y":1})"),
              "content: y: is not a known member (byte 27)");
}

struct Nested {
    std::string text;
    std::optional<std::string> validate() const {
        const auto inner = json::read<Numbers>(text);
        if (!inner) return "text: " + inner.error().message();
        return std::nullopt;
    }
};

TEST(JsonReader, ReadsWithinAValidate) {
    EXPECT_EQ(fault_of<std::vector<Nested>>(R"([{"text":"[1]"},{"text":"[2]"}])"), "none");
    EXPECT_EQ(fault_of<std::vector<Nested>>(R"([{"text":"["},{"text":"[2]"}])"),
              "content: [0]: text: expected a value (byte 1) (byte 1)");
}

}  // namespace
}  // namespace tiderace::json
