// ProgramCall: one request on its way to a program and its answer on its way back, whatever the
// program is reached by: pipes (CgiRun) or FastCGI (FastCgiCall).
//
//   collecting -- all, or body_bytes_before_start --> waiting -- let_in() --> running --> over
//       \               (for a free place)               \                     /
//        `------ the client is gone, a fault -------------`-------------------'
//
//   running -- wait_for_place(), for a request that is sent again --> waiting
//
// The first part of a body is collected before the program starts, so that a client that sends
// slowly does not hold one of few programs for nothing; the rest is streamed. A body of unknown
// length is collected whole, because programs read CONTENT_LENGTH bytes.
//
// Deadline   Runs while the program is waited for: for its head, for more output, or until it
//            takes its input. Not while the client is: to send more body, or to take the answer.
// Owner      The handler that made it; on_over() reports when it may end, never inside a call.
// Thread     The loop's.
// Errors     502: the program died or wrote no sound head. 503: no place. 504: the deadline. After
//            the head the answer is broken off, so that the client sees it. One log line each.
// Memory     Up to the limits of CallRules in collected bodies, of all calls too (core/budget.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/base/units.h"
#include "tiderace/core/budget.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/exception_log.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/wire/cgi/answer_head.h"

namespace tiderace::http::cgi {

struct CallRules {
    Duration timeout = 30s;                // the deadline above; 0: none
    Duration waiting_max = 10s;            // for a place; then 503
    std::uint64_t body_bytes_max = 1_MiB;  // above: 413
    std::size_t body_bytes_before_start = 64_KiB;
    std::size_t unknown_body_bytes_max = 1_MiB;  // without a Content-Length; above: 411
    std::size_t collected_bytes_max = 16_MiB;    // of all calls of the handler
    std::uint64_t output_bytes_max = 0;          // of an answer's body; above: 502. 0: any
    bool obeys_scope = false;  // its Chain's limits stand above timeout and body_bytes_max
};

// The parts that the calls of one handler share.
struct CallRoom {
    CallRoom(core::EventLoop& loop, const CallRules& r);

    CallRules rules;
    core::Ref<core::Budget> collected;
    FoldedLog faults;
};

class ProgramCall {
    using Reader = wire::cgi::AnswerHeadReader;

  public:
    ProgramCall(core::EventLoop& loop, CallRoom& room, std::string_view name);
    virtual ~ProgramCall();
    ProgramCall(const ProgramCall&) = delete;
    ProgramCall& operator=(const ProgramCall&) = delete;

    // The program writes a whole answer, with its status line. Before begin().
    void read_whole_answer() { reader_ = Reader(Reader::Form::whole_answer); }
    // Defers the exchange and starts reading its body. on_ready_to_start() follows, perhaps inside.
    void begin(Exchange& exchange);
    // There is a place: start() is called.
    void let_in();
    // There will be none.
    [[gnu::cold]] void refuse(std::string_view why);

  protected:
    using State = BodySource::State;

    // Enough of the body is here: requests a place, then let_in() or refuse().
    virtual void on_ready_to_start() = 0;
    // Starts the program. A fault is reported by fail().
    virtual void start() = 0;
    // Once more from there, for a request that may be sent again: on_ready_to_start().
    void wait_for_place();
    // More of the body is in pending(), or its end came (body_ended()).
    virtual void on_body() = 0;
    // The answer's body is to be read and dropped.
    virtual void want_output() = 0;
    // More of the answer's body, after its head.
    virtual State pull_output(core::BlockPool& blocks, core::SendQueue& out,
                              std::size_t bytes_wanted) = 0;
    // The exchange needs the program no more, so it is ended. The last call from here.
    virtual void on_over() = 0;

    // The program's output until the head is complete. Returns the bytes used; the rest is the
    // body's. A bad head ends the call; of a complete one, answer() is to follow, while `bytes`
    // last.
    std::size_t take_head(ByteView bytes);
    bool head_complete() const { return reader_.state() == Reader::State::complete; }
    // Answers with the head; the body is pulled, perhaps inside. `bytes` of it have come.
    void answer(std::uint64_t bytes);
    // The same for a call whose output has ended: `body` is all of it. The call is over then.
    void answer_whole(ByteView body);
    void answer_whole(core::SendQueue body);
    bool answered() const { return answered_; }
    // The answer has no body that is sent: what the program writes is dropped.
    bool drops_output() const { return drops_output_; }
    // The body that waits for output can go on.
    void output_ready();
    // The output ended before the head was complete.
    [[gnu::cold]] void fail_without_head();
    // 502, 503 or 504, or the answer breaks off; and over. `why`: "it was ended by signal 9".
    [[gnu::cold]] void fail(int status, std::string_view why);
    // All was done as it should be.
    void finish();
    bool over() const { return phase_ == Phase::over; }

    // The collected part of the body, to be taken from the front.
    ByteView pending() const { return ByteView(pending_).substr(pending_taken_); }
    void take_pending(std::size_t bytes);
    bool body_ended() const { return body_ended_; }
    // The program takes no more of it.
    void drop_body();
    // Something moved: the deadline begins anew.
    void note_progress() { progress_ = loop_->now(); }

    core::EventLoop& loop() { return *loop_; }
    log::Logger* log() { return loop_->log(); }
    const std::string& name() const { return name_; }
    // Until the call has answered.
    const Exchange& exchange() const { return *exchange_; }
    const Request& request() const { return exchange_->request(); }
    const core::ClientKey& client() const { return collected_.client(); }
    // CONTENT_LENGTH, from on_ready_to_start() on.
    std::optional<std::uint64_t> content_length() const { return length_; }

  private:
    enum class Phase : std::uint8_t { collecting, waiting, running, over };
    class Body;
    class Source;
    struct Gone final : AbandonObserver {
        explicit Gone(ProgramCall& c) : call(&c) {}
        void on_abandoned() override { call->on_client_gone(); }
        ProgramCall* call;
    };
    struct Collected final : core::Budget::Holder {
        explicit Collected(ProgramCall& c) : call(&c) {}
        void refuse() TR_ON_LOOP override { call->fail(503, "too much of bodies is collected"); }
        ProgramCall* call;
    };
    struct Deadline final : core::Timer {
        explicit Deadline(ProgramCall& c) : call(&c) {}
        void on_expired() override { call->on_deadline(); }
        ProgramCall* call;
    };

    void take_body(ByteView bytes);
    void drop_pending();
    void end_body();
    bool answer_without_body();
    template <typename Whole>
    void answer_at_end(Whole body, std::uint64_t bytes);
    void copy_head_to(Response& response) const;
    const char* fault_of_length(std::uint64_t written, bool at_end) const;
    void ready_to_start();
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted);
    void on_source_gone();
    [[gnu::cold]] void on_client_gone();
    void on_deadline();
    bool waits_for_client() const;
    void drop_exchange();
    void end();

    core::EventLoop* loop_;
    CallRoom* room_;
    Duration timeout_;
    std::string name_;
    core::Ref<Exchange> exchange_;  // none: answered, or the client is gone
    Gone gone_{*this};
    Deadline deadline_{*this};
    Instant progress_{};
    Phase phase_ = Phase::collecting;

    std::optional<std::uint64_t> length_;  // of the body: as the client gave it, or as collected
    std::string pending_;
    std::size_t pending_taken_ = 0;
    Collected collected_{*this};  // what is pending
    bool has_body_ = false;       // there is a receiver
    bool body_ended_ = false;
    bool reading_ = true;

    Reader reader_;
    Source* source_ = nullptr;
    std::uint64_t output_bytes_ = 0;
    bool answered_ = false, broken_ = false;
    bool drops_output_ = false, source_waits_ = false;
};

}  // namespace tiderace::http::cgi
