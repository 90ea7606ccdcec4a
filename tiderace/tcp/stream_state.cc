#include "tiderace/tcp/stream_state.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"

namespace tiderace::tcp {
namespace {

// A long write is copied in pieces of this size, so the queue passes its high mark by less.
constexpr std::size_t write_piece_bytes = 64_KiB;

}  // namespace

StreamState::StreamState(net::Connection& connection, const StreamOptions& options)
    : connection_(&connection), peer_(connection.peer()), options_(options) {}

void StreamState::disown() {
    TR_CHECK(reader_ == nullptr && writers_.empty(), "a stream ended before an operation on it");
    disowned_ = true;
    if (connection_ == nullptr) {
        delete this;
        return;
    }
    connection_->loop().cancel(*this);
    connection_->set_deadline(Instant::max());
    // on_data() drops from here on. Bytes left unread would make the kernel reset the connection,
    // and the peer might lose what we sent.
    connection_->set_reading(true);
    // Lingering is for a peer that may still be sending. This one has ended, or was idle between
    // two frames when the server stopped.
    if (peer_finished_ || end_ == End::stopping) {
        connection_->close_when_sent();
    } else {
        connection_->finish();
    }
}

// ---- reading ------------------------------------------------------------------------------------

// The view of the last read ends here.
void StreamState::reclaim() {
    begin_ += std::exchange(lent_, 0);
    if (begin_ == in_.size()) {
        PooledText().swap(in_);  // while it waits it holds no buffer
        in_.swap(later_);
        begin_ = 0;
    } else if (!later_.empty() || begin_ > in_.size() / 2) {
        // In a stream that is never read to its end, the read part is erased when it is the larger
        // one: less is moved then than was read.
        in_.erase(0, std::exchange(begin_, 0));
        in_ += std::exchange(later_, {});
    }
}

bool StreamState::begin(StreamReader& reader) {
    TR_CHECK(reader_ == nullptr, "two reads of one stream at a time");
    reader_ = &reader;
    reclaim();
    const bool done = try_settle(reader);
    update_reading();
    return done;
}

bool StreamState::try_settle(StreamReader& reader) {
    // The end of an oversized frame is unknown, so the stream cannot be read any further.
    if (end_ != End::too_long) {
        Found found;
        try {
            found = reader.look(unread(), reader.seen_);
        } catch (...) {
            // A framing of the program's. The bytes remain, for a read with another one.
            reader.failure_ = std::current_exception();
            settle(reader, End::none);
            return true;
        }
        if (found.state == Found::State::frame) {
            lent_ = found.used;
            reader.frame_ = found.frame;
            reader.got_ = true;
            settle(reader, End::none);
            return true;
        }
        reader.seen_ = found.seen;
        if (found.state == Found::State::too_long) {
            settle(reader, End::too_long);
            return true;
        }
        if (connection_ != nullptr && !peer_finished_) return false;
    }
    // An end that was already found (too long, silent) stays the reason.
    if (end_ == End::none || end_ == End::finished) {
        end_ = peer_finished_ ? (unread().empty() ? End::finished : End::cut_short) : End::lost;
    }
    settle(reader, end_);
    return true;
}

void StreamState::settle(StreamReader& reader, End end) {
    reader.settled_ = true;
    end_ = end;
}

void StreamState::wait(StreamReader& reader, std::coroutine_handle<> handle) {
    reader.waiter_.suspend(handle);
    if (reader.settled_) return reader.waiter_.wake();  // the others have their turn first
    wait_for_peer();
    // A task that comes back for its next frame while the server stops is idle from now on.
    if (draining_ && waits_at_boundary()) {
        quiet_rounds_ = 2;
        connection_->loop().arm(*this, connection_->loop().now());
    }
}

std::optional<ByteView> StreamState::take(StreamReader& reader) {
    reader_ = nullptr;
    if (reader.failure_) std::rethrow_exception(reader.failure_);
    return reader.got_ ? std::optional(reader.frame_) : std::nullopt;
}

void StreamState::forget(StreamReader& reader) {
    if (reader_ != &reader) return;
    reader_ = nullptr;
    lent_ = 0;
    if (connection_ == nullptr) return;
    stop_waiting();
    update_reading();
}

void StreamState::wake_reader(End end) {
    if (!reader_->settled_) settle(*reader_, end);
    if (connection_ != nullptr) stop_waiting();
    reader_->waiter_.wake();
}

std::size_t StreamState::on_data(net::Connection&, ByteView data) {
    if (disowned_) return data.size();
    // A lent frame points into in_, which must not move until reclaim().
    (lent_ > 0 || !later_.empty() ? later_ : in_).append(data);
    if (waiting()) {
        quiet_rounds_ = 0;
        if (try_settle(*reader_)) {
            wake_reader_in_receive();
        } else {
            wait_for_peer();
        }
    }
    // The task may have ended its stream.
    if (!disowned_) update_reading();
    return data.size();
}

// Runs it now: what came is still in the cache, and what it writes leaves behind on_data, as what a
// callback writes. Once a turn, because a receive brings as many pieces as it has records of TLS.
// The task may end anything but the connection, which lives until the turn's end, and so do we.
void StreamState::wake_reader_in_receive() {
    task::Runner& runner = *reader_->waiter_.context()->runner;
    const std::uint64_t turn = connection_->loop().turns();
    const bool now = runner.idle() && resumed_turn_ != turn;
    wake_reader(end_);
    if (!now) return;
    resumed_turn_ = turn;
    runner.run_ready();
}

// A reader that waits for more gets it, whatever is there; its framing has a maximum.
void StreamState::update_reading() {
    if (connection_ == nullptr) return;
    const std::size_t held = in_.size() - begin_ + later_.size();
    const bool wanted = waiting() || held < options_.read_bytes_max;
    if (wanted != connection_->reading()) connection_->set_reading(wanted);
}

void StreamState::on_peer_finished(net::Connection& connection) {
    peer_finished_ = true;
    if (waiting() && try_settle(*reader_)) wake_reader(end_);
    // Both directions have ended.
    if (connection.sending_finished()) connection.close_when_sent();
}

net::ProgressRate StreamState::frame_rate() const {
    return {.period = 30s, .bytes_per_second_min = options_.receive_bytes_per_second_min};
}

// A read waits, and something has come, or the read has just begun.
void StreamState::wait_for_peer() {
    const Instant now = connection_->loop().now();
    if (options_.idle > Duration::zero()) idle_until_ = moment_after(now, options_.idle);
    if (options_.receive_bytes_per_second_min > 0 && !unread().empty() &&
        slow_.due(now) == Instant::max()) {
        // The bytes of this frame count, and not those before it.
        slow_.begin(now, frame_rate(), unread().size());
    }
    const Instant due = std::min(idle_until_, slow_.due(now));
    if (due != Instant::max()) connection_->set_deadline(due);
}

// Without a reader the peer waits for us, so no time counts.
void StreamState::stop_waiting() {
    slow_.stop();
    idle_until_ = Instant::max();
    connection_->set_deadline(Instant::max());
}

void StreamState::on_deadline(net::Connection& connection) {
    if (!waiting()) return;
    const Instant now = connection.loop().now();
    const bool silent = idle_until_ <= now;
    if (!silent && slow_.check(now, frame_rate(), unread().size())) {
        return connection.set_deadline(std::min(idle_until_, slow_.due(now)));
    }
    end_ = End::silent;
    connection.close(silent ? net::CloseReason::idle_expired : net::CloseReason::deadline_expired);
}

// Bytes that have arrived by now are still read: two turns dispatch them.
void StreamState::on_drain(net::Connection& connection) {
    draining_ = true;
    // Inside its handshake the peer has not sent a request.
    if (securing_ != nullptr) return connection.close(net::CloseReason::server_stopped);
    if (!waits_at_boundary()) return;
    quiet_rounds_ = 2;
    connection.loop().arm(*this, connection.loop().now());
}

void StreamState::on_expired() {
    if (connection_ == nullptr || quiet_rounds_ == 0 || !waits_at_boundary()) return;
    if (--quiet_rounds_ > 0) {
        connection_->loop().arm(*this, connection_->loop().now());
        return;
    }
    wake_reader(End::stopping);
}

// ---- writing ------------------------------------------------------------------------------------

bool StreamState::begin(StreamWriter& writer) {
    writer.settled_ = try_settle(writer);
    return writer.settled_;
}

bool StreamState::try_settle(StreamWriter& writer) {
    if (connection_ == nullptr) {
        // A task that ignores what writes return would go on for ever: wait() ends it.
        return !std::exchange(end_reported_, true) || observer_ == nullptr;
    }
    // Settled, as not sent.
    if (connection_->sending_finished() || finish_asked_) return true;
    // Behind the waiting ones, so that writes keep their order.
    if (!writers_.empty()) return false;
    push(writer);
    writer.sent_ = writer.all_queued() && !connection_->has_backlog();
    return writer.sent_;
}

void StreamState::wait(StreamWriter& writer, std::coroutine_handle<> handle) {
    writer.waiter_.suspend(handle);
    if (writer.settled_) {
        writer.waiter_.wake();  // the others have their turn
    } else if (connection_ == nullptr) {
        observer_->on_abandoned();
    } else {
        writers_.push_back(writer);
    }
}

void StreamState::push(StreamWriter& writer) {
    net::Backlog backlog = connection_->has_backlog() ? net::Backlog::high : net::Backlog::low;
    while (!writer.rest_.empty() && backlog == net::Backlog::low) {
        const ByteView piece = writer.rest_.substr(0, write_piece_bytes);
        backlog = connection_->write(piece);
        writer.rest_.remove_prefix(piece.size());
    }
    // The file goes behind the bytes before it. It costs no memory, but a full queue takes nothing
    // more until it drains.
    if (!writer.file_ || backlog == net::Backlog::high) return;
    connection_->queue().append_file(std::move(writer.file_), writer.offset_, writer.file_bytes_);
    writer.file_bytes_ = 0;
    connection_->written();
}

void StreamState::on_drained(net::Connection&) {
    serve_writers();
}

void StreamState::serve_writers() {
    while (!writers_.empty() && !connection_->has_backlog()) {
        StreamWriter& first = writers_.front();
        push(first);
        // Its bytes are queued, and still it waits: a write returns once the queue is below its
        // high mark, so that a fast task does not run ahead of a slow peer.
        if (!first.all_queued() || connection_->has_backlog()) break;
        writers_.pop_front();
        first.sent_ = true;
        first.waiter_.wake();
    }
    finish_if_asked();
}

void StreamState::finish() {
    finish_asked_ = true;
    finish_if_asked();
}

void StreamState::finish_if_asked() {
    // Writes that were begun before finish() are still sent.
    if (!finish_asked_ || connection_ == nullptr || !writers_.empty()) return;
    connection_->finish_sending();
    if (peer_finished_) connection_->close_when_sent();
}

void StreamState::abort() {
    if (connection_ != nullptr) connection_->close(net::CloseReason::aborted);
}

// ---- the end ------------------------------------------------------------------------------------

// Waits until the TLS handshake is done or the connection closed, which on_close() reports.
class StreamState::Secured final {
  public:
    explicit Secured(StreamState& state) : state_(&state) {}
    ~Secured() { state_->securing_ = nullptr; }

    bool await_ready() const { return state_->connection_ == nullptr || state_->secured_; }
    void await_suspend(std::coroutine_handle<> handle) {
        waiter_.suspend(handle);
        state_->securing_ = this;
    }
    void await_resume() const {}

    void end(std::string failure = {}) {
        state_->securing_ = nullptr;
        failure_ = std::move(failure);
        waiter_.wake();
    }
    std::string failure() const {
        return failure_.empty() && state_->connection_ == nullptr ? "the connection ended"
                                                                  : failure_;
    }

  private:
    StreamState* state_;
    task::Waiter waiter_;
    std::string failure_;
};

void StreamState::on_secured(net::Connection&) {
    secured_ = true;
    if (securing_ != nullptr) securing_->end();
}

void StreamState::on_close(net::Connection& connection, net::CloseReason reason) {
    connection.loop().cancel(*this);
    connection_ = nullptr;
    reason_ = reason;
    if (disowned_) {
        delete this;
        return;
    }
    // An operation that waits reports the end to its task. Without one, a task that does something
    // else would never notice: the observer ends it.
    const bool reported = reader_ != nullptr || !writers_.empty() || securing_ != nullptr;
    if (securing_ != nullptr) securing_->end(connection.handshake_failure());
    if (waiting()) {
        try_settle(*reader_);
        wake_reader(end_);
    }
    while (!writers_.empty()) {
        end_reported_ = true;
        writers_.pop_front().waiter_.wake();
    }
    // Last: the observer may end the task, its Stream, and this.
    const bool orderly =
        reason == net::CloseReason::finished || reason == net::CloseReason::peer_finished;
    if (!reported && !orderly && observer_ != nullptr) observer_->on_abandoned();
}

task::Task<std::string> until_secured(StreamState& state) {
    StreamState::Secured secured(state);
    co_await secured;
    co_return secured.failure();
}

}  // namespace tiderace::tcp
