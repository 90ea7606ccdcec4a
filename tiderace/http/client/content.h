// Internal. Content: the body of a request, with its type. form: a body as browsers send forms.
//
//   client.post("/users", ann);                              // JSON of a plain struct
//   client.post("/login", form({{"name", "ann"}}));          // application/x-www-form-urlencoded
//   client.post("/notes", "text");                           // text/plain; charset=utf-8
//   client.post("/data", Content("image/png", bytes));
//
// Thread   Any.
// Errors   None. json::append() has the rules for values that JSON lacks.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/json.h"

namespace tiderace::http {

// A temporary struct, which g++ 12 destroys twice in a co_await (task/task.h).
template <typename T>
concept NamelessStruct = !std::is_lvalue_reference_v<T> && std::is_aggregate_v<T> &&
                         !std::is_trivially_destructible_v<T>;
template <typename T>
consteval void refuse_nameless() {
    static_assert(!NamelessStruct<T>,
                  "give the struct a name before the call: g++ 12 destroys a temporary one in a"
                  " co_await twice");
}

class Content {
  public:
    // No body, and no type.
    Content() = default;
    Content(std::string type, std::string bytes)
        : type_(std::move(type)), bytes_(std::move(bytes)) {}
    // Text: what a string, a string_view or a literal is.
    template <typename T>
        requires std::convertible_to<T, std::string_view>
    Content(T&& text)  // NOLINT: `post(url, "text")`
        : Content("text/plain; charset=utf-8", std::string(std::string_view(text))) {}
    // JSON: structs, vectors, maps … (tiderace/json.h).
    template <typename T>
        requires(!std::convertible_to<const T&, std::string_view> && !std::same_as<T, Content> &&
                 !std::is_pointer_v<T>)
    Content(const T& value)  // NOLINT: `post(url, NewUser{…})`
        : Content("application/json", json::write(value)) {}

    const std::string& type() const { return type_; }
    const std::string& bytes() const { return bytes_; }
    std::string take_bytes() && { return std::move(bytes_); }
    bool empty() const { return bytes_.empty() && type_.empty(); }

  private:
    std::string type_;
    std::string bytes_;
};

// Names and values, encoded as the URL standard has it: ' ' is '+', and what is not a letter, a
// digit or one of *-._ is escaped.
using FormPair = std::pair<std::string_view, std::string_view>;
Content form(std::span<const FormPair> pairs);
inline Content form(std::initializer_list<FormPair> pairs) {
    return form(std::span(pairs.begin(), pairs.size()));
}

}  // namespace tiderace::http
