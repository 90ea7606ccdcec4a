#include "tiderace/net/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::net {

// The life of a connection:
//
//   start -> open --finish()/close_when_sent()--> finishing --queue empty--> our direction ended
//     open, finishing, ended --fault, deadline, abort(), peer's end--> closing --end of turn-->
//     on_close
//
// `closing_` is set once; from then on every event is ignored until on_turn_end takes it down.

void Session::on_peer_finished(Connection& connection) {
    connection.close_when_sent();
}
void Session::on_deadline(Connection& connection) {
    connection.abort(CloseReason::deadline_expired);
}
void Session::on_drain(Connection& connection) {
    connection.close_when_quiet();
}

Connection::Connection(ConnectionId id, Owner& owner, std::unique_ptr<Transport> transport,
                       core::Address peer)
    : transport_(std::move(transport)), owner_(&owner), id_(id), peer_(std::move(peer)) {
    transport_->open(*this);
}

Connection::~Connection() {
    loop().cancel(*this);
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

Backlog Connection::write(ByteView data) {
    if (closing_ || data.empty()) return above_high_ ? Backlog::high : Backlog::low;
    queue_.append(blocks(), data);
    return written();
}

Backlog Connection::written() {
    loop().assert_on_loop();
    if (closing_) {
        queue_.clear();
        return Backlog::low;
    }
    TR_CHECK(finish_ == Finish::no, "write after finish()");
    const ConnectionLimits& limits = owner_->limits();
    if (queue_.copied_bytes() > limits.queue_bytes_max) {
        abort(CloseReason::queue_overflow);
        return Backlog::high;
    }
    if (queue_.bytes() > limits.queue_bytes_high || blocks().scarce()) above_high_ = true;
    if (!delivering_) {
        if (send_pending_) {
            update_receiving();
        } else {
            loop().at_turn_end(*this);
        }
    }
    return above_high_ ? Backlog::high : Backlog::low;
}

void Connection::flush() {
    loop().assert_on_loop();
    if (closing_) return;
    if (send_pending_) {
        update_receiving();  // what was written meanwhile may have passed the high mark
        return;
    }
    if (queue_.empty()) {
        write_deadline_ = Instant::max();
    } else {
        send_now();
    }
    after_send();
}

void Connection::send_now() {
    const core::Sent sent = transport_->send(queue_);
    bytes_sent_ += sent.bytes;
    if (sent.error == -EBADMSG && session_->on_source_shrank(*this)) {
        if (!queue_.empty()) loop().at_turn_end(*this);
        return;
    }
    if (sent.error != 0) {
        // Nothing else tells the peer that a length it was promised cannot be kept.
        abort(sent.error == -EBADMSG ? CloseReason::source_shrank : CloseReason::peer_reset);
        return;
    }
    send_pending_ = sent.pending;
    if (!sent.pending) {
        write_deadline_ = Instant::max();
    } else if (write_deadline_ == Instant::max()) {
        write_mark_ = static_cast<std::uint32_t>(transport_->progress(bytes_sent_));
        write_deadline_ = loop().now() + owner_->limits().write;
        arm_for(write_deadline_);
    }
}

// What follows from a shorter queue: back-pressure lifts, an asked-for end happens.
void Connection::after_send() {
    if (closing_) return;
    if ((above_high_ || drained_wanted_) && queue_.bytes() <= owner_->limits().queue_bytes_low) {
        above_high_ = drained_wanted_ = false;
        session_->on_drained(*this);
        if (closing_) return;
        if (unread_ != nullptr) deliver_unread_later();
        if (!queue_.empty() && !send_pending_) loop().at_turn_end(*this);
    }
    // A transport may have taken all and not be done with it (TLS): then it is pending still.
    if (queue_.empty() && !send_pending_) after_drained();
    update_receiving();
}

void Connection::after_drained() {
    if (finish_ == Finish::at_once) {
        transport_->say_end();
        abort(peer_finished_ ? CloseReason::peer_finished : CloseReason::finished);
    } else if (finish_ == Finish::orderly) {
        finish_ = Finish::sent;
        if (peer_finished_) {
            transport_->say_end();
            abort(CloseReason::peer_finished);
            return;
        }
        transport_->finish();
        session_deadline_ = loop().now() + owner_->limits().linger;
        arm_for(session_deadline_);
    }
}

void Connection::finish() {
    ask_finish(Finish::orderly);
}
void Connection::close_when_sent() {
    ask_finish(Finish::at_once);
}

void Connection::ask_finish(Finish how) {
    loop().assert_on_loop();
    if (closing_ || finish_ == Finish::sent || finish_ == how) return;
    // An end that was asked for in order stays so: the answer before it must not be cut by a reset.
    if (finish_ == Finish::orderly) return;
    finish_ = how;
    if (delivering_) return;
    unread_.reset();
    update_receiving();
    if (!send_pending_) loop().at_turn_end(*this);
}

void Connection::abort(CloseReason reason) {
    loop().assert_on_loop();
    if (closing_) return;
    closing_ = true;
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
    if (closing_) return;  // also in on_close, after which nothing of this may be asked for
    deliver_later_ = true;
    loop().at_turn_end(*this);
}

void Connection::update_receiving() {
    if (closing_) return;
    // What waits to be given again goes first: more would pile up behind it, to the hard limit.
    // Once an end is asked for all is read and dropped: a close with unread bytes would reset.
    const bool want =
        (reading_ || finishing()) && !peer_finished_ && !above_high_ && !deliver_later_;
    if (want == receiving_) return;
    receiving_ = want;
    transport_->set_receiving(want);
}

void Connection::on_received(ByteView bytes) {
    if (closing_) return;
    if (bytes.empty()) {
        peer_finished_ = true;
        receiving_ = false;
    }
    if (!finishing()) {
        deliver(bytes);
    } else if (finish_ == Finish::sent && peer_finished_) {
        // We had said our last word and only waited for theirs, so that nothing of ours is lost.
        abort(CloseReason::finished);
    } else if (finish_ == Finish::at_once && !peer_finished_) {
        finish_ = Finish::orderly;  // it goes on talking: a close at once could reset it
    }
}

void Connection::deliver(ByteView fresh) {
    if (!fresh.empty() || unread_ != nullptr) {
        ByteView data = fresh;
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
    if (closing_) return;
    if (peer_finished_ && !peer_finish_told_ && !finishing() && (unread_ == nullptr || reading_)) {
        peer_finish_told_ = true;
        session_->on_peer_finished(*this);
    }
    flush();
}

void Connection::keep_unread(ByteView delivered, std::size_t used) {
    TR_CHECK(used <= delivered.size(), "a Session used more than it was given");
    if (closing_) return;
    ByteView rest = delivered.substr(used);
    if (finishing()) {
        // It said more than it was listened to: a close at once could reset it.
        if (!rest.empty() && finish_ == Finish::at_once) finish_ = Finish::orderly;
        rest = {};
    }
    if (rest.size() > owner_->limits().unread_bytes_max) {
        abort(CloseReason::unread_overflow);
    } else if (rest.empty()) {
        unread_.reset();
    } else if (unread_ == nullptr) {
        unread_ = std::make_unique<std::string>(rest);
    } else if (used > 0) {
        unread_->erase(0, used);
    }
}

void Connection::on_receive_failed(int error) {
    if (closing_) return;
    receiving_ = false;
    abort(error == -EMFILE ? CloseReason::refused_by_engine : CloseReason::peer_reset);
}

void Connection::on_sent(std::int64_t result) {
    if (closing_) return;
    send_pending_ = false;
    if (result < 0) {
        abort(CloseReason::peer_reset);
        return;
    }
    bytes_sent_ += static_cast<std::uint64_t>(result);
    flush();
}

void Connection::on_secured() {
    if (!closing_) session_->on_secured(*this);
}

void Connection::set_deadline(Instant when) {
    if (finish_ == Finish::sent) return;  // the time is limits().linger's now
    session_deadline_ = when;
    arm_for(when);
}

// Lazy: a timer that fires too early looks again and re-arms, so pushing a deadline back is a
// store.
void Connection::arm_for(Instant when) {
    if (when == Instant::max() || closing_) return;
    if (!armed() || when < due()) loop().arm(*this, when);
}

void Connection::close_when_quiet() {
    loop().assert_on_loop();
    if (closing_ || finishing()) return;
    // The timer may still expire in this turn. The one that is armed then expires in the next,
    // which dispatches all that has arrived before it looks at timers.
    quiet_rounds_ = 2;
    arm_for(loop().now());
}

void Connection::on_expired() {
    if (closing_) return;
    const Instant now = loop().now();
    if (quiet_rounds_ > 0) {
        --quiet_rounds_;
        if (quiet_rounds_ > 0) {
            arm_for(now);
        } else if (!finishing()) {
            close_when_sent();
        }
        if (closing_) return;
    }
    if (write_deadline_ <= now) check_write_progress();
    if (!closing_ && session_deadline_ <= now) {
        session_deadline_ = Instant::max();
        if (finish_ == Finish::sent) {
            abort(CloseReason::finished);
        } else {
            session_->on_deadline(*this);
        }
    }
    arm_for(std::min(session_deadline_, write_deadline_));
}

void Connection::check_write_progress() {
    const ConnectionLimits& limits = owner_->limits();
    const auto period_ms = static_cast<std::uint64_t>(limits.write / 1ms);
    const std::uint64_t wanted =
        std::max<std::uint64_t>(1, limits.write_bytes_per_second_min * period_ms / 1'000);
    const auto reached = static_cast<std::uint32_t>(transport_->progress(bytes_sent_));
    if (reached - write_mark_ < wanted) {
        abort(CloseReason::write_stalled);
        return;
    }
    write_mark_ = static_cast<std::uint32_t>(transport_->progress(bytes_sent_));
    write_deadline_ = loop().now() + limits.write;
}

void Connection::on_turn_end() {
    if (closing_) {
        close_now();
        return;
    }
    if (deliver_later_) {
        deliver_later_ = false;
        if (!finishing()) deliver({});
        update_receiving();
    }
    flush();  // if this aborts, the end of turn comes round again
}

std::uint64_t Connection::held_bytes() const {
    const std::uint64_t above = session_ != nullptr ? session_->held_bytes() : 0;
    return queue_.copied_bytes() + transport_->held_bytes() + above;
}

void Connection::close_now() {
    loop().cancel(*this);
    if (session_ != nullptr) std::exchange(session_, nullptr)->on_close(*this, reason_);
    // Between two requests nothing is cut: the end is in order, and is said.
    if (reason_ == CloseReason::idle_expired && queue_.empty() && !send_pending_) {
        transport_->say_end();
    }
    const bool stopped = reason_ == CloseReason::server_stopped;
    if (is_cut(reason_) || (stopped && (!queue_.empty() || send_pending_))) {
        transport_->set_reset_on_close();
    }
    transport_->close(std::move(queue_));
    owner_->release(*this, reason_);  // destroys this
}

}  // namespace tiderace::net
