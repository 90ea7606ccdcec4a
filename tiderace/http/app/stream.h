// Streams: answers whose body a coroutine makes while it is sent.
//
//   app.get<"/numbers">([]() -> Generator<std::string> {
//       for (int i = 0; i < 1'000'000; ++i) co_yield std::to_string(i) + "\n";
//   });
//   app.get<"/ticks">([]() -> Events {
//       for (int i = 0;; ++i) { co_yield {.data = std::to_string(i)}; co_await sleep(1s); }
//   });
//
// The generator runs only while the connection has room: a client that reads slowly slows it down,
// one that goes away ends it at its await. Events have no end of their own: when the App drains,
// they end at their await, in order, and browsers connect again.
//
// Owner    The exchange that sends it.
// Thread   The loop's.
// Errors   A generator that throws breaks the answer off, so that the client sees that it is not
//          complete; one log line.
// Keywords: SSE, server-sent events, event-stream, streaming
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/task/generator.h"

namespace tiderace::http {

// One event of an event stream (text/event-stream, as browsers' EventSource reads it). Views,
// because it is rendered before its maker goes on.
struct Event {
    std::string_view data = {};     // any number of lines
    std::string_view event = {};    // the type; "" is "message"
    std::string_view id = {};       // sent back as Last-Event-ID after a reconnection
    std::uint32_t retry_ms = 0;     // how long the client waits before it reconnects; 0: not sent
    std::string_view comment = {};  // ignored by clients; keeps proxies from closing
};

std::string render(const Event& event);

// A generator of events: co_yield {.data = …}.
class Events final {
  public:
    class promise_type;

    explicit Events(task::Generator<std::string> lines) : lines_(std::move(lines)) {}
    task::Generator<std::string> take() && { return std::move(lines_); }

  private:
    task::Generator<std::string> lines_;
};

class Events::promise_type : public task::Generator<std::string>::promise_type {
  public:
    using Base = task::Generator<std::string>::promise_type;

    Events get_return_object() noexcept { return Events(Base::get_return_object()); }
    auto yield_value(const Event& event) { return Base::yield_value(render(event)); }
};

}  // namespace tiderace::http
