#include "tiderace/net/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"

namespace tiderace::net {
namespace {

ProgressRate write_rate(const ConnectionLimits& limits) {
    return {.period = limits.write, .bytes_per_second_min = limits.send_bytes_per_second_min};
}

}  // namespace

Connection::Connection(ConnectionId id, Owner& owner, std::unique_ptr<Transport> transport,
                       core::Address peer)
    : transport_(std::move(transport)), owner_(&owner), id_(id), peer_(std::move(peer)) {
    transport_->open(*this);
}

Connection::~Connection() {
    loop().cancel(*this);
}

bool Connection::may_follow(Phase from, Phase to) {
    switch (to) {
        case Phase::open:
            break;  // where it begins
        case Phase::finishing:
            return from == Phase::open || from == Phase::ending;
        case Phase::ending:
            return from == Phase::open;
        // Only after the queue is sent; the way from `ending` leads through `finishing`.
        case Phase::lingering:
            return from == Phase::finishing;
        case Phase::closing:
            return from != Phase::closing;
    }
    return false;
}

void Connection::enter(Phase next) {
    TR_CHECK(may_follow(phase_, next), "a phase that cannot follow");
    phase_ = next;
}

template <typename Call>
void Connection::contain(Call&& call) {
    if (!core::contain(loop().log(), "net", "a session", std::forward<Call>(call))) {
        close(CloseReason::session_failed);
    }
}

void Connection::start(Session& session) {
    loop().assert_on_loop();
    TR_CHECK(session_ == nullptr, "started twice");
    session_ = &session;
    update_receiving();
}

void Connection::replace_session(Session& session) {
    loop().assert_on_loop();
    session_ = &session;
    deliver_unread_later();
}

// After the end of a connection a write is no error: a handler cannot know that the peer has gone.
Backlog Connection::write(ByteView data) {
    if (closing() || data.empty()) return has_backlog() ? Backlog::high : Backlog::low;
    queue_.append(blocks(), data);
    return written();
}

Backlog Connection::written() {
    loop().assert_on_loop();
    if (closing()) {
        // Written in place meanwhile (queue()): nothing will be sent any more.
        queue_.clear();
        return Backlog::low;
    }
    // The end was promised to the transport or is about to be: these bytes could not follow it.
    TR_CHECK(!sending_finished(), "write after finish()");
    const ConnectionLimits& limits = owner_->limits();
    // Only copied bytes count: shared bodies and files cost no memory of this connection.
    if (queue_.copied_bytes() > limits.queue_bytes_max) {
        close(CloseReason::queue_overflow);
        return Backlog::high;
    }
    // The loop's blocks are shared by all connections, so scarcity pushes back on every writer.
    if (queue_.bytes() > limits.queue_bytes_high || blocks().scarce()) pressure_ = Pressure::high;
    if (!delivering_) {
        // A send is in progress, and on_sent() flushes after it; only the back-pressure is due now.
        if (send_pending_) {
            update_receiving();
        } else {
            loop().at_turn_end(*this);
        }
    }
    return has_backlog() ? Backlog::high : Backlog::low;
}

void Connection::flush() {
    loop().assert_on_loop();
    if (closing()) return;
    if (send_pending_) {
        update_receiving();  // what was written meanwhile may have passed the high mark
        return;
    }
    if (queue_.empty()) {
        lagging_ = false;
    } else {
        send_now();
    }
    after_send();
}

void Connection::send_now() {
    const core::Sent sent = transport_->send(queue_);
    bytes_sent_ += sent.bytes;
    // -EBADMSG: the file in front of the queue is shorter than it was when it was queued.
    if (sent.error == -EBADMSG && session_->on_source_shrank(*this)) {
        // At the end of the turn, so that a queue that is short again cannot keep us here.
        if (!queue_.empty()) loop().at_turn_end(*this);
        return;
    }
    if (sent.error != 0) {
        // Nothing else shows the peer that a promised length cannot be kept.
        close(sent.error == -EBADMSG ? CloseReason::source_shrank : CloseReason::peer_reset);
        return;
    }
    send_pending_ = sent.pending;
    const bool began_to_lag = sent.pending && !lagging_;
    lagging_ = sent.pending;
    // Time that runs is left alone: were it to begin anew with each send, it would never end for a
    // peer that takes a byte at a time.
    if (!began_to_lag) return;
    lag_.begin(loop().now(), write_rate(owner_->limits()), taken_bytes());
    arm_for(lag_.due(loop().now()));
}

// By the peer's system: our kernel takes megabytes at once, and then nothing for minutes.
std::uint64_t Connection::taken_bytes() const {
    return bytes_sent_ - transport_->unacknowledged_bytes();
}

// The effects of a shorter queue: back-pressure lifts, a requested end happens.
void Connection::after_send() {
    if (closing()) return;
    if (pressure_ != Pressure::none && queue_.bytes() <= owner_->limits().queue_bytes_low) {
        pressure_ = Pressure::none;
        session_->on_drained(*this);
        // on_drained() may have closed the connection, or queued more; each is handled below.
        if (closing()) return;
        // The Session may have left input unused because of the backlog, so offer it again.
        if (unread_ != nullptr) deliver_unread_later();
        if (!queue_.empty() && !send_pending_) loop().at_turn_end(*this);
    }
    // A transport may have taken all and not be done with it (TLS): then it is pending still.
    if (queue_.empty() && !send_pending_) after_drained();
    update_receiving();
}

// The queue is empty and the transport has sent all: do what was requested for this moment.
void Connection::after_drained() {
    if (phase_ == Phase::open && half_ == Half::ending) {
        half_ = Half::ended;
        transport_->finish();
        return;
    }
    if (phase_ == Phase::ending) {
        // The end is orderly: TLS sends close_notify, so that the peer can tell it from a cut.
        transport_->say_end();
        close(peer_finished() ? CloseReason::peer_finished : CloseReason::finished);
    } else if (phase_ == Phase::finishing && peer_finished()) {
        transport_->say_end();
        close(CloseReason::peer_finished);
    } else if (phase_ == Phase::finishing) {
        // Lingering close (RFC 9112, 9.6): a close with unread input makes the kernel send a reset,
        // which may destroy the answer before the peer has read it. So we end our direction only,
        // and read and drop until the peer ends its own.
        enter(Phase::lingering);
        if (half_ != Half::ended) transport_->finish();
        session_deadline_ = moment_after(loop().now(), owner_->limits().linger);
        arm_for(session_deadline_);
    }
}

void Connection::finish() {
    ask_end(Phase::finishing);
}
void Connection::finish_sending() {
    loop().assert_on_loop();
    if (closing() || sending_finished()) return;
    half_ = Half::ending;
    // In both cases a flush comes anyway: after on_data, or with on_sent().
    if (!delivering_ && !send_pending_) loop().at_turn_end(*this);
}
void Connection::close_when_sent() {
    ask_end(Phase::ending);
}

// finishing or ending. One that is finishing stays so: a close at once might reset the connection
// before the peer has read the answer.
void Connection::ask_end(Phase how) {
    loop().assert_on_loop();
    if (!may_follow(phase_, how)) return;
    enter(how);
    // on_data is on the stack; deliver() flushes after it.
    if (delivering_) return;
    unread_.reset();
    update_receiving();
    if (!send_pending_) loop().at_turn_end(*this);
}

// Deferred to the end of the turn: callbacks of this connection may be on the stack, and they may
// still use it when they return.
void Connection::close(CloseReason reason) {
    loop().assert_on_loop();
    if (closing()) return;
    enter(Phase::closing);
    reason_ = reason;
    loop().at_turn_end(*this);
}

void Connection::set_reading(bool on) {
    loop().assert_on_loop();
    if (reading_ == on) return;
    reading_ = on;
    // Not from inside on_data, which has just been given them: that would go round for ever.
    if (on && unread_ != nullptr && !delivering_) deliver_unread_later();
    if (!delivering_) update_receiving();
}

void Connection::deliver_unread_later() {
    // also in on_close, after which a call at the turn's end would come too late
    if (closing()) return;
    deliver_later_ = true;
    loop().at_turn_end(*this);
}

void Connection::update_receiving() {
    if (closing()) return;
    // Unread bytes are delivered first: more would pile up behind them, to the hard limit.
    // Once an end was requested all input is read and dropped: a close with unread bytes would
    // reset.
    const bool want =
        (reading_ || finishing()) && !peer_finished() && !has_backlog() && !deliver_later_;
    if (want == receiving_) return;
    receiving_ = want;
    transport_->set_receiving(want);
}

void Connection::drain() {
    contain([this]() TR_ON_LOOP { session_->on_drain(*this); });
}

void Connection::on_received(ByteView bytes) {
    if (!closing()) contain([this, bytes]() TR_ON_LOOP { receive(bytes); });
}

void Connection::receive(ByteView bytes) {
    // An empty view is the peer's end.
    if (bytes.empty()) {
        input_ = Input::ended;
        receiving_ = false;
    }
    if (!finishing()) {
        deliver(bytes);
    } else if (phase_ == Phase::lingering && peer_finished()) {
        // Our last byte was sent and only the peer's end was awaited, so that nothing is lost.
        close(CloseReason::finished);
    } else if (phase_ == Phase::ending && !peer_finished()) {
        enter(Phase::finishing);  // the peer goes on sending: a close at once could reset it
    }
}

void Connection::deliver(ByteView fresh) {
    if (!fresh.empty() || unread_ != nullptr) {
        ByteView data = fresh;
        // The Session gets unused bytes and new ones in one piece, so that a parser sees no seam.
        if (unread_ != nullptr) {
            unread_->append(fresh);
            data = *unread_;
        }
        if (reading_) {
            delivering_ = true;
            const std::size_t used = session_->on_data(*this, data);
            delivering_ = false;
            keep_unread(data, used);
        } else {
            keep_unread(data, 0);
        }
    }
    if (closing()) return;
    // The end is reported after the bytes before it: a Session that has paused reading before the
    // last of them gets it later.
    if (input_ == Input::ended && !finishing() && (unread_ == nullptr || reading_)) {
        input_ = Input::reported;
        session_->on_peer_finished(*this);
    }
    flush();
}

void Connection::keep_unread(ByteView delivered, std::size_t used) {
    TR_CHECK(used <= delivered.size(), "a Session used more than it was given");
    if (closing()) return;
    ByteView rest = delivered.substr(used);
    if (finishing()) {
        // Bytes of the peer remain unread: a close at once could reset the connection.
        if (!rest.empty() && phase_ == Phase::ending) enter(Phase::finishing);
        rest = {};
    }
    // A Session that uses nothing while the peer sends: a frame larger than it accepts, usually.
    if (rest.size() > owner_->limits().unread_bytes_max) {
        close(CloseReason::unread_overflow);
    } else if (rest.empty()) {
        unread_.reset();
    } else if (unread_ == nullptr) {
        unread_ = std::make_unique<std::string>(rest);
    } else if (used > 0) {
        unread_->erase(0, used);
    }
}

void Connection::on_receive_failed(int error) {
    if (closing()) return;
    // EMFILE: the engine has no room for the descriptor, which is no fault of the peer.
    close(error == -EMFILE ? CloseReason::refused_by_engine : CloseReason::peer_reset);
}

void Connection::on_sent(std::int64_t result) {
    if (closing()) return;
    send_pending_ = false;
    if (result < 0) {
        close(CloseReason::peer_reset);
        return;
    }
    bytes_sent_ += static_cast<std::uint64_t>(result);
    contain([this]() TR_ON_LOOP { flush(); });
}

void Connection::on_secured() {
    if (!closing()) contain([this]() TR_ON_LOOP { session_->on_secured(*this); });
}

void Connection::set_deadline(Instant when) {
    if (phase_ == Phase::lingering) return;  // the time is limits().linger's now
    session_deadline_ = when;
    arm_for(when);
}

// Lazy: a timer that fires too early looks again and re-arms, so pushing a deadline back is a
// store.
void Connection::arm_for(Instant when) {
    if (when == Instant::max() || closing()) return;
    if (!armed() || when < due()) loop().arm(*this, when);
}

void Connection::close_when_quiet() {
    loop().assert_on_loop();
    if (closing() || finishing()) return;
    // The timer may still expire in this turn. The one that is armed then expires in the next,
    // which dispatches all that has arrived before it looks at timers.
    quiet_rounds_ = 2;
    arm_for(loop().now());
}

void Connection::on_expired() {
    if (!closing()) contain([this]() TR_ON_LOOP { expire(); });
}

void Connection::expire() {
    const Instant now = loop().now();
    if (quiet_rounds_ > 0) {
        --quiet_rounds_;
        if (quiet_rounds_ > 0) {
            arm_for(now);
        } else if (!finishing()) {
            close_when_sent();
        }
        if (closing()) return;
    }
    // Both deadlines share one timer, so either may have been the reason.
    if (lag_.due(now) <= now) {
        if (!lagging_) {
            lag_.stop();
        } else if (!lag_.check(now, write_rate(owner_->limits()), taken_bytes())) {
            close(CloseReason::write_stalled);
        }
    }
    if (!closing() && session_deadline_ <= now) {
        // Cleared first, because on_deadline() may set a new one.
        session_deadline_ = Instant::max();
        if (phase_ == Phase::lingering) {
            close(CloseReason::finished);
        } else {
            session_->on_deadline(*this);
        }
    }
    arm_for(std::min(session_deadline_, lag_.due(now)));
}

void Connection::on_turn_end() {
    if (closing()) {
        close_now();
        return;
    }
    contain([this]() TR_ON_LOOP {
        if (deliver_later_) {
            deliver_later_ = false;
            if (!finishing()) deliver({});
            update_receiving();
        }
        flush();  // if this closes, the end of turn comes round again
    });
}

bool Connection::is_idle() const {
    return phase_ == Phase::open && queue_.empty() && !send_pending_ && session_->is_idle();
}

core::HeldBytes Connection::held_bytes() const {
    core::HeldBytes held = queue_.held();
    held.copied += transport_->held_bytes();
    if (lagging_) held.waits = lag_.waits(loop().now());  // for SendEviction's choice
    if (session_ != nullptr) held += session_->held_bytes();
    return held;
}

std::string Connection::handshake_failure() const {
    const std::string_view why = transport_->failure();
    return "the TLS handshake failed: " + std::string(why.empty() ? to_string(reason_) : why);
}

void Connection::close_now() {
    // session_ is cleared first: nothing may call a Session after its on_close.
    loop().cancel(*this);
    if (Session* const session = std::exchange(session_, nullptr); session != nullptr) {
        contain([&]() TR_ON_LOOP { session->on_close(*this, reason_); });
    }
    // Between two requests nothing is cut off, so this end is orderly, and TLS sends close_notify.
    if (reason_ == CloseReason::idle_expired && queue_.empty() && !send_pending_) {
        transport_->say_end();
    }
    // A reset drops what the kernel still holds for a peer that does not read, and shows a peer
    // that reads later that its answer is incomplete.
    const bool stopped = reason_ == CloseReason::server_stopped;
    if (is_cut(reason_) || (stopped && (!queue_.empty() || send_pending_))) {
        transport_->set_reset_on_close();
    }
    // After the options, which a closed descriptor could not take. The queue goes along, because a
    // completion engine may still be reading it.
    transport_->close(std::move(queue_));
    owner_->release(*this, reason_);  // destroys this
}

}  // namespace tiderace::net
