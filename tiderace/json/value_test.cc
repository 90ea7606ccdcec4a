#include "tiderace/json/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "tiderace/json.h"

namespace tiderace::json {
namespace {

enum class Weather { calm, rough };
struct Envelope {
    std::string type;
    Value data;
    Default<Value> more = Value("none");
};
struct Order {
    int id;
};

std::string fault_of_value(std::string_view text, const Options& options = {}) {
    const auto result = read<Value>(text, options);
    return result ? "none" : result.error().message();
}
std::string again(std::string_view text) {
    const auto value = read<Value>(text);
    return value ? write(*value) : value.error().message();
}
std::string nested(std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
}

TEST(JsonValue, WritesWhatItRead) {
    for (const std::string_view text :
         {"null", "true", "false", "0", "-1", "1.5", "\"text\"", "[]", "{}", "[[1,[null]],{}]",
          R"({"a":{"b":[1,2.5,"x",false]},"c":null})", R"("\u0000 \"\\ é 😀")",
          "9223372036854775807", "9223372036854775808", "18446744073709551615",
          "-9223372036854775808", "1e+300"}) {
        EXPECT_EQ(again(text), text);
    }
}

TEST(JsonValue, KeepsIntegersExactAndTheRestAsDoubles) {
    EXPECT_EQ(read<Value>("18446744073709551615")->as<std::uint64_t>(),
              std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(read<Value>("-9223372036854775808")->as<std::int64_t>(),
              std::numeric_limits<std::int64_t>::min());
    const auto large = read<Value>("18446744073709551616");
    EXPECT_FALSE(large->as<std::uint64_t>());
    EXPECT_EQ(large->as<double>(), 18446744073709551616.0);
    EXPECT_EQ(again(std::string(300, '9')), "1e+300");
    EXPECT_EQ(fault_of_value("1e400"), fault_of_value(std::string(400, '9')));
    EXPECT_NE(fault_of_value("1e400"), "none");
    EXPECT_EQ(again("-0"), "0");
    EXPECT_TRUE(std::signbit(*read<Value>("-0.0")->as<double>()));
    EXPECT_FALSE(read<Value>("1.0")->as<int>());  // as a member of a struct
    EXPECT_EQ(read<Value>("1.0")->as<double>(), 1.0);
}

TEST(JsonValue, GivesANumberOnlyAsATypeThatHoldsIt) {
    EXPECT_EQ(Value(255).as<std::uint8_t>(), 255);
    EXPECT_FALSE(Value(256).as<std::uint8_t>());
    EXPECT_FALSE(Value(-1).as<std::uint64_t>());
    EXPECT_FALSE(Value(std::uint64_t{1} << 63).as<std::int64_t>());
    EXPECT_EQ(Value(7).as<double>(), 7.0);
    EXPECT_EQ(Value(~std::uint64_t{0}).as<float>(), 18446744073709551616.0F);
    EXPECT_FALSE(Value(1e39).as<float>());
    EXPECT_FALSE(Value(std::nan("")).as<float>());
    EXPECT_TRUE(std::isnan(*Value(std::nan("")).as<double>()));
    EXPECT_FALSE(Value("1").as<int>());
    EXPECT_FALSE(Value(1).as<bool>());
    EXPECT_FALSE(Value(true).as<int>());
    EXPECT_EQ(Value("x").as<std::string>(), "x");
    EXPECT_FALSE(Value().as<std::string>());
    EXPECT_EQ(Value(1u), Value(std::int64_t{1}));
}

TEST(JsonValue, IsNullWhereNothingIs) {
    const auto value = read<Value>(R"({"list":[1,{"deep":true}],"text":"x"})");
    ASSERT_TRUE(value);
    EXPECT_EQ((*value)["list"][1]["deep"].as<bool>(), true);
    EXPECT_TRUE((*value)["list"][2]["deep"].is_null());
    EXPECT_TRUE((*value)["text"][0].is_null());
    EXPECT_TRUE((*value)["text"]["x"].is_null());
    EXPECT_TRUE((*value)[0].is_null());
    EXPECT_TRUE((*value)["list"]["1"].is_null());
    EXPECT_EQ(*(*value)["text"].string(), "x");
    EXPECT_EQ((*value)["text"].array(), nullptr);
    EXPECT_EQ((*value)["list"].object(), nullptr);
}

TEST(JsonValue, IsBuiltFromValues) {
    Object answer{{"ok", true}, {"tags", Array{"a", 1, nullptr, 2.5}}, {"none", {}}};
    answer["inner"] = Object{{"n", -1}};
    Value value = answer;
    value.object()->insert_or_assign("ok", false);
    value.object()->find("tags")->second.array()->push_back(std::string("z"));
    EXPECT_EQ(write(value),
              R"({"inner":{"n":-1},"none":null,"ok":false,"tags":["a",1,null,2.5,"z"]})");
    EXPECT_EQ(write(answer), R"({"inner":{"n":-1},"none":null,"ok":true,"tags":["a",1,null,2.5]})");
    EXPECT_NE(value, Value(answer));
    std::string text;
    EXPECT_FALSE(append(text, Array{std::numeric_limits<double>::infinity(), "\xFF"}));
    EXPECT_EQ(text, "[null,\"\xEF\xBF\xBD\"]");
}

TEST(JsonValue, IsAMemberOfAStruct) {
    const auto envelope = read<Envelope>(R"({"type":"order","data":{"id":7}})");
    ASSERT_TRUE(envelope) << envelope.error().message();
    EXPECT_EQ(envelope->more->as<std::string>(), "none");
    EXPECT_EQ(read<Order>(envelope->data)->id, 7);
    EXPECT_EQ(read<Order>(Value("x")).error().message(),
              "expected an object, found \"x\" (byte 0)");
    EXPECT_EQ(write(*envelope), R"({"type":"order","data":{"id":7},"more":"none"})");
    EXPECT_EQ(read<Envelope>(R"({"type":"a"})").error().message(), "data: is required (byte 0)");
    EXPECT_TRUE(read<Envelope>(R"({"type":"a","data":null})")->data.is_null());
}

TEST(JsonValue, RefusesHostileTexts) {
    EXPECT_EQ(fault_of_value(R"({"a":{"b":1,"b":2}})"), "a.b: appears twice (byte 16)");
    EXPECT_EQ(fault_of_value(R"({"a":1,"\u0061":2})"), "a: appears twice (byte 16)");
    EXPECT_EQ(read<Value>(nested(10'000)).error().kind(), Error::Kind::too_deep);
    EXPECT_EQ(read<Value>(nested(10'000), {.depth_max = 100'000}).error().kind(),
              Error::Kind::too_deep);
    EXPECT_EQ(fault_of_value(nested(64)), "none");
    EXPECT_EQ(fault_of_value(nested(1024), {.depth_max = 1024}), "none");
    EXPECT_EQ(read<Value>("\"\xC0\x80\"").error().kind(), Error::Kind::syntax);
    EXPECT_EQ(read<Value>("[\"\xED\xA0\x80\"]").error().kind(), Error::Kind::syntax);
    EXPECT_EQ(read<Value>(R"("\ud800")").error().kind(), Error::Kind::syntax);
    EXPECT_EQ(read<Value>(R"({"\udc00":1})").error().kind(), Error::Kind::syntax);
    EXPECT_EQ(read<Value>("").error().kind(), Error::Kind::syntax);
    EXPECT_EQ(read<Value>(std::string(11, ' '), {.size_bytes_max = 10}).error().kind(),
              Error::Kind::too_large);
    // Members count as elements do.
    EXPECT_EQ(fault_of_value(R"({"a":[1],"b":2})", {.elements_max = 2}),
              "more than 2 elements (byte 0)");
    EXPECT_EQ(fault_of_value(R"({"a":[1],"b":2})", {.elements_max = 3}), "none");
}

TEST(JsonMap, HasIntegersAndEnumsAsKeys) {
    using Counts = std::map<std::int8_t, int>;
    EXPECT_EQ(write(Counts{{-128, 1}, {7, 2}}), R"({"-128":1,"7":2})");
    EXPECT_EQ(read<Counts>(R"({"-128":1,"7":2})"), (Counts{{-128, 1}, {7, 2}}));
    using Large = std::map<std::uint64_t, int>;
    EXPECT_EQ(read<Large>(write(Large{{~std::uint64_t{0}, 1}, {0, 2}}))->size(), 2u);
    using Moods = std::map<Weather, std::string>;
    EXPECT_EQ(write(Moods{{Weather::rough, "x"}}), R"({"rough":"x"})");
    EXPECT_EQ(read<Moods>(R"({"rough":"x","calm":"y"})")->at(Weather::calm), "y");
    std::string text;
    EXPECT_FALSE(append(text, Moods{{static_cast<Weather>(9), "x"}}));
    EXPECT_EQ(text, R"({"9":"x"})");
}

TEST(JsonMap, RefusesNamesThatAreNoKeys) {
    using Counts = std::map<std::int8_t, int>;
    for (const std::string_view name : {"128", "-129", "01", "+1", "-0", "1.0", "1 ", " 1", "", "x",
                                        "1e1", "99999999999999999999", "256", "0x1"}) {
        const auto counts = read<Counts>("{\"" + std::string(name) + "\":1}");
        ASSERT_FALSE(counts) << name;
        EXPECT_EQ(counts.error().faults()[0].problem,
                  "expected a name that is an integer from -128 to 127");
    }
    EXPECT_FALSE((read<std::map<std::uint64_t, int>>(R"({"18446744073709551616":1})")));
    EXPECT_FALSE((read<std::map<std::uint64_t, int>>(R"({"-1":1})")));
    EXPECT_EQ((read<std::map<Weather, int>>(R"({"mild":1})").error().message()),
              R"(mild: expected a name that is one of "calm", "rough" (byte 8))");
    EXPECT_EQ(read<Counts>(R"({"1":1,"1":2})").error().message(), "1: appears twice (byte 11)");
}

}  // namespace
}  // namespace tiderace::json
