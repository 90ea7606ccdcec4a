// BodyStream: a request's body as it comes, for a task.
//
//   app.put<"/files/{name}">([](std::string name, BodyStream body) -> Task<std::string> {
//       std::uint64_t bytes = 0;
//       while (auto piece = co_await body.next()) bytes += piece->size();
//       co_return std::to_string(bytes) + "\n";
//   });
//
//   client -> receive buffer -> held bytes -> next()       held_bytes_max: the client is held back
//
// A client that goes away, or sends more than the limit (413), ends the handler at its await. A
// handler that ends first leaves the rest of the body unread. While the client is waited for,
// body_timeout runs; while the handler is, between two pieces and after the last, its own timeout.
//
// Owner    The handler. It may outlive the request: then next() throws.
// Thread   The loop's.
// Errors   next() throws a Problem where the body will not be completed, for tasks that outlive
//          their handler.
// Limits   AppOptions::body_bytes_max, as for any body; held_bytes_max and one receive buffer, and
//          for all bodies of a loop AppOptions::bodies_bytes_max: above, next() throws a 503.
// Keywords: request body, upload, streaming
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/http/app/arguments.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class BodyStream final {
  public:
    static constexpr std::size_t held_bytes_max = 64_KiB;
    class [[nodiscard("co_await it")]] Next;

    // Asks for the body of the call's exchange, which is deferred from here on. The call has what
    // of it was read before.
    explicit BodyStream(app_parts::Call& call);
    BodyStream(BodyStream&&) noexcept;
    BodyStream& operator=(BodyStream&&) = delete;
    ~BodyStream();

    // The bytes that came since; nullopt: that was all. One at a time.
    Next next();

  private:
    class Inflow;
    class Receiver;

    std::optional<std::string> take();
    void handler_works();
    void client_is_awaited();

    core::Ref<Exchange> exchange_;
    core::Ref<Inflow> inflow_;
    Duration pause_max_;
};

class BodyStream::Next final : private task::Waiter {
  public:
    explicit Next(BodyStream& body) : body_(&body) {}
    Next(Next&&) = default;
    ~Next();

    bool await_ready();
    void await_suspend(std::coroutine_handle<> handle);
    std::optional<std::string> await_resume() { return body_->take(); }

  private:
    friend class Inflow;
    BodyStream* body_;
};

namespace app_parts {

template <>
inline constexpr BodyUse body_use<BodyStream> = BodyUse::streamed;

template <>
struct Argument<BodyStream> {
    // nullopt: it was too large from the start.
    static std::optional<BodyStream> find(Call& call) {
        if (call.exchange.responded()) return std::nullopt;
        std::optional<BodyStream> body(std::in_place, call);
        if (call.exchange.abandoned()) body.reset();
        return body;
    }
    static BodyStream pass(std::optional<BodyStream>& found) { return std::move(*found); }
};

}  // namespace app_parts
}  // namespace tiderace::http
