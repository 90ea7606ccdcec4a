#include "tiderace/http/cgi/program_call.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/framing.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::http::cgi {

using wire::FieldName;
using wire::cgi::AnswerHead;

class ProgramCall::Body final : public BodyReceiver {
  public:
    explicit Body(ProgramCall& call) : call_(&call) {}

    void on_body(Exchange&, ByteView bytes) override { call_->take_body(bytes); }
    void on_body_end(Exchange&) override { call_->end_body(); }
    void on_body_failed(Exchange&) override {
        call_->has_body_ = false;
        call_->on_client_gone();
    }

  private:
    ProgramCall* call_;  // withdraws this before it goes
};

class ProgramCall::Source final : public BodySource {
  public:
    explicit Source(ProgramCall& call) : call_(&call) {}
    ~Source() override {
        if (call_ != nullptr) call_->on_source_gone();
    }

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t wanted) override {
        return call_ != nullptr ? call_->pull(blocks, out, wanted) : State::failed;
    }
    void forget() { call_ = nullptr; }

  private:
    ProgramCall* call_;  // nullptr: the call is over before its answer was
};

CallRoom::CallRoom(core::EventLoop& loop, const CallRules& r)
    : rules(r),
      collected(core::make_ref<core::Budget>(loop, "bodies for programs", r.collected_bytes_max)),
      faults({.level = log::Level::warning,
              .scope = "cgi",
              .again = "the same fault of a program again",
              .others = "faults of programs of other kinds, which were not logged"}) {}

ProgramCall::ProgramCall(core::EventLoop& loop, CallRoom& room, std::string_view name)
    : loop_(&loop), room_(&room), timeout_(room.rules.timeout), name_(name) {}

ProgramCall::~ProgramCall() {
    drop_exchange();
}

void ProgramCall::begin(Exchange& exchange) {
    const ByteView length = exchange.request().header(FieldName::content_length);
    if (!length.empty()) length_ = wire::parse_content_length(length).value;
    // The answer comes later: without this it would be 500 as soon as the handler returns.
    std::uint64_t body_bytes_max = room_->rules.body_bytes_max;
    if (room_->rules.obeys_scope && exchange.chain() != nullptr) {
        body_bytes_max = exchange.chain()->body_bytes_max.value_or(body_bytes_max);
        timeout_ = exchange.chain()->handler_timeout.value_or(timeout_);
    }
    exchange_ = exchange.defer();
    collected_.join(room_->collected, *exchange.request().peer);
    try {
        exchange.observe(gone_);
        if (!exchange.has_body()) {
            body_ended_ = true;
            return ready_to_start();
        }
        has_body_ = true;
        exchange.receive_body(std::make_unique<Body>(*this), body_bytes_max);
    } catch (...) {
        // The exchange answers what a handler throws, and its observers learn nothing of it.
        on_client_gone();
        throw;
    }
}

// --- the request's body ------------------------------------------------------------------------

void ProgramCall::take_body(ByteView bytes) {
    if (over()) return;
    pending_.append(bytes);
    // For all calls together: many slow uploads must not add up without a bound.
    collected_.grow_to(pending().size());
    if (over()) return;
    const CallRules& rules = room_->rules;
    if (phase_ == Phase::running) {
        note_progress();
        on_body();
    } else if (phase_ == Phase::collecting && !length_) {
        // The program needs CONTENT_LENGTH before its first byte (RFC 3875, 4.1.2), so a body of
        // unknown length is collected whole.
        if (pending_.size() > rules.unknown_body_bytes_max) {
            return fail(411, "the body is too long to be collected; send a Content-Length");
        }
    } else if (phase_ == Phase::collecting && (room_->collected->is_scarce() ||
                                               pending_.size() >= rules.body_bytes_before_start)) {
        ready_to_start();
    }
    // A body ahead of its program waits at the client.
    if (!over() && reading_ && phase_ != Phase::collecting && !pending().empty()) {
        reading_ = false;
        exchange_->set_body_reading(false);
    }
}

void ProgramCall::end_body() {
    has_body_ = false;
    body_ended_ = true;
    if (over()) return;
    // Until now the client was waited for.
    note_progress();
    if (phase_ == Phase::collecting) return ready_to_start();
    if (phase_ == Phase::running) on_body();
}

void ProgramCall::take_pending(std::size_t bytes) {
    note_progress();
    pending_taken_ += bytes;
    collected_.shrink_to(pending().size());
    if (pending_taken_ < pending_.size()) return;
    // A buffer that grew while it was collected is not kept for the rest.
    pending_ = {};
    pending_taken_ = 0;
    if (!reading_ && exchange_ && has_body_) {
        reading_ = true;
        exchange_->set_body_reading(true);
    }
}

void ProgramCall::drop_pending() {
    pending_ = {};
    pending_taken_ = 0;
    collected_.shrink_to(0);
}

void ProgramCall::drop_body() {
    drop_pending();
    body_ended_ = true;
    if (exchange_ && std::exchange(has_body_, false)) exchange_->withdraw_body();
}

// --- a place, and the start --------------------------------------------------------------------

void ProgramCall::ready_to_start() {
    if (!length_ && !pending_.empty()) length_ = pending_.size();
    wait_for_place();
}

void ProgramCall::wait_for_place() {
    phase_ = Phase::waiting;
    on_ready_to_start();
    // Most find a place at once.
    if (phase_ == Phase::waiting) {
        loop_->arm(deadline_, moment_after(loop_->now(), room_->rules.waiting_max));
    }
}

void ProgramCall::let_in() {
    TR_CHECK(phase_ == Phase::waiting);
    phase_ = Phase::running;
    note_progress();
    loop_->cancel(deadline_);
    if (timeout_ > Duration::zero()) {
        loop_->arm(deadline_, moment_after(loop_->now(), timeout_));
    }
    // Its caller may be reading for another call, which an exception would end.
    if (!core::contain(log(), "cgi", "the start of a program", [this] { start(); })) {
        fail(503, "it could not be started");
    }
}

void ProgramCall::refuse(std::string_view why) {
    fail(503, why);
}

// --- the answer --------------------------------------------------------------------------------

std::size_t ProgramCall::take_head(ByteView bytes) {
    note_progress();
    const std::size_t used = reader_.feed(bytes);
    if (reader_.state() == Reader::State::refused) {
        fail(502, wire::cgi::to_string(reader_.fault()));
        return bytes.size();
    }
    return used;
}

// The fields are views of the reader's text, or of the bytes that completed it. Both outlast the
// answer's respond().
void ProgramCall::copy_head_to(Response& response) const {
    for (const wire::Field& field : reader_.head().fields) {
        field.id == FieldName::other ? response.add(field.name, field.value)
                                     : response.add(field.id, field.value);
    }
}

// True: the answer has no body of the program's.
bool ProgramCall::answer_without_body() {
    const AnswerHead& head = reader_.head();
    const bool is_head = request().method() == wire::Method::head;
    const bool has_none = head.status == 205 || wire::has_no_body(head.status);
    if (!is_head && !has_none) return false;
    // The program goes on until its end: what it does may be more than its answer.
    answered_ = drops_output_ = true;
    Response response(head.status);
    copy_head_to(response);
    // Most programs write no body for HEAD, so the bytes that they wrote are not its length.
    if (is_head) response.set_unsent_body(head.content_length);
    const core::Ref<Exchange> exchange = exchange_;
    drop_exchange();
    exchange->respond(response);
    want_output();
    return true;
}

void ProgramCall::answer_whole(ByteView body) {
    answer_at_end(body, body.size());
}

void ProgramCall::answer_whole(core::SendQueue body) {
    const std::uint64_t bytes = body.bytes();
    answer_at_end(std::move(body), bytes);
}

// A source, its chunks and its wait for the end would cost more than a short answer itself.
template <typename Whole>
void ProgramCall::answer_at_end(Whole body, std::uint64_t bytes) {
    if (answer_without_body()) return;
    // Nothing is sent yet, so a wrong length is 502. Later it would break the answer off.
    if (const char* fault = fault_of_length(bytes, true)) return fail(502, fault);
    answered_ = true;
    Response response(reader_.head().status);
    copy_head_to(response);
    response.set_body(std::move(body));
    const core::Ref<Exchange> exchange = exchange_;
    finish();
    exchange->respond(response);
}

void ProgramCall::answer(std::uint64_t bytes) {
    if (answer_without_body()) return;
    if (const char* fault = fault_of_length(bytes, false)) return fail(502, fault);
    answered_ = true;
    Response response(reader_.head().status);
    copy_head_to(response);
    auto source = std::make_unique<Source>(*this);
    // The exchange owns the source and destroys it when the answer ends or its client goes.
    source_ = source.get();
    response.set_body(std::move(source), reader_.head().content_length);
    const core::Ref<Exchange> exchange = exchange_;
    exchange->respond(response);
}

// nullptr: none. A length that the program promised is kept to the byte: more would be taken for
// the next answer, and less must look cut.
const char* ProgramCall::fault_of_length(std::uint64_t written, bool at_end) const {
    const std::uint64_t most = room_->rules.output_bytes_max;
    if (most > 0 && written > most) return "it wrote more than it may";
    const auto& length = reader_.head().content_length;
    if (length && written > *length) return "it wrote more than its Content-Length";
    if (length && at_end && written < *length) return "it wrote less than its Content-Length";
    return nullptr;
}

ProgramCall::State ProgramCall::pull(core::BlockPool& blocks, core::SendQueue& out,
                                     std::size_t bytes_wanted) {
    if (broken_) return State::failed;
    source_waits_ = false;
    note_progress();
    const std::uint64_t before = out.bytes();
    State state = pull_output(blocks, out, bytes_wanted);
    if (broken_) return State::failed;
    output_bytes_ += out.bytes() - before;
    if (const char* fault = fault_of_length(output_bytes_, state == State::end)) {
        fail(502, fault);
        return State::failed;
    }
    source_waits_ = state == State::wait;
    if (state == State::end) finish();
    return state;
}

void ProgramCall::output_ready() {
    if (!source_waits_ || !exchange_) return;
    note_progress();
    source_waits_ = false;
    const core::Ref<Exchange> exchange = exchange_;
    exchange->body_ready();
}

// --- the ends ----------------------------------------------------------------------------------

void ProgramCall::fail_without_head() {
    fail(502, reader_.empty() ? "it wrote nothing" : "it ended in the middle of its head");
}

void ProgramCall::fail(int status, std::string_view why) {
    if (over()) return;
    // A program that is down fails each request alike.
    core::contain(log(), "cgi", "the report of a fault", [&] {
        if (log() == nullptr) return;
        room_->faults.write(
            *loop_, answered_ ? "an answer was broken off" : "a program gave no answer",
            {{"program", name_}, {"why", std::string(why)}}, {log::field("status", status)});
    });
    const core::Ref<Exchange> exchange = exchange_;
    broken_ = true;
    if (source_ != nullptr && exchange && source_waits_) {
        source_waits_ = false;
        exchange->body_ready();  // pulls, learns it, and may end the source and with it this call
        if (over()) return;
    }
    drop_exchange();
    if (exchange && !exchange->responded() && !exchange->abandoned()) {
        // Nothing that throws here may keep the call from its end.
        exchange->run([&] {
            Response response(status);
            if (status == 503) response.add(FieldName::retry_after, "1");
            exchange->respond(response);
        });
    }
    end();
}

void ProgramCall::finish() {
    if (over()) return;
    drop_exchange();
    end();
}

// The exchange and all that hangs on it.
void ProgramCall::drop_exchange() {
    gone_.unlink();
    if (source_ != nullptr) std::exchange(source_, nullptr)->forget();
    const core::Ref<Exchange> exchange = std::exchange(exchange_, {});
    if (exchange && std::exchange(has_body_, false)) exchange->withdraw_body();
    drop_pending();
}

void ProgramCall::end() {
    phase_ = Phase::over;
    loop_->cancel(deadline_);
    on_over();
}

// The source was not pulled to its end: the client is gone.
void ProgramCall::on_source_gone() {
    source_ = nullptr;
    on_client_gone();
}

void ProgramCall::on_client_gone() {
    if (over()) return;
    drop_exchange();
    end();
}

bool ProgramCall::waits_for_client() const {
    if (!exchange_) return false;
    if (answered_ && !drops_output_ && !source_waits_) return true;
    return !body_ended_ && pending().empty() && reading_;
}

void ProgramCall::on_deadline() {
    if (phase_ == Phase::waiting) return fail(503, "no place became free");
    // Checked when it passes, not on each event: moving the deadline would cost a timer for each
    // piece.
    if (waits_for_client()) note_progress();
    const Instant due = moment_after(progress_, timeout_);
    if (loop_->now() < due) return loop_->arm(deadline_, due);
    fail(504, "it did nothing for too long");
}

}  // namespace tiderace::http::cgi
