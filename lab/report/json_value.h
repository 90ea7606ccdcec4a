// JsonValue: a JSON text (RFC 8259) as a tree, to be read and to be written. For the lab's results.
//
// Objects keep their order. Asking for what is not there, or is of another kind, gives the default:
// a reader of an older or newer file goes on with what it knows.
//
// Thread   Any; plain data.
// Errors   parse() says what is wrong, and in which line.
// Limits   text_bytes_max, depth_max. Numbers are doubles: exact up to 2^53.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tiderace::lab::report {

class JsonValue {
  public:
    using List = std::vector<JsonValue>;
    using Member = std::pair<std::string, JsonValue>;
    static constexpr std::size_t text_bytes_max = std::size_t{64} << 20;
    static constexpr unsigned depth_max = 32;

    static std::expected<JsonValue, std::string> parse(std::string_view text);

    JsonValue() = default;  // null
    JsonValue(bool value) : value_(value) {}
    JsonValue(double value) : value_(value) {}
    JsonValue(int value) : value_(static_cast<double>(value)) {}
    JsonValue(std::uint64_t value) : value_(static_cast<double>(value)) {}
    JsonValue(std::string value) : value_(std::move(value)) {}
    JsonValue(std::string_view value) : value_(std::string(value)) {}
    JsonValue(const char* value) : value_(std::string(value)) {}
    JsonValue(List value) : value_(std::move(value)) {}
    static JsonValue object() { return JsonValue(Members{}); }

    // An object gets a member, a list an element.
    JsonValue& set(std::string_view name, JsonValue value);
    JsonValue& add(JsonValue value);

    bool is_object() const { return std::holds_alternative<Members>(value_); }
    bool is_list() const { return std::holds_alternative<List>(value_); }
    bool is_number() const { return std::holds_alternative<double>(value_); }

    // Of an object: its member, or a null.
    const JsonValue& operator[](std::string_view name) const;
    std::string text(std::string_view otherwise = {}) const;
    double number(double otherwise = 0) const;
    std::uint64_t count() const;  // 0 for what is negative or no number
    bool flag(bool otherwise = false) const;
    const List& list() const;  // empty for what is no list
    const std::vector<Member>& members() const;

    // With `indented`, one line for each element and member of the outer two levels.
    std::string write(bool indented = false) const;

    bool operator==(const JsonValue&) const = default;

  private:
    using Members = std::vector<Member>;
    friend class JsonParser;

    explicit JsonValue(Members members) : value_(std::move(members)) {}
    void write_to(std::string& out, unsigned depth, unsigned indented_depth) const;

    std::variant<std::monostate, bool, double, std::string, List, Members> value_;
};

}  // namespace tiderace::lab::report
