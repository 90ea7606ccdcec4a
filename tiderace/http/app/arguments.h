// Arguments: what a handler may take, found in the request by type.
//
//   integers, floating point, enums, std::string     the pattern's parameters, in their order
//   std::string_view                                 the same, valid as long as the handler and the
//                                                    Generator, Events or Response of it run
//   const Request&                                   the request's head
//   Query<T>                                         its query, as a plain struct (form.h)
//   Cookies                                          its cookies (cookies.h)
//   Json<T>                                          the body, as a plain struct
//   Form<T>                                          the body, an urlencoded form (form.h)
//   Body                                             the body, as bytes
//   BodyStream                                       … as it comes, for a task (body_stream.h)
//   Multipart                                        … as the parts of a form (multipart.h)
//   S&                                               the loop's state, made by App::state<S>()
//   const S&                                         the same; one of all loops; left by middleware
//   T                                                your own (from_request/from_request.h)
//   Logger                                           lines of the log (observe/logger.h)
//   core::EventLoop&, task::Runner&, Exchange&       where it runs; the seam itself
// Errors   What cannot be read is answered before the handler is called, as a Problem that names
//          it: 400 (syntax), 413 (too large), 415 (not JSON), 422 (not the expected form).
// Thread   The loop's.
// Keywords: extractor, dependency injection, path parameters
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/enum_names.h"
#include "tiderace/http/app/call.h"
#include "tiderace/http/app/problem.h"
#include "tiderace/json.h"

namespace tiderace::http {

// A body that was read as JSON, or a value that is answered as JSON: a pointer to it.
template <typename T>
class Json {
  public:
    Json() = default;
    Json(T value) : value_(std::move(value)) {}  // NOLINT: `return user;` says enough

    T& operator*() & { return value_; }
    const T& operator*() const& { return value_; }
    T&& operator*() && { return std::move(value_); }
    T* operator->() { return &value_; }
    const T* operator->() const { return &value_; }

  private:
    T value_{};
};

// A body, at most AppOptions::body_bytes_max of it.
class Body {
  public:
    Body() = default;
    explicit Body(std::string bytes) : bytes_(std::move(bytes)) {}

    const std::string& text() const& { return bytes_; }
    std::string text() && { return std::move(bytes_); }
    ByteView bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

namespace app_parts {

template <typename T>
concept PathParameter =
    !FromRequested<T> && (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                          std::same_as<T, std::string> || std::same_as<T, std::string_view>);

template <typename T>
inline constexpr BodyUse body_use = BodyUse::none;
template <typename T>
inline constexpr BodyUse body_use<Json<T>> = BodyUse::whole;
template <>
inline constexpr BodyUse body_use<Body> = BodyUse::whole;

// Views of the request, which has to stay where it is while a task runs.
template <typename A>
inline constexpr bool is_view_of_request =
    std::is_same_v<A, std::string_view> || std::is_same_v<A, const Request&>;

template <typename A>
    requires PathParameter<A>
struct Argument<A> {
    static std::optional<A> find(Call& call) {
        const ByteView text = call.next_parameter();
        A value{};
        if (!parse(text, value)) {
            call.fail_parameter(expected());
            return std::nullopt;
        }
        return value;
    }
    static A pass(std::optional<A>& found) { return std::move(*found); }

  private:
    static bool parse(ByteView text, A& value) {
        if constexpr (std::same_as<A, std::string> || std::same_as<A, std::string_view>) {
            value = text;
            return true;
        } else if constexpr (std::same_as<A, bool>) {
            value = text == "true" || text == "1";
            return value || text == "false" || text == "0";
        } else if constexpr (std::is_enum_v<A>) {
            for (const EnumName& one : enum_names<A>) {
                if (one.name != text) continue;
                value = static_cast<A>(one.value);
                return true;
            }
            return false;
        } else {
            // from_chars also reads "nan", which passes a handler's "if (x < 0 || x > most)", and
            // "inf".
            if (std::floating_point<A> && text.find_first_not_of("0123456789+-.eE") != text.npos) {
                return false;
            }
            const char* const end = text.data() + text.size();
            const auto [stop, fault] = std::from_chars(text.data(), end, value);
            return fault == std::errc{} && stop == end;
        }
    }
    static std::string_view expected() {
        if constexpr (std::unsigned_integral<A>) return "expected a whole number, not negative";
        if constexpr (std::integral<A>) return "expected a whole number";
        if constexpr (std::floating_point<A>) return "expected a number";
        return "is none of the known values";
    }
};

template <>
struct Argument<const Request&> {
    static std::optional<const Request*> find(Call& call) { return &call.exchange.request(); }
    static const Request& pass(std::optional<const Request*>& found) { return **found; }
};
template <>
struct Argument<Exchange&> {
    static std::optional<Exchange*> find(Call& call) { return &call.exchange; }
    static Exchange& pass(std::optional<Exchange*>& found) { return **found; }
};
template <>
struct Argument<task::Runner&> {
    static std::optional<task::Runner*> find(Call& call) { return &call.runner; }
    static task::Runner& pass(std::optional<task::Runner*>& found) { return **found; }
};
template <>
struct Argument<core::EventLoop&> {
    static std::optional<core::EventLoop*> find(Call& call) { return &call.exchange.loop(); }
    static core::EventLoop& pass(std::optional<core::EventLoop*>& found) { return **found; }
};

template <>
struct Argument<Body> {
    static std::optional<Body> find(Call& call) { return Body(std::move(call.body)); }
    static Body pass(std::optional<Body>& found) { return std::move(*found); }
};

template <typename T>
struct Argument<Json<T>> {
    static std::optional<Json<T>> find(Call& call) {
        if (!call.body_is_json()) return std::nullopt;
        auto value = json::read<T>(call.body, call.json_options());
        if (value) return Json<T>(std::move(*value));
        call.fail_json(value.error());
        return std::nullopt;
    }
    static Json<T> pass(std::optional<Json<T>>& found) { return std::move(*found); }
};

// Any other class: a state.
template <typename S>
    requires(std::is_class_v<std::remove_const_t<S>>)
struct Argument<S&> {
    // A reference would dangle as soon as a task waits.
    static_assert(
        !MadeForTheCall<std::remove_const_t<S>>,
        "a handler's argument that is made for the call: take it by value, as `Session` or"
        " `Json<T>`, not by reference");

    using State = std::remove_const_t<S>;

    static std::optional<S*> find(Call& call) {
        if (S* const left = call.left<S>()) return left;
        void* state = call.states.find(state_key<State>, std::is_const_v<S>);
        if (state != nullptr) return static_cast<S*>(state);
        call.fail_state();
        return std::nullopt;
    }
    static S& pass(std::optional<S*>& found) { return **found; }
};

}  // namespace app_parts
}  // namespace tiderace::http
