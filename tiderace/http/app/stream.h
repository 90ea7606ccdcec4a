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
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/exchange.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/runner.h"

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

// Pulls a generator as the connection has room.
class GeneratorSource final : public BodySource, private task::Root {
  public:
    GeneratorSource(Exchange& exchange, task::Runner& runner, task::Generator<std::string> pieces)
        : exchange_(&exchange), runner_(&runner), pieces_(std::move(pieces)) {}
    // The task waits for the generator, which is a member and would end before it.
    ~GeneratorSource() override;

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted) override;
    // Draining ends it.
    void end_when_draining();

  private:
    friend class EventStreams;
    struct Place final : tiderace::ListHook {
        explicit Place(GeneratorSource& s) : source(&s) {}
        GeneratorSource* source;
    };

    void finish();
    void on_done(std::exception_ptr failure) override;
    task::Task<> make_next();

    Exchange* exchange_;
    task::Runner* runner_;
    task::Generator<std::string> pieces_;
    std::string piece_;
    bool ended_ = false;
    bool failed_ = false;
    bool pulling_ = false;
    Place place_{*this};  // among the EventStreams
};

// The event streams of one loop: Runner::local<EventStreams>().
class EventStreams final : private core::TurnEnd {
  public:
    explicit EventStreams(task::Runner& runner) : runner_(&runner) {}
    ~EventStreams() override { runner_->loop().forget_turn_end(*this); }
    // Ends the open streams, and later ones as they begin.
    void drain();

  private:
    friend class GeneratorSource;

    void add(GeneratorSource::Place& place);
    void on_turn_end() override;

    task::Runner* runner_;
    IntrusiveList<GeneratorSource::Place> open_;
    bool draining_ = false;
};

}  // namespace tiderace::http
