// Internal. Call: one request on its way to a handler: what its arguments are made of.
//
// Owner    RouteHandler, for the time of the call; a request that waits for its body keeps it.
// Thread   The loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/core/budget.h"
#include "tiderace/http/app/app_options.h"
#include "tiderace/http/app/problem.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/layer.h"
#include "tiderace/json/fault.h"
#include "tiderace/json/reader.h"
#include "tiderace/json/type.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

// How a type of the application's own is made of a request: from_request.h.
template <typename T>
struct FromRequest;

namespace app_parts {

template <typename T>
concept FromRequested = requires { sizeof(FromRequest<T>); };

// Finds an argument of type A (with its reference, if it is one).
template <typename A>
struct Argument;

// It is made for one call, as Session and Json<T> are; a state outlives it.
template <typename T>
concept MadeForTheCall =
    FromRequested<T> || requires(std::optional<T>& found) { Argument<T>::pass(found); };

// What a middleware left for the functions behind it, found by its type.
template <typename T>
struct Left final : Attachment {
    explicit Left(T made) : Attachment(state_key<T>), value(std::move(made)) {}
    const T value;
};

// What an argument needs of the body.
enum class BodyUse : std::uint8_t {
    none,
    whole,     // the handler is called when all of it is there
    streamed,  // … at once, and takes it as it comes
};

struct Call {
    Exchange& exchange;
    task::Runner& runner;
    const States& states;
    std::string_view pattern;
    Instant deadline = Instant::max();  // for a handler that waits
    // The receiver of a body that is streamed.
    std::uint64_t body_bytes_max = AppOptions{}.body_bytes_max;
    core::Ref<core::Budget> bodies = {};   // that all of the loop count in; may be null
    Duration pause_max = Duration::max();  // of the handler, between two pieces and after the last
    json::Unknown unknown_members = AppOptions{}.unknown_members;
    void* part = nullptr;  // Endpoint::make_part
    bool has_left = true;  // what middleware left stays for as long as the function runs
    std::size_t parameters_used = 0;
    std::string body = {};

    // nullptr: no middleware left one, or S is not constant.
    template <typename S>
    S* left() const {
        if constexpr (std::is_const_v<S>) {
            using Value = std::remove_const_t<S>;
            const Attachment* const found =
                has_left ? exchange.attached(state_key<Value>) : nullptr;
            if (found != nullptr) return &static_cast<const Left<Value>*>(found)->value;
        }
        return nullptr;
    }
    ByteView next_parameter() {
        return exchange.parameters().of(exchange.request().path, parameters_used++);
    }
    // These answer, where nothing did yet: of two bad arguments the first is named.
    void fail(const Problem& problem);
    void fail_parameter(std::string_view expected);
    void fail_json(const json::Error& error);
    void fail_pairs(int status, std::string detail, const json::Faults& faults);
    void fail_state();
    void fail_missing(std::string_view what);  // of the program: 500
    // For its body, which the route's limit bounds.
    json::Options json_options() const {
        return {.size_bytes_max = body.size(), .unknown = unknown_members};
    }
    // False: answered with 415.
    bool body_is_json();
    bool body_is(std::string_view type);
    // False: answered (http/app/form.h).
    bool read_query(void* value, const json::Type& type);
    bool read_form(void* value, const json::Type& type);
};

// Nothing where an argument before it has answered the request: what this one would look for, and
// complain of, is of no use then.
template <typename A>
auto find_argument(Call& call) {
    using Found = decltype(Argument<A>::find(call));
    return call.exchange.responded() ? Found() : Argument<A>::find(call);
}

}  // namespace app_parts
}  // namespace tiderace::http
