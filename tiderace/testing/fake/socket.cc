#include "tiderace/testing/fake/socket.h"

#include <algorithm>
#include <cerrno>

#include "tiderace/base/check.h"

namespace tiderace::testing {

void FakeSocket::join(const std::shared_ptr<FakeSocket>& one,
                      const std::shared_ptr<FakeSocket>& other, std::size_t buffer_bytes) {
    one->out_ = other->in_ = std::make_shared<FakeLane>(buffer_bytes);
    one->in_ = other->out_ = std::make_shared<FakeLane>(buffer_bytes);
    one->other_ = other;
    other->other_ = one;
    one->state_ = other->state_ = State::connected;
}

void FakeSocket::listen(std::size_t connections_max) {
    state_ = State::listening;
    backlog_max = connections_max;
}

void FakeSocket::changed() {
    if (on_change) on_change();
}

void FakeSocket::tell(const std::weak_ptr<FakeSocket>& socket) {
    if (const auto there = socket.lock()) there->changed();
}

ssize_t FakeSocket::put(ByteView bytes) {
    if (state_ != State::connected || out_->finished) return -EPIPE;
    const auto there = other_.lock();
    if (there == nullptr || there->state_ == State::closed) {
        // The first bytes after the other end's close leave; the answer to them is a RST.
        break_off();
        return static_cast<ssize_t>(bytes.size());
    }
    const std::size_t taken = std::min(bytes.size(), out_->room());
    if (taken == 0 && !bytes.empty()) return -EAGAIN;
    out_->bytes.append(bytes.substr(0, taken));
    there->changed();
    return static_cast<ssize_t>(taken);
}

ssize_t FakeSocket::take(char* out, std::size_t wanted) {
    if (state_ == State::broken) return -ECONNRESET;
    if (state_ != State::connected) return -ENOTCONN;
    const std::size_t given = std::min(wanted, in_->bytes.size());
    if (given == 0) return in_->finished ? 0 : -EAGAIN;
    std::copy_n(in_->bytes.data(), given, out);
    in_->bytes.erase(0, given);
    tell(other_);
    return static_cast<ssize_t>(given);
}

void FakeSocket::shut_down_sending() {
    if (state_ != State::connected || out_->finished) return;
    out_->finished = true;
    tell(other_);
}

void FakeSocket::close() {
    if (state_ == State::connected) {
        // As in TCP: a close with bytes unread resets the connection. So each test shows a server
        // that does not drain its input.
        if (reset_on_close || !in_->bytes.empty()) {
            reset();
        } else {
            shut_down_sending();
        }
    }
    // Their diallers take themselves for connected.
    for (const auto& waiting : backlog) waiting->reset();
    backlog.clear();
    state_ = State::closed;
    on_change = {};
}

void FakeSocket::reset() {
    if (state_ != State::connected) return;
    if (const auto there = other_.lock()) there->break_off();
    break_off();
}

void FakeSocket::break_off() {
    if (state_ != State::connected) return;
    state_ = State::broken;
    error = ECONNRESET;
    // Unread bytes are dropped as well: no program may count on reading it after a reset.
    in_->bytes.clear();
    changed();
}

bool FakeSocket::readable() const {
    switch (state_) {
        case State::listening:
            return !backlog.empty();
        case State::connected:
            return !in_->bytes.empty() || in_->finished;
        case State::broken:
            return true;
        default:
            return false;
    }
}

bool FakeSocket::writable() const {
    // Writable, though finished: a send does not have to wait for its EPIPE.
    if (state_ == State::connected) return out_->finished || out_->room() > 0;
    return state_ == State::broken || (state_ == State::fresh && error != 0);
}

bool FakeSocket::failed() const {
    // Only with both directions over, as EPOLLHUP.
    if (state_ == State::connected) return in_->finished && out_->finished;
    return state_ == State::broken || (state_ == State::fresh && error != 0);
}

}  // namespace tiderace::testing
