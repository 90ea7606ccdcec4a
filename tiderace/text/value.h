// Value, Map, List: data for a template that has no struct. SafeHtml: HTML that may be shown as it
// is, because code, and not a user, has made or cleaned it.
//
//     text::Map page = {{"title", "Tides"}, {"count", 3}, {"posts", text::Value::view(posts)}};
//
// Owner    A Value owns what is in it; Value::view() refers to a value that must outlive it.
// Thread   One at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/text/type.h"
#include "tiderace/text/type_of.h"

namespace tiderace::text {

class SafeHtml {
  public:
    SafeHtml() = default;
    explicit SafeHtml(std::string html) : html_(std::move(html)) {}
    std::string_view html() const { return html_; }

    static consteval Type template_type() { return {.kind = Kind::html, .text = &text}; }

  private:
    static std::string_view text(const void* value) {
        return static_cast<const SafeHtml*>(value)->html_;
    }

    std::string html_;
};

class Value;
using List = std::vector<Value>;
using Map = std::map<std::string, Value, std::less<>>;

class Value {
  public:
    Value() = default;
    Value(std::nullptr_t) {}
    Value(bool value) : held_(value) {}
    template <std::integral T>
        requires(!std::same_as<T, bool> && !CharacterLike<T>)
    Value(T value) {
        if (std::in_range<std::int64_t>(value)) {
            held_ = static_cast<std::int64_t>(value);
        } else {
            held_ = static_cast<double>(value);
        }
    }
    Value(std::floating_point auto value) : held_(static_cast<double>(value)) {}
    Value(const char* text) : held_(std::string(text)) {}
    Value(std::string_view text) : held_(std::string(text)) {}
    Value(std::string text) : held_(std::move(text)) {}
    Value(SafeHtml html) : held_(std::move(html)) {}
    Value(List list);
    Value(Map map);
    template <typename T>
    Value(std::optional<T> value) {
        if (value) *this = Value(std::move(*value));
    }

    // Refers to `value`, which must outlive it.
    template <typename T>
    static Value view(const T& value) {
        Value made;
        made.held_ = ref_to(value);
        return made;
    }
    template <typename T>
    static Value view(const T&&) = delete;

    // The held value; none when it is empty.
    Ref ref() const;

    static consteval Type template_type() { return {.kind = Kind::dynamic, .resolve = &resolve}; }

  private:
    static Ref resolve(const void* value) { return static_cast<const Value*>(value)->ref(); }

    std::variant<std::monostate, bool, std::int64_t, double, std::string, SafeHtml, Ref,
                 std::shared_ptr<const List>, std::shared_ptr<const Map>>
        held_;
};

inline Value::Value(List list) : held_(std::make_shared<const List>(std::move(list))) {}
inline Value::Value(Map map) : held_(std::make_shared<const Map>(std::move(map))) {}

}  // namespace tiderace::text
