// Internal. GeneratorSource: a body whose pieces a coroutine makes. EventStreams: the event streams
// of a loop, which end when the server drains.
//
//   Response::body(type, pieces) --> attach(exchange) --> pull() -> next piece, or wait
//                                                                     on_done() -> body_ready()
//
// Owner    The Response, and then the exchange that sends it.
// Thread   The loop's. The runner is the one of the exchange's site.
// Errors   A generator that throws breaks the answer off; one log line.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/body_source.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

// Pulls a generator as the connection has room.
class GeneratorSource final : public BodySource, private task::Root {
  public:
    explicit GeneratorSource(task::Generator<std::string> pieces) : pieces_(std::move(pieces)) {}
    // The task waits for the generator, which is a member and would end before it.
    ~GeneratorSource() override;

    void attach(Exchange& exchange) override;
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted) override;
    // Draining ends it. Before it is attached.
    void end_when_draining() { ends_when_draining_ = true; }

  private:
    friend class EventStreams;
    struct Place final : tiderace::ListHook {
        explicit Place(GeneratorSource& s) : source(&s) {}
        GeneratorSource* source;
    };

    void finish();
    void on_done(std::exception_ptr failure) override;
    task::Task<> make_next();

    Exchange* exchange_ = nullptr;  // until it is attached
    task::Runner* runner_ = nullptr;
    task::Generator<std::string> pieces_;
    std::string piece_;
    bool ends_when_draining_ = false;
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
