#include "tiderace/json.h"

// The example of the header, which includes what it needs.
#define main json_example_main
#include "json_example.h"
#undef main

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <variant>

#include "tiderace/base/random.h"

namespace tiderace::json {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::sys_time;

enum class Mood { calm, rough = 3, stormy };
enum class Level : std::uint8_t { low, high };

}  // namespace

template <>
inline constexpr bool enum_as_number<Level> = true;

namespace {

struct Circle {
    double radius;
    bool operator==(const Circle&) const = default;
};
struct Square {
    double side;
    bool operator==(const Square&) const = default;
};
struct Even : Checked<int> {
    using Checked::Checked;
    static bool holds(int value) { return value % 2 == 0; }
    static std::string expected() { return "an even number"; }
};
struct Inner {
    std::int8_t small;
    std::vector<std::string> words;
    bool operator==(const Inner&) const = default;
};
struct Everything {
    bool flag;
    std::int8_t i8;
    std::uint8_t u8;
    std::int16_t i16;
    std::uint16_t u16;
    std::int32_t i32;
    std::uint32_t u32;
    std::int64_t i64;
    std::uint64_t u64;
    float f32;
    double f64;
    std::string text;
    Mood mood;
    Level level;
    sys_time<seconds> at;
    sys_time<nanoseconds> finely;
    std::vector<Inner> list;
    std::deque<bool> flags;
    std::list<double> numbers;
    std::array<std::uint16_t, 3> three;
    std::map<std::string, Inner> by_name;
    std::optional<int> maybe;
    std::optional<Inner> maybe_inner;
    std::variant<bool, std::int64_t, std::string, std::vector<int>, Inner> untagged;
    std::variant<Circle, Square, Level> tagged;
    Inner inner;
    Range<int, -5, 5> range;
    Length<std::string, 0, 20> length;
    Default<std::vector<int>> with_default;
    bool operator==(const Everything&) const = default;
};

std::string random_text(Random& random) {
    constexpr std::string_view pieces[] = {
        "a", "Z",    "\"",     "\\", "\n",  std::string_view("\0", 1), "é", "€", "😀",
        "/", "\x7f", "\u2028", "{",  "word"};
    std::string text;
    for (std::uint64_t i = random.below(20); i > 0; --i) text += pieces[random.below(14)];
    return text;
}

double random_number(Random& random) {
    while (true) {
        const std::uint64_t bits = random.next();
        double value = 0;
        std::memcpy(&value, &bits, sizeof value);
        if (random.chance(1, 4)) value = static_cast<double>(static_cast<std::int64_t>(bits));
        if (random.chance(1, 8)) value = -0.0;
        if (std::isfinite(value)) return value;
    }
}

Inner random_inner(Random& random) {
    Inner made{static_cast<std::int8_t>(random.next()), {}};
    for (std::uint64_t i = random.below(3); i > 0; --i) made.words.push_back(random_text(random));
    return made;
}

void fill_numbers(Everything& made, Random& random) {
    made.flag = random.chance(1, 2);
    made.i8 = static_cast<std::int8_t>(random.next());
    made.u8 = static_cast<std::uint8_t>(random.next());
    made.i16 = static_cast<std::int16_t>(random.next());
    made.u16 = static_cast<std::uint16_t>(random.next());
    made.i32 = static_cast<std::int32_t>(random.next());
    made.u32 = static_cast<std::uint32_t>(random.next());
    made.i64 = static_cast<std::int64_t>(random.next() >> random.below(64));
    made.u64 = random.next() >> random.below(64);
    made.f32 = static_cast<float>(random.below(1'000'000)) / 7.0f;
    made.f64 = random_number(random);
    made.mood = random.chance(1, 2) ? Mood::rough : Mood::stormy;
    made.level = random.chance(1, 2) ? Level::low : Level::high;
    made.at = sys_time<seconds>(seconds(random.below(200'000'000'000)));
    made.finely = sys_time<nanoseconds>(nanoseconds(static_cast<std::int64_t>(random.next())));
    made.three = {made.u16, made.u8, 0};
    made.range = static_cast<int>(random.below(11)) - 5;
}

Everything random_everything(Random& random) {
    Everything made{};
    fill_numbers(made, random);
    made.text = random_text(random);
    for (std::uint64_t i = random.below(3); i > 0; --i) {
        made.list.push_back(random_inner(random));
        made.flags.push_back(random.chance(1, 2));
        made.numbers.push_back(random_number(random));
        made.by_name[random_text(random)] = random_inner(random);
        made.with_default->push_back(static_cast<int>(random.next()));
    }
    if (random.chance(1, 2)) made.maybe = made.i32;
    if (random.chance(1, 2)) made.maybe_inner = random_inner(random);
    made.inner = random_inner(random);
    switch (random.below(5)) {
        case 0:
            made.untagged = made.flag;
            break;
        case 1:
            made.untagged = made.i64;
            break;
        case 2:
            made.untagged = made.text;
            break;
        case 3:
            made.untagged = std::vector<int>{1, 2};
            break;
        default:
            made.untagged = made.inner;
    }
    if (random.chance(1, 2))
        made.tagged = Circle{made.f64};
    else if (random.chance(1, 2))
        made.tagged = made.level;
    else
        made.tagged = Square{1};
    return made;
}

template <typename T>
std::string faults_of(std::string_view text, const Options& options = {}) {
    const auto result = read<T>(text, options);
    return result ? "none" : result.error().message();
}

TEST(Json, RunsTheExampleOfItsHeader) {
    testing::internal::CaptureStdout();
    const int status = json_example_main();
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "{\"id\":7,\"items\":[{\"name\":\"tea\",\"price\":2.5}],\"priority\":3}\n"
              "id: expected an integer from 0 to 18446744073709551615, found -1 (byte 7)\n"
              "items[0].name: expected a text of 1 to 80 characters, found \"\" (byte 30)\n"
              "items[0].price: is required (byte 21)\n");
    EXPECT_EQ(status, 0);
}

TEST(Json, ReadsWhatItWrote) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        Random random(seed);
        const Everything made = random_everything(random);
        std::string text;
        EXPECT_TRUE(append(text, made)) << seed;
        const auto back = read<Everything>(text);
        ASSERT_TRUE(back) << seed << ": " << back.error().message() << " in " << text;
        EXPECT_TRUE(*back == made) << seed << ": " << text;
        EXPECT_EQ(std::signbit(back->f64), std::signbit(made.f64)) << seed;
        EXPECT_EQ(write(*back), text) << seed;
    }
}

TEST(Json, WritesMembersInOrder) {
    EXPECT_EQ(write(Inner{-3, {"a", "b"}}), R"({"small":-3,"words":["a","b"]})");
    struct Nothing {};
    EXPECT_EQ(write(Nothing{}), "{}");
    struct Absent {
        std::optional<int> a;
        int b;
        std::unique_ptr<Inner> c;
    };
    EXPECT_EQ(write(Absent{{}, 2, nullptr}), R"({"b":2})");
    EXPECT_EQ(write(std::vector<std::optional<int>>{1, {}}), "[1,null]");
    struct View {
        std::string_view text;
    };
    EXPECT_EQ(write(View{"seen"}), R"({"text":"seen"})");
}

TEST(Json, WritesEnumsTimesAndVariants) {
    EXPECT_EQ(write(Mood::rough), R"("rough")");
    EXPECT_EQ(write(Level::high), "1");
    EXPECT_EQ(write(sys_time<milliseconds>(milliseconds(1))), R"("1970-01-01T00:00:00.001Z")");
    using Shape = std::variant<Circle, Square>;
    EXPECT_EQ(write(Shape(Square{2})), R"({"Square":{"side":2}})");
    using Plain = std::variant<int, std::string>;
    EXPECT_EQ(write(Plain("x")), R"("x")");
}

TEST(Json, SaysWhenItHadToReplace) {
    std::string text;
    EXPECT_TRUE(append(text, 1.5));
    EXPECT_FALSE(append(text, std::numeric_limits<double>::quiet_NaN()));
    EXPECT_FALSE(append(text, static_cast<Mood>(1)));
    EXPECT_FALSE(append(text, std::string("\xFF")));
    EXPECT_FALSE(append(text, sys_time<seconds>(seconds::max())));
    EXPECT_EQ(text, "1.5nullnull\"\xEF\xBF\xBD\"null");
}

template <typename T>
void expect_limits(std::string_view low, std::string_view high, std::string_view below,
                   std::string_view above) {
    EXPECT_EQ(read<T>(low), std::numeric_limits<T>::min());
    EXPECT_EQ(read<T>(high), std::numeric_limits<T>::max());
    const std::string expected =
        "expected an integer from " + std::string(low) + " to " + std::string(high);
    EXPECT_TRUE(faults_of<T>(below).starts_with(expected)) << faults_of<T>(below);
    EXPECT_TRUE(faults_of<T>(above).starts_with(expected)) << faults_of<T>(above);
}

TEST(Json, RefusesIntegersOutOfRange) {
    expect_limits<std::int8_t>("-128", "127", "-129", "128");
    expect_limits<std::uint8_t>("0", "255", "-1", "256");
    expect_limits<std::int16_t>("-32768", "32767", "-32769", "32768");
    expect_limits<std::uint16_t>("0", "65535", "-1", "65536");
    expect_limits<std::int32_t>("-2147483648", "2147483647", "-2147483649", "2147483648");
    expect_limits<std::uint32_t>("0", "4294967295", "-1", "4294967296");
    expect_limits<std::int64_t>("-9223372036854775808", "9223372036854775807",
                                "-9223372036854775809", "9223372036854775808");
    expect_limits<std::uint64_t>("0", "18446744073709551615", "-1", "18446744073709551616");
    EXPECT_EQ(faults_of<int>("1.0"),
              "expected an integer from -2147483648 to 2147483647, found 1 (byte 0)");
    EXPECT_EQ(faults_of<float>("1e39"),
              "expected a number that a float can hold, found 1e+39 (byte 0)");
}

struct Wrong {
    std::string_view text;
    std::string_view message;
};

TEST(Json, NamesWhatIsWrongAndWhere) {
    struct Order {
        std::vector<Inner> items;
        std::map<std::string, int> counts;
    };
    for (const Wrong& wrong : {
             Wrong{"[]", "expected an object, found an array (byte 0)"},
             Wrong{R"({"items":[],"counts":{"x":true}})",
                   "counts.x: expected an integer from -2147483648 to 2147483647, found true (byte "
                   "26)"},
             Wrong{R"({"items":[],"counts":{"x":1,"x":2}})", "counts.x: appears twice (byte 32)"},
             Wrong{
                 R"({"items":[{"small":1,"words":[]},{"small":1,"words":["a",null]}],"counts":{}})",
                 "items[1].words[1]: expected a string, found null (byte 57)"},
             Wrong{R"({"items":{}})",
                   "items: expected an array, found an object (byte 9); counts: is required (byte "
                   "0)"},
         }) {
        EXPECT_EQ(faults_of<Order>(wrong.text), wrong.message);
    }
}

TEST(Json, NamesWhatEachTypeExpects) {
    for (const auto& [found, expected] : std::initializer_list<std::pair<std::string, std::string>>{
             {faults_of<bool>("1"), "expected true or false, found 1 (byte 0)"},
             {faults_of<double>("\"1\""), "expected a number, found \"1\" (byte 0)"},
             {faults_of<Mood>("\"mild\""),
              R"(expected one of "calm", "rough", "stormy", found "mild" (byte 0))"},
             {faults_of<Mood>("0"),
              R"(expected one of "calm", "rough", "stormy", found 0 (byte 0))"},
             {faults_of<Level>("256"), "expected an integer from 0 to 255, found 256 (byte 0)"},
             {faults_of<sys_time<seconds>>("\"today\""),
              R"(expected a time such as "2026-11-22T10:30:00Z", found "today" (byte 0))"},
             {faults_of<std::array<int, 2>>("[1]"),
              "expected an array of 2, found an array (byte 0)"},
             {faults_of<std::array<int, 2>>("[1,2,3]"),
              "expected an array of 2, found an array (byte 0)"},
             {faults_of<std::optional<bool>>("2"), "expected true or false, found 2 (byte 0)"},
             {faults_of<std::variant<bool, std::string>>("1.5"),
              "expected true or false or a string, found 1.5 (byte 0)"},
             {faults_of<std::variant<Circle, Square>>(R"({"Oval":{}})"),
              R"(expected an object with one member, called "Circle" or "Square", found an object)"
              " (byte 0)"},
             {faults_of<std::variant<Circle, Square>>(R"({"Circle":{"radius":"x"}})"),
              R"(Circle.radius: expected a number, found "x" (byte 20))"},
             {faults_of<Even>("3"), "expected an even number, found 3 (byte 0)"},
             {faults_of<bool>("\"" + std::string(41, 'x') + "\""),
              "expected true or false, found a string of 41 bytes (byte 0)"},
         }) {
        EXPECT_EQ(found, expected);
    }
}

struct Span {
    int from;
    Default<int> to = 100;
    std::optional<int> step;

    Faults validate() const {
        Faults faults;
        if (to < from) faults.push_back({.path = "to", .problem = "lies before from"});
        if (step && *step == 0) faults.push_back({.problem = "never ends"});
        return faults;
    }
};

TEST(Json, CallsValidateOnceTheMembersAreRight) {
    EXPECT_EQ(faults_of<std::vector<Span>>(R"([{"from":1}, {"from":5,"to":4,"step":0}])"),
              "[1].to: lies before from (byte 13); [1]: never ends (byte 13)");
    EXPECT_EQ(faults_of<Span>(R"({"from":true,"to":-1})"),
              "from: expected an integer from -2147483648 to 2147483647, found true (byte 8)");
}

TEST(Json, LetsDefaultsAndOptionalsBeMissing) {
    const auto span = read<Span>(R"({"from":1})");
    ASSERT_TRUE(span);
    EXPECT_TRUE(span->to == 100);
    EXPECT_FALSE(span->step);
    EXPECT_EQ(read<Span>(R"({"from":1,"to":7,"step":null})")->to, 7);
    EXPECT_EQ(faults_of<Span>(R"({})"), "from: is required (byte 0)");
    EXPECT_NE(faults_of<Span>(R"({"from":1,"to":null})"), "none");
}

TEST(Json, LetsAnyMemberBeMissingWhereThatIsAskedFor) {
    struct Old {
        std::string name = "none";
        std::vector<Span> spans;
    };
    const Options keep = {.missing = Missing::keep};
    EXPECT_EQ(read<Old>("{}", keep)->name, "none");
    const auto read_back = read<Old>(R"({"spans":[{"to":7}]})", keep);
    ASSERT_TRUE(read_back) << read_back.error().message();
    EXPECT_EQ(read_back->spans[0].from, 0);
    EXPECT_EQ(faults_of<Old>("{}"), "name: is required (byte 0); spans: is required (byte 0)");
}

TEST(Json, ReadsOwnedAndRecursiveValues) {
    struct Tree {
        std::string name;
        std::vector<Tree> branches;
        std::unique_ptr<Tree> grafted;
    };
    const std::string_view text = R"({"name":"a","branches":[{"name":"b","branches":[]}],)"
                                  R"("grafted":{"name":"c","branches":[]}})";
    const auto tree = read<Tree>(text);
    ASSERT_TRUE(tree) << tree.error().message();
    EXPECT_EQ(tree->branches[0].name, "b");
    EXPECT_EQ(tree->grafted->name, "c");
    EXPECT_EQ(write(*tree), text);
}

TEST(Json, ReadsEscapesAndNulInNamesAndText) {
    struct Text {
        std::string name;
    };
    const auto read_text = read<Text>(R"({"\u006eame":"\u0000\ud83d\ude00\/"})");
    ASSERT_TRUE(read_text) << read_text.error().message();
    EXPECT_EQ(read_text->name, std::string("\0", 1) + "😀/");
}

}  // namespace
}  // namespace tiderace::json
