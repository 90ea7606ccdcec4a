#include "tiderace/http/app/openapi/schema.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tiderace/json/checked.h"
#include "tiderace/json/type_of.h"
#include "tiderace/json/value.h"

namespace tiderace::http::app_parts {

struct Colour24 {
    std::uint32_t rgb;
};
struct Renamed {
    int retry_count;
    json::Value event_data;

    static constexpr json::Case json_case = json::Case::camel;
    static constexpr json::Name json_names[] = {{"event_data", "@data"}};
};

}  // namespace tiderace::http::app_parts

template <>
struct tiderace::json::Convert<tiderace::http::app_parts::Colour24> {
    using Colour = tiderace::http::app_parts::Colour24;
    static std::string write(const Colour& colour) { return std::to_string(colour.rgb); }
    static std::optional<Colour> read(const std::string& text) {
        return Colour{static_cast<std::uint32_t>(text.size())};
    }
    static std::string expected() { return "a colour"; }
};

namespace tiderace::http::app_parts {

enum class Colour : std::uint8_t { red, green };
struct Leaf {
    int n;
};
struct Tree {
    std::string name;
    std::vector<std::unique_ptr<Tree>> children;
    std::optional<Leaf> leaf;
    json::Default<json::Range<int, 1, 9>> size;
};
struct Circle {
    double radius;
};
struct Square {
    double side;
};
namespace other {
struct Leaf {
    bool yes;
};
}  // namespace other

namespace {

template <typename T>
std::string schema_of(SchemaBook& book) {
    std::string text;
    json::Writer out(text);
    book.write(out, json::type_of<T>);
    out.flush();
    return text;
}
template <typename T>
std::string schema_of() {
    SchemaBook book;
    return schema_of<T>(book);
}
std::string all_of(SchemaBook& book) {
    std::string text;
    json::Writer out(text);
    book.write_all(out);
    out.flush();
    return text;
}

TEST(SchemaBook, DescribesEachKind) {
    EXPECT_EQ(schema_of<bool>(), R"({"type":"boolean"})");
    EXPECT_EQ(schema_of<int>(), R"({"type":"integer","format":"int32"})");
    EXPECT_EQ(schema_of<std::int64_t>(), R"({"type":"integer","format":"int64"})");
    EXPECT_EQ(schema_of<std::uint64_t>(), R"({"type":"integer","minimum":0})");
    EXPECT_EQ(schema_of<std::uint32_t>(), R"({"type":"integer","minimum":0,"maximum":4294967295})");
    EXPECT_EQ(schema_of<std::int8_t>(), R"({"type":"integer","minimum":-128,"maximum":127})");
    EXPECT_EQ(schema_of<double>(), R"({"type":"number","format":"double"})");
    EXPECT_EQ(schema_of<std::string>(), R"({"type":"string"})");
    EXPECT_EQ(schema_of<Colour>(), R"({"type":"string","enum":["red","green"]})");
    EXPECT_EQ(schema_of<std::chrono::sys_seconds>(), R"({"type":"string","format":"date-time"})");
    EXPECT_EQ(schema_of<std::vector<std::string>>(),
              R"({"type":"array","items":{"type":"string"}})");
    EXPECT_EQ((schema_of<std::array<double, 2>>()),
              R"({"type":"array","minItems":2,"maxItems":2,)"
              R"("items":{"type":"number","format":"double"}})");
    EXPECT_EQ((schema_of<std::map<std::string, bool>>()),
              R"({"type":"object","additionalProperties":{"type":"boolean"}})");
    EXPECT_EQ(schema_of<std::optional<bool>>(),
              R"({"anyOf":[{"type":"boolean"},{"type":"null"}]})");
    EXPECT_EQ((schema_of<std::variant<bool, std::string>>()),
              R"({"anyOf":[{"type":"boolean"},{"type":"string"}]})");
    EXPECT_EQ((schema_of<json::Range<int, 1, 9>>()),
              R"({"type":"integer","format":"int32","minimum":1,"maximum":9})");
}

struct Even : json::Checked<int> {
    using Checked<int>::Checked;
    static bool holds(int value) { return value % 2 == 0; }
    static std::string expected() { return "an even number"; }
};

TEST(SchemaBook, BoundsAreNumbers) {
    EXPECT_EQ((schema_of<json::Range<std::uint8_t, 0, 200>>()),
              R"({"type":"integer","minimum":0,"maximum":200})")
        << "each bound once";
    EXPECT_EQ((schema_of<json::Range<std::uint64_t, 1, UINT64_MAX>>()),
              R"({"type":"integer","minimum":1,"maximum":18446744073709551615})");
    EXPECT_EQ((schema_of<json::Range<std::int64_t, -5, 5>>()),
              R"({"type":"integer","format":"int64","minimum":-5,"maximum":5})");
    EXPECT_EQ((schema_of<json::Range<double, 0.5, 1.5>>()),
              R"({"type":"number","format":"double","minimum":0.5,"maximum":1.5})");
    EXPECT_EQ((schema_of<json::Length<std::string, 1, 80>>()),
              R"({"type":"string","minLength":1,"maxLength":80})");
    EXPECT_EQ((schema_of<json::Length<std::vector<std::string>, 0, 3>>()),
              R"({"type":"array","items":{"type":"string"},"minItems":0,"maxItems":3})");
    EXPECT_EQ((schema_of<json::Length<std::map<std::string, bool>, 1, SIZE_MAX>>()),
              R"({"type":"object","additionalProperties":{"type":"boolean"},"minProperties":1})");
    EXPECT_EQ((schema_of<json::Default<json::Range<int, 1, 9>>>()),
              R"({"type":"integer","format":"int32","minimum":1,"maximum":9})");
    EXPECT_EQ(schema_of<Even>(),
              R"({"type":"integer","format":"int32","description":"an even number"})");
}

TEST(SchemaBook, HasTheNamesThatTheTextHas) {
    SchemaBook book;
    EXPECT_EQ(schema_of<Renamed>(book), R"({"$ref":"#/components/schemas/Renamed"})");
    EXPECT_EQ(all_of(book),
              R"({"Renamed":{"type":"object","properties":{"retryCount":{"type":"integer",)"
              R"("format":"int32"},"@data":{}},"required":["retryCount","@data"]}})");
}

TEST(SchemaBook, KnowsConvertedTypesAnyValueAndTheNamesOfMaps) {
    EXPECT_EQ(schema_of<Colour24>(), R"({"type":"string","description":"a colour"})");
    EXPECT_EQ(schema_of<json::Value>(), "{}");
    EXPECT_EQ(schema_of<json::Object>(), R"({"type":"object","additionalProperties":{}})");
    EXPECT_EQ((schema_of<std::map<Colour, bool>>()),
              R"({"type":"object","propertyNames":{"enum":["red","green"]},)"
              R"("additionalProperties":{"type":"boolean"}})");
    EXPECT_EQ((schema_of<std::map<std::uint16_t, bool>>()),
              R"({"type":"object","propertyNames":{"pattern":"^[0-9]+$"},)"
              R"("additionalProperties":{"type":"boolean"}})");
}

TEST(SchemaBook, AStructStandsOnceUnderItsNameAndMayHoldItself) {
    SchemaBook book;
    EXPECT_EQ(schema_of<Tree>(book), R"({"$ref":"#/components/schemas/Tree"})");
    EXPECT_EQ(schema_of<Tree>(book), R"({"$ref":"#/components/schemas/Tree"})");
    EXPECT_EQ(
        all_of(book),
        R"({"Tree":{"type":"object","properties":{"name":{"type":"string"},)"
        R"("children":{"type":"array","items":{"anyOf":[{"$ref":"#/components/schemas/Tree"},)"
        R"({"type":"null"}]}},"leaf":{"anyOf":[{"$ref":"#/components/schemas/Leaf"},)"
        R"({"type":"null"}]},"size":{"type":"integer","format":"int32",)"
        R"("minimum":1,"maximum":9}},"required":["name","children"]},)"
        R"("Leaf":{"type":"object","properties":{"n":{"type":"integer","format":"int32"}},)"
        R"("required":["n"]}})");
}

TEST(SchemaBook, TwoTypesOfOneNameAreTwo) {
    SchemaBook book;
    EXPECT_EQ(schema_of<Leaf>(book), R"({"$ref":"#/components/schemas/Leaf"})");
    EXPECT_EQ(schema_of<other::Leaf>(book), R"({"$ref":"#/components/schemas/Leaf2"})");
    EXPECT_EQ(schema_of<Leaf>(book), R"({"$ref":"#/components/schemas/Leaf"})");
}

TEST(SchemaBook, AlternativesOfOneFormHaveTheirTag) {
    EXPECT_EQ((schema_of<std::variant<Circle, Square>>()),
              R"({"oneOf":[{"type":"object","properties":{"Circle":)"
              R"({"$ref":"#/components/schemas/Circle"}},"required":["Circle"],)"
              R"("additionalProperties":false},{"type":"object","properties":{"Square":)"
              R"({"$ref":"#/components/schemas/Square"}},"required":["Square"],)"
              R"("additionalProperties":false}]})");
}

}  // namespace
}  // namespace tiderace::http::app_parts
