#include "tiderace/http/h1/connection.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/http/wire/h2/frame.h"
#include "tiderace/net/progress_rate.h"

namespace tiderace::http {

// The life of a request:
//
//   start_request -> run (the site) -> settle
//     body wanted, or to be dropped: phase body, feed_body … on_body_end -> settle
//     answered later:                phase answer … on_answered -> settle
//     answered and body complete:    request_done -> idle, or end_connection
//
// settle() checks which parts are done and continues from there. It runs once at the end of each
// step of consume(), and right away for events outside on_data.

namespace {

// Bytes that may wait unread behind a request in progress before the peer is pushed back on.
constexpr std::size_t pipelined_bytes_max = 16_KiB;

// How long a draining server waits for a request: for the first of a connection, which was made to
// send one, and between two.
constexpr Duration drain_wait_fresh = 500ms;
constexpr Duration drain_wait_idle = 100ms;

constexpr std::string_view too_slow = "The request did not arrive in time.";
constexpr std::string_view too_late = "The answer took too long.";

}  // namespace

H1Connection::H1Connection(H1Service& service, net::Connection& connection)
    : service_(&service), connection_(&connection) {
    connection.set_deadline(moment_after(service.loop().now(), service.options().header_timeout));
}

bool H1Connection::may_keep_alive() const {
    const std::uint32_t requests_max = service_->options().requests_max;
    // While it is consumed, what a finished peer sent may hold another request.
    const bool may_have_more = !peer_finished_ || consuming_ || connection_->has_unread();
    return !draining_ && may_have_more && phase_ != Phase::closing &&
           (requests_max == 0 || requests_ < requests_max);
}

std::size_t H1Connection::on_data(net::Connection&, ByteView data) {
    std::size_t used = 0;
    try {
        consuming_ = true;
        used = consume(data);
        consuming_ = false;
    } catch (...) {
        consuming_ = false;
        if (handed_over_) delete this;  // the connection knows another Session
        throw;
    }
    if (handed_over_) {
        delete this;
        return used;
    }
    // Unread bytes are kept in memory, and more than unread_bytes_max would close the connection.
    // Reading resumes when this request is done.
    if (exchange_ && data.size() - used > pipelined_bytes_max) connection_->set_reading(false);
    if (peer_finished_) end_of_input(used < data.size());
    return used;
}

std::size_t H1Connection::consume(ByteView data) {
    std::size_t used = 0;
    // A connection that is closing drops all further bytes.
    while (used < data.size() && !handed_over_ && phase_ != Phase::closing &&
           !connection_->closing()) {
        ByteView rest = data;
        rest.remove_prefix(used);
        std::size_t step = 0;
        if (exchange_ && !exchange_->body_complete()) {
            step = core::Ref<H1Exchange>(exchange_)->feed_body(rest);
            // A peer that does not read its answers gets no further request served: each would only
            // add to the queue. on_drained comes before the unread bytes are delivered again.
        } else if (!exchange_ && !connection_->has_backlog()) {
            step = start_request(rest);
        }
        settle();
        if (step == 0) break;
        used += step;
    }
    return used;
}

// HTTP/2's preface is no valid request of HTTP/1, so its first five bytes are enough to be sure.
bool H1Connection::begins_http2(ByteView data) const {
    constexpr std::size_t enough = ByteView("PRI *").size();
    if (requests_ > 0 || service_->http2() == nullptr) return false;
    // Over TLS what ALPN chose is spoken; where it chose nothing, HTTP/1 (RFC 9113 section 3.2).
    const net::TransportSecurity* security = connection_->security();
    if (security != nullptr) return security->protocol == "h2";
    return data.starts_with(wire::h2_preface.substr(0, enough));
}

// The bytes stay unread, and are given to the other Session in this turn.
void H1Connection::become_http2() {
    connection_->set_deadline(Instant::max());
    connection_->replace_session(service_->http2()->make_session(*connection_));
    handed_over_ = true;
    if (draining_) connection_->drain();
}

std::size_t H1Connection::start_request(ByteView data) {
    if (begins_http2(data)) {
        become_http2();
        return 0;
    }
    if (head_bytes_seen_ > 0 && data.size() > head_bytes_seen_ &&
        data.size() <= service_->options().head.request_line_bytes_max &&
        data.find('\n', head_bytes_seen_) == ByteView::npos) {
        return wait_for_head(data);  // no new line: parsing again would find nothing new
    }
    core::Ref<H1Exchange> exchange = service_->take_exchange();
    const wire::HeadParse parsed = exchange->parse(data, service_->options().head);
    if (parsed.status == wire::ParseStatus::need_more) {
        service_->give_back(std::move(exchange));
        return wait_for_head(data);
    }
    head_bytes_seen_ = 0;
    ++requests_;
    ++service_->counters().requests;
    exchange_ = std::move(exchange);
    if (parsed.status == wire::ParseStatus::refused) {
        exchange_->begin_refused(*this, data.starts_with("HEAD "));
        refuse(parsed.refusal);
        return data.size();
    }
    // Held, because run() may hand the connection over, which releases exchange_.
    const core::Ref<H1Exchange> held = exchange_;
    const wire::Refusal refusal = exchange_->begin(*this, {data.data(), parsed.bytes});
    if (refusal != wire::Refusal::none) {
        refuse(refusal);
        return data.size();
    }
    run(*held);
    return parsed.bytes;
}

// Entered once for each head: its deadline counts from the first byte, so that a head sent byte by
// byte does not renew it.
std::size_t H1Connection::wait_for_head(ByteView data) {
    head_bytes_seen_ = static_cast<std::uint32_t>(data.size());
    if (phase_ != Phase::head) enter(Phase::head);
    return 0;
}

// The handler may have done anything by the time serve() returns: answered, deferred, requested the
// body, or handed the connection over, after which nothing of it may be touched.
void H1Connection::run(H1Exchange& exchange) {
    service_->site().serve(exchange);
    if (handed_over_) return;
    if (exchange.must_answer()) exchange.respond_status(500);
    if (exchange.answer_complete() && exchange.body_complete()) return;
    exchange.pin();  // it outlives the receive buffer, if only for the log
    if (exchange.answer_complete()) return;
    enter(exchange.body_flows() ? Phase::body : Phase::answer);
}

bool H1Connection::may_follow(Phase from, Phase to) {
    switch (to) {
        case Phase::fresh:
            break;  // where it begins
        case Phase::head:
            return from == Phase::fresh || from == Phase::idle;
        case Phase::idle:
        case Phase::body:
        case Phase::answer:
        case Phase::closing:
            return from != Phase::closing;
    }
    return false;
}

// To enter a phase again gives it its whole time once more.
void H1Connection::enter(Phase next) {
    TR_CHECK(may_follow(phase_, next), "a phase that cannot follow");
    const Phase before = std::exchange(phase_, next);
    const H1Options& options = service_->options();
    const Instant now = service_->loop().now();
    switch (next) {
        case Phase::fresh:
            break;
        case Phase::head:
            // The first head has been waited for since the connection was accepted.
            if (before != Phase::fresh)
                connection_->set_deadline(moment_after(now, options.header_timeout));
            break;
        case Phase::idle:
            connection_->set_deadline(moment_after(now, options.idle_timeout));
            break;
        case Phase::body:
            exchange_->body_mark = exchange_->body_bytes();
            connection_->set_deadline(moment_after(now, options.body_timeout));
            break;
        case Phase::answer:
            // A peer that ended its side may wait for the answer, or be gone: we cannot tell.
            exchange_->body_mark = exchange_->answer_bytes();
            connection_->set_deadline(
                peer_finished_ ? moment_after(now, options.half_closed_timeout) : Instant::max());
            break;
        case Phase::closing:
            connection_->set_deadline(Instant::max());
            break;
    }
}

// --- reports of the present exchange ---------------------------------------------------------

void H1Connection::on_answered(H1Exchange&) {
    settle_unless_consuming();
}

// The deadline of the body runs from here, not from the head: until a handler wants the body, the
// peer waits for us.
void H1Connection::on_body_wanted() {
    if (phase_ != Phase::body) enter(Phase::body);
    if (!consuming_) resume_reading();
}

void H1Connection::on_body_end(H1Exchange&) {
    if (phase_ == Phase::body) enter(Phase::answer);
    settle_unless_consuming();
}

void H1Connection::set_body_reading(bool on) {
    connection_->set_reading(on);
    if (on && !consuming_) resume_reading();
}

void H1Connection::pump(H1Exchange& exchange) {
    core::Ref<H1Exchange> self(&exchange);
    exchange.pump();
    settle_unless_consuming();
}

void H1Connection::stop_discarding() {
    end_connection(false);
}

// The exchange is completed first: `make` gives the connection another Session, to which nothing of
// the request belongs any more.
void H1Connection::hand_over(unique_function<net::Session&(net::Connection&)> make) {
    log_answer();
    complete_exchange();
    connection_->set_deadline(Instant::max());
    net::Session* session = nullptr;
    core::contain(service_->loop().log(), "http", "an upgrade",
                  [&] { session = &make(*connection_); });
    if (session == nullptr) return connection_->close(net::CloseReason::aborted);
    connection_->replace_session(*session);
    handed_over_ = true;
    // Otherwise on_data does it, which is still on the stack.
    if (!consuming_) delete this;
}

// --- from one request to the next ------------------------------------------------------------

void H1Connection::settle_unless_consuming() {
    if (!consuming_) settle();
}

void H1Connection::settle() {
    if (!exchange_ || handed_over_ || phase_ == Phase::closing || !exchange_->answer_complete())
        return;
    // The receiver that paused the body is done with it; the rest has to be read, to be dropped.
    if (exchange_->body_paused()) exchange_->set_body_reading(true);
    if (exchange_->body_complete()) {
        request_done();
    } else if (!exchange_->keep_alive()) {
        // The head has announced "Connection: close", so the rest of the body is not read.
        end_connection(false);
    } else if (phase_ != Phase::body) {
        enter(Phase::body);  // the rest of it is read and dropped
        if (!consuming_) resume_reading();
    }
}

void H1Connection::request_done() {
    const bool keep_alive = exchange_->keep_alive();
    // Read before the exchange is given back, which clears it.
    const bool was_last_word = exchange_->was_last_word();
    log_answer();
    complete_exchange();
    // may_keep_alive() again: a drain may have begun, or the peer have ended, since the head was
    // written.
    if (!keep_alive || !may_keep_alive()) {
        end_connection(was_last_word);
        return;
    }
    enter(Phase::idle);
    if (!consuming_) resume_reading();
}

void H1Connection::complete_exchange() {
    if (!exchange_.only_owner()) exchange_->outlive_connection();
    exchange_->complete();
    service_->give_back(std::exchange(exchange_, {}));
}

void H1Connection::resume_reading() {
    connection_->set_reading(true);
    if (connection_->has_unread()) connection_->deliver_unread_later();
}

// After a head that is in doubt, the place where the next request begins is also in doubt. So the
// connection ends, and the bytes behind the head are dropped (RFC 9112, 11.2: request smuggling).
void H1Connection::refuse(wire::Refusal refusal) {
    ++service_->counters().refused;
    core::Ref<H1Exchange> exchange(exchange_);
    exchange->refuse(refusal);
    end_connection(false);
}

void H1Connection::end_connection(bool input_is_clean) {
    if (phase_ == Phase::closing) return;
    const bool is_cut = exchange_ && exchange_->would_look_whole();
    if (exchange_) {
        log_answer();
        if (!exchange_.only_owner()) exchange_->outlive_connection();
        exchange_->disconnect();
        service_->give_back(std::exchange(exchange_, {}));
    }
    enter(Phase::closing);
    if (is_cut) return connection_->close(net::CloseReason::output_cut);
    // Closing while the peer still sends makes the kernel reset the connection, and the reset may
    // overtake our last answer.
    if (input_is_clean && !connection_->has_unread()) {
        connection_->close_when_sent();
    } else {
        connection_->finish();
    }
    if (!consuming_) resume_reading();
}

// --- reports of the connection ---------------------------------------------------------------

void H1Connection::on_drained(net::Connection&) {
    log_large_answer();
    if (exchange_) pump(*exchange_);
}

void H1Connection::on_peer_finished(net::Connection& connection) {
    peer_finished_ = true;
    end_of_input(connection.has_unread());
    // Starts the deadline for answers to a peer that may be gone.
    if (exchange_ && phase_ == Phase::answer) enter(Phase::answer);
}

// The peer's direction has ended. Requests that arrived whole are served; others are given up.
void H1Connection::end_of_input(bool unread) {
    if (exchange_) {
        if (exchange_->body_complete()) return;
        // Unread bytes of a body that is being taken cannot be complete: half a trailer, usually.
        const bool taken = exchange_->body_flows() && !exchange_->body_paused();
        if (unread && !taken) return;
        core::Ref<H1Exchange>(exchange_)->refuse(400, "The body ended before its announced end.");
        end_connection(true);
    } else if (!unread || phase_ == Phase::head) {
        end_connection(true);
    }
}

void H1Connection::on_deadline(net::Connection& connection) {
    const bool waits = phase_ == Phase::fresh || phase_ == Phase::idle;
    if (draining_ && waits) return end_connection(true);
    switch (phase_) {
        case Phase::fresh:
        case Phase::idle:
            // A download may take longer than the idle limit: its own limits are the write ones.
            if (connection.queue_bytes() > 0) return enter(Phase::idle);
            connection.close(net::CloseReason::idle_expired);
            return;
        case Phase::body:
            check_body_progress();
            return;
        case Phase::head:
            break;
        case Phase::answer:
            check_half_closed();
            return;
        case Phase::closing:
            return;
    }
    ++service_->counters().timed_out;
    exchange_ = service_->take_exchange();
    // A part of a head came: the client is there, so it learns why with a 408 (RFC 9110, 15.5.9).
    // One that sent nothing is closed without a word.
    exchange_->begin_refused(*this, false);
    ++service_->counters().refused;
    core::Ref<H1Exchange>(exchange_)->refuse(408, too_slow);
    end_connection(false);
}

// The peer ended its side. While the answer makes progress, or waits for the peer to read, it is
// served; a handler that gives nothing for a whole period has had its time.
void H1Connection::check_half_closed() {
    if (exchange_->answer_bytes() != exchange_->body_mark || connection_->queue_bytes() > 0) {
        return enter(Phase::answer);
    }
    ++service_->counters().timed_out;
    core::Ref<H1Exchange>(exchange_)->refuse(503, too_late);
    end_connection(true);
}

void H1Connection::check_body_progress() {
    // We are the slow one, or the peer does not read, which has limits of its own.
    if (exchange_->body_paused() || connection_->has_backlog()) return enter(Phase::body);
    const H1Options& options = service_->options();
    const net::ProgressRate rate{.period = options.body_timeout,
                                 .bytes_per_second_min = options.receive_bytes_per_second_min};
    if (rate.is_met_by(exchange_->body_bytes() - exchange_->body_mark)) {
        enter(Phase::body);
        return;
    }
    ++service_->counters().timed_out;
    core::Ref<H1Exchange> exchange(exchange_);
    exchange->refuse(408, too_slow);
    end_connection(false);
}

void H1Connection::on_drain(net::Connection& connection) {
    draining_ = true;
    if (exchange_ || connection.has_unread() || phase_ == Phase::closing) return;
    // The next request may be on its way: a close would reset the connection and cut the answer
    // that still leaves, so we end our side and read on.
    if (connection.queue_bytes() > 0) return end_connection(false);
    // A request that has arrived, or is on its way, is answered first, with "Connection: close".
    const Duration wait = phase_ == Phase::fresh ? drain_wait_fresh : drain_wait_idle;
    connection.set_deadline(service_->loop().now() + wait);
}

void H1Connection::on_close(net::Connection&, net::CloseReason) {
    struct Last {
        ~Last() { delete self; }  // also where something throws
        H1Connection* self;
    } const last{this};
    log_large_answer();
    if (!exchange_) return;
    log_answer();
    if (!exchange_.only_owner()) exchange_->outlive_connection();
    exchange_->disconnect();
}

// --- the access log --------------------------------------------------------------------------

void H1Connection::log_answer() {
    if (!service_->site().logs() || !exchange_->responded()) return;
    // A small answer counts as sent when it is queued: it leaves in this turn, and waiting for it
    // would cost every request a copy of its head. A large one is logged when it is gone, or when
    // the peer is.
    if (connection_->closing() ||
        connection_->queue_bytes() <= connection_->limits().queue_bytes_high) {
        write_log(*exchange_);
        return;
    }
    log_large_answer();
    exchange_->head_left();
    // Its views point into the receive block; if memory fails, log it now, as sent in full.
    const bool kept = core::contain(service_->loop().log(), "http", "what the access log keeps",
                                    [this] { exchange_->pin(); });
    kept ? static_cast<void>(unlogged_ = exchange_) : write_log(*exchange_);
}

void H1Connection::log_large_answer() {
    if (!unlogged_) return;
    write_log(*unlogged_);
    service_->give_back(std::exchange(unlogged_, {}));
}

void H1Connection::write_log(const H1Exchange& exchange) {
    const std::uint64_t unsent = connection_->closing() ? connection_->queue_bytes() : 0;
    service_->site().write_log(service_->loop().log(), exchange.record(unsent));
}

}  // namespace tiderace::http
