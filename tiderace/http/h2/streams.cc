#include "tiderace/http/h2/streams.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/http/h2/connection.h"
#include "tiderace/http/h2/sender.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/net/progress_rate.h"

namespace tiderace::http {

using wire::H2Act;
using wire::H2Error;
using wire::H2StreamEvent;
using wire::H2StreamState;

H2Service& H2Streams::service() const {
    return connection_->service();
}
H2Sender& H2Streams::sender() const {
    return connection_->sender();
}

// --- which there are -------------------------------------------------------------------------

// A few bytes that name entries of HPACK's table can stand for a head of 32 KiB, so the memory of
// kept heads is also limited.
bool H2Streams::are_too_many() const {
    const H2Options& options = service().options();
    return open_.size() >= options.streams_max || heads_bytes_ >= options.heads_bytes_max;
}

core::HeldBytes H2Streams::held_bytes() const {
    core::HeldBytes held;
    for (const core::Ref<H2Exchange>& exchange : open_.all()) {
        held += exchange->out().held();
        if (exchange->has_output() && exchange->write_due != Instant::max()) {
            held.waits = std::max(held.waits, service().loop().now() - exchange->write_since);
        }
        const net::Connection* const tunnel = exchange->tunnel_connection();
        if (tunnel != nullptr) held += tunnel->held_bytes();
    }
    return held;
}

// --- their states ----------------------------------------------------------------------------

bool H2Streams::advance(H2Exchange& exchange, H2StreamEvent event) {
    const Transition transition = wire::h2_transition(exchange.state, event);
    switch (transition.verdict) {
        case Transition::Verdict::ok:
            exchange.state = transition.next;
            return true;
        case Transition::Verdict::ignore:
            return false;
        case Transition::Verdict::stream_error:
            if (connection_->charge(H2Act::fault)) reset(exchange, transition.error);
            return false;
        case Transition::Verdict::connection_error:
            connection_->fail(transition.error);
            return false;
        case Transition::Verdict::misuse:
            break;
    }
    // We never send a frame that a stream's state does not allow.
    TR_CHECK(false, "a frame that this stream's state does not allow us");
    return false;
}

// A frame for a closed stream: usually sent before our reset arrived, so tolerated, but counted.
void H2Streams::late_frame(std::uint32_t stream, H2StreamEvent event) {
    if (connection_->is_closing() || !connection_->charge(H2Act::late_frame)) return;
    const Transition transition = wire::h2_transition(closed_.state_of(stream), event);
    if (transition.verdict == Transition::Verdict::stream_error) {
        if (connection_->charge(H2Act::fault)) refuse(stream, transition.error);
    } else if (transition.verdict == Transition::Verdict::connection_error) {
        connection_->fail(transition.error);
    }
}

// --- their ends ------------------------------------------------------------------------------

// While a step of a stream is on the stack, the stream is not closed under it; the outermost step
// settles it at its end.
H2Streams::Step::Step(H2Streams& streams, H2Exchange& exchange)
    : streams_(&streams), exchange_(&exchange), outermost_(!exchange.stepping) {
    exchange.stepping = true;
}

// May run while an exception leaves the step, so it lets out none of its own.
H2Streams::Step::~Step() {
    if (!outermost_) return;
    exchange_->stepping = false;
    net::Connection& connection = streams_->connection_->connection();
    if (!core::contain(connection.loop().log(), "http", "the end of a stream",
                       [this]() TR_ON_LOOP { streams_->step_done(std::move(exchange_)); })) {
        connection.close(net::CloseReason::session_failed);
    }
}

void H2Streams::reset(H2Exchange& exchange, H2Error error) {
    if (!exchange.attached() || connection_->is_closing()) return;
    exchange.state = H2StreamState::reset_by_us;  // close() remembers it
    write_reset(exchange.stream(), error);
    close(exchange);
}

void H2Streams::write_reset(std::uint32_t stream, H2Error error) {
    ++service().counters().resets_sent;
    sender().reset(stream, error);
}

void H2Streams::refuse(std::uint32_t stream, H2Error error) {
    // Later frames of this stream are late, not new.
    closed_.remember(stream, H2StreamState::reset_by_us);
    write_reset(stream, error);
}

void H2Streams::step_done(core::Ref<H2Exchange> held) {
    H2Exchange& exchange = *held;
    if (!exchange.attached()) return service().give_back(std::move(held));
    held = {};  // the table holds it, and settle() may give it back
    settle(exchange);
}

// Work is due only in the states in which our answer is complete.
// half_closed_local: the request still comes, so its rest is read and dropped while that is cheap
// (may_drop_rest), because a client that only writes before it reads would not see the answer.
void H2Streams::settle(H2Exchange& exchange) {
    if (exchange.stepping || !exchange.attached()) return;
    if (exchange.state == H2StreamState::ended) {
        close(exchange);
    } else if (exchange.state == H2StreamState::half_closed_local) {
        // RFC 9113, 8.1: after a complete answer, RST_STREAM with NO_ERROR asks the peer not to
        // send the rest of its request.
        if (!exchange.may_drop_rest()) return reset(exchange, H2Error::no_error);
        watch_body(exchange);
    } else {
        return;
    }
    connection_->stream_settled();
}

void H2Streams::insert(core::Ref<H2Exchange> exchange) {
    open_.insert(std::move(exchange));
    ++service().counters().streams_open;
}

// Logged before anything is released, because the record reads the request's views. The handlers
// that hold the exchange are notified last: they may answer or close other streams.
void H2Streams::close(H2Exchange& exchange) {
    log_answer(exchange);
    sender().scheduler().remove(exchange);
    core::Ref<H2Exchange> held = open_.take(exchange.stream());
    --service().counters().streams_open;
    const bool ended = held->state == H2StreamState::ended;
    const bool by_peer = held->state == H2StreamState::reset_by_peer;
    // An orderly end and a reset allow different late frames (RFC 9113, 5.1).
    closed_.remember(held->stream(), ended || by_peer ? held->state : H2StreamState::reset_by_us);
    const std::size_t unread = held->held_bytes();
    heads_bytes_ -= held->pinned_bytes();
    if (!held.only_owner()) held->outlive_connection();
    ended ? held->complete() : held->disconnect();
    service().give_back(std::move(held));
    if (open_.empty()) connection_->last_stream_closed();
    // These were counted in the connection's window, and will not be read any more. Last, because
    // it may lack memory: the exchange must know of its end by then.
    connection_->give_back_window(unread);
}

void H2Streams::log_answer(const H2Exchange& exchange) {
    const SiteLoop& site = service().site();
    if (!site.logs() || !exchange.responded()) return;
    site.write_log(service().loop().log(), exchange.record());
}

// Needs no memory, because a connection that ends for lack of it ends here. An observer of one end
// may answer others, which ends them.
void H2Streams::close_all() {
    while (const core::Ref<H2Exchange> exchange = open_.any()) close(*exchange);
}

void H2Streams::reset_unfinished_requests() {
    // Without the end of their body these requests can never be complete.
    for (const core::Ref<H2Exchange>& exchange : open_.all()) {
        if (!exchange->body_arrived()) reset(*exchange, H2Error::cancel);
    }
}

void H2Streams::reset_what_waits_for_windows() {
    for (const core::Ref<H2Exchange>& exchange : open_.all()) {
        if (exchange->waits_for(sender().window())) reset(*exchange, H2Error::cancel);
    }
}

// --- their deadlines -------------------------------------------------------------------------

// body_due and write_due are never moved by traffic: each is checked when it passes, against the
// bytes counted since it was set. So a frame costs no timer work, and due_ is a lower bound.
void H2Streams::watch_body(H2Exchange& exchange) {
    if (exchange.body_arrived() || connection_->is_closing()) return;
    exchange.body_due = moment_after(service().loop().now(), service().options().body_timeout);
    exchange.body_mark = exchange.body_bytes();
    due_ = std::min(due_, exchange.body_due);
    connection_->stream_watched();
}

void H2Streams::look(Instant now, bool socket_behind) {
    if (due_ > now) return;
    due_ = Instant::max();
    for (const core::Ref<H2Exchange>& exchange : open_.all()) {
        look_at(*exchange, now, socket_behind);
    }
}

void H2Streams::look_at(H2Exchange& exchange, Instant now, bool socket_behind) {
    if (!exchange.attached()) return;
    const H2Options& options = service().options();
    if (exchange.body_due <= now) {
        const net::ProgressRate rate{.period = options.body_timeout,
                                     .bytes_per_second_min = options.receive_bytes_per_second_min};
        exchange.body_due = Instant::max();
        // Not while a handler has paused its body, or did not request it: then the peer is waiting
        // for us. Also not while it reads no answers and we leave its frames unread.
        if (exchange.body_flows() && !connection_->connection().has_backlog() &&
            !rate.is_met_by(exchange.body_bytes() - exchange.body_mark)) {
            return body_is_late(exchange);
        }
        if (exchange.body_flows()) watch_body(exchange);
    }
    if (exchange.write_due <= now) {
        exchange.write_due = Instant::max();
        // While the socket is behind, the connection's own write limits apply.
        Duration time = options.write_timeout;
        if (!socket_behind && !exchange.socket_was_behind &&
            exchange.waits_for(sender().window())) {
            time = time_bought(exchange);
        }
        if (time < 1ms) {
            ++service().counters().timed_out;
            return reset(exchange, H2Error::cancel);
        }
        if (exchange.has_output()) watch_answer(exchange, now, time, socket_behind);
    }
    due_ = std::min({due_, exchange.body_due, exchange.write_due});
}

// While an answer makes progress, or waits for the peer's windows, it is served; a handler that
// gives nothing for a whole period has had its time.
void H2Streams::check_half_closed() {
    for (const core::Ref<H2Exchange>& exchange : open_.all()) {
        if (!exchange->attached() || exchange->waits_to_be_sent()) continue;
        const bool progress = exchange->answer_bytes() != exchange->write_mark;
        exchange->write_mark = exchange->answer_bytes();
        if (exchange->responded() && (progress || !exchange->has_output())) continue;
        ++service().counters().timed_out;
        const Step step(*this, *exchange);
        exchange->refuse(503, "The answer took too long.");
        if (!exchange->answer_complete()) reset(*exchange, H2Error::cancel);
    }
}

void H2Streams::watch_answer(H2Exchange& exchange, Instant now, bool socket_behind) {
    watch_answer(exchange, now, service().options().write_timeout, socket_behind);
}

void H2Streams::watch_answer(H2Exchange& exchange, Instant now, Duration time, bool socket_behind) {
    exchange.write_since = now;
    exchange.write_due = moment_after(now, time);
    due_ = std::min(due_, exchange.write_due);
    exchange.write_mark = exchange.answer_bytes();
    exchange.connection_mark = sender().data_sent();
    exchange.window_was_closed = exchange.send_window.available() == 0;
    exchange.socket_was_behind = socket_behind;
}

// How long the peer may hold the stream up after what it let through since the last check:
//
//   its own window was closed then and is now:    for what was sent of it meanwhile
//   the connection's window is closed:            for what was sent of all streams
//   otherwise it waited for other streams, which is our scheduler's doing
Duration H2Streams::time_bought(const H2Exchange& exchange) const {
    const H2Options& options = service().options();
    const net::ProgressRate rate{.period = options.write_timeout,
                                 .bytes_per_second_min = options.send_bytes_per_second_min};
    const bool own_window_closed = exchange.send_window.available() == 0;
    if (own_window_closed && exchange.window_was_closed) {
        return rate.time_for(exchange.answer_bytes() - exchange.write_mark);
    }
    return rate.time_for(sender().data_sent() - exchange.connection_mark);
}

void H2Streams::body_is_late(H2Exchange& exchange) {
    ++service().counters().timed_out;
    const Step step(*this, exchange);
    const bool answer_began = exchange.responded();
    exchange.refuse(408, "The request did not arrive in time.");
    // A 408 just begun has its own deadline, and the stream ends with it.
    if (answer_began && !exchange.answer_complete()) reset(exchange, H2Error::cancel);
}

}  // namespace tiderace::http
