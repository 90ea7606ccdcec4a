#include "tiderace/json/convert.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/json.h"

namespace tiderace::json {
namespace {

// With a constructor and private members: no plain struct.
class Colour {
  public:
    Colour() = default;
    explicit Colour(std::uint32_t rgb) : rgb_(rgb) {}
    std::uint32_t rgb() const { return rgb_; }
    bool operator==(const Colour&) const = default;

  private:
    std::uint32_t rgb_ = 0;
};
struct Spot {
    int x;
    int y;
    bool operator==(const Spot&) const = default;
};
struct Half {  // read through a struct
    int twice = 0;
};
struct HalfJson {
    int whole;
    Default<int> rest = 0;
};
struct Drawing {
    Colour colour;
    std::optional<Colour> border;
    std::vector<Spot> line;
    std::map<std::string, Colour> by_name;
};

}  // namespace

template <>
struct Convert<Colour> {
    static std::string write(const Colour& colour) { return std::to_string(colour.rgb()); }
    static std::expected<Colour, std::string> read(const std::string& text) {
        if (text == "red") return Colour(0xFF0000);
        if (text.empty()) return std::unexpected("");
        if (text.size() > 8) return std::unexpected("is no colour of the rainbow");
        return Colour(static_cast<std::uint32_t>(std::stoul(text)));
    }
    static std::string expected() { return "a colour"; }
};
template <>
struct Convert<Spot> {  // instead of {"x":1,"y":2}
    static std::vector<int> write(const Spot& point) { return {point.x, point.y}; }
    static std::optional<Spot> read(const std::vector<int>& both) {
        if (both.size() != 2) return std::nullopt;
        return Spot{both[0], both[1]};
    }
};
template <>
struct Convert<Half> {
    static HalfJson write(const Half& half) { return {half.twice / 2, half.twice % 2}; }
    static std::optional<Half> read(HalfJson json) { return Half{json.whole * 2 + *json.rest}; }
};

namespace {

template <typename T>
std::string refusal_of(std::string_view text) {
    const auto result = read<T>(text);
    return result ? "none" : result.error().message();
}

TEST(JsonConvert, StandsForItsTypeEverywhere) {
    const std::string_view text = R"({"colour":"16711680","border":"7","line":[[1,2],[3,4]],)"
                                  R"("by_name":{"sea":"255"}})";
    const auto drawing = read<Drawing>(text);
    ASSERT_TRUE(drawing) << drawing.error().message();
    EXPECT_EQ(drawing->colour, Colour(0xFF0000));
    EXPECT_EQ(drawing->line[1], (Spot{3, 4}));
    EXPECT_EQ(write(*drawing), text);
    EXPECT_EQ(read<Colour>(R"("red")"), Colour(0xFF0000));
    EXPECT_EQ(read<Half>(R"({"whole":3})")->twice, 6);
    EXPECT_EQ(write(Half{7}), R"({"whole":3,"rest":1})");
}

TEST(JsonConvert, NamesWhatItRefuses) {
    EXPECT_EQ(refusal_of<std::vector<Colour>>(R"(["red","indescribable"])"),
              R"([1]: is no colour of the rainbow, found "indescribable" (byte 7))");
    EXPECT_EQ(refusal_of<Colour>(R"("")"), R"(expected a colour, found "" (byte 0))");
    EXPECT_EQ(refusal_of<Colour>("3"), "expected a string, found 3 (byte 0)");
    EXPECT_EQ(refusal_of<Spot>("[1]"), "expected an array, found an array (byte 0)");
    EXPECT_EQ(refusal_of<Spot>(R"([1,"b"])"),
              R"([1]: expected an integer from -2147483648 to 2147483647, found "b" (byte 3))");
    EXPECT_EQ(refusal_of<Half>(R"({"rest":1})"), "whole: is required (byte 0)");
}

TEST(JsonConvert, LetsWhatItThrowsPass) {
    EXPECT_THROW((void)read<Colour>(R"("x")"), std::invalid_argument);
    // The next text is read as if nothing had been.
    EXPECT_EQ(read<Colour>(R"("red")"), Colour(0xFF0000));
}

}  // namespace
}  // namespace tiderace::json
