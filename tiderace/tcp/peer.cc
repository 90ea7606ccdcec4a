#include "tiderace/tcp/peer.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/tcp/open_file.h"
#include "tiderace/tcp/server.h"

namespace tiderace::tcp {

Peer::Peer(net::Connection& connection, const Callbacks& callbacks, task::Runner& runner,
           const task::States& states, std::uint64_t receive_bytes_per_second_min)
    : connection_(&connection),
      callbacks_(&callbacks),
      runner_(&runner),
      states_(&states),
      idle_(callbacks.idle),
      receive_rate_(receive_bytes_per_second_min) {}

net::Backlog Peer::write(ByteView bytes) {
    // A callback cannot know that an end was requested elsewhere; for a Connection such a write is
    // misuse.
    if (connection_->sending_finished()) return net::Backlog::low;
    return connection_->write(bytes);
}

Result<std::uint64_t> Peer::send_file(const std::string& path, std::uint64_t offset,
                                      std::uint64_t bytes_max) {
    auto opened = OpenFile::open(path);
    if (!opened) return fail(opened.error());
    const std::uint64_t bytes =
        std::min(bytes_max, opened->bytes - std::min(offset, opened->bytes));
    if (bytes == 0 || connection_->sending_finished() || connection_->closing()) return 0;
    connection_->queue().append_file(core::make_ref<OpenFile>(std::move(opened->file)), offset,
                                     bytes);
    connection_->written();
    return bytes;
}

void Peer::want_drained() {
    connection_->want_drained();
}
void Peer::close() {
    // Lingering is for a peer that may still be sending.
    if (connection_->peer_finished()) {
        connection_->close_when_sent();
    } else {
        connection_->finish();
    }
}
void Peer::finish() {
    connection_->finish_sending();
}
void Peer::abort() {
    connection_->close(net::CloseReason::aborted);
}
void Peer::set_reading(bool on) {
    // Meanwhile the peer could not send. A frame that has begun has its time when it comes again.
    if (!on) slow_.stop();
    if (on && !connection_->reading()) touch();
    connection_->set_reading(on);
}
bool Peer::tune(const net::SocketOptions& options) {
    return connection_->tune(options);
}

void Peer::touch() {
    if (connection_->finishing()) return;
    idle_until_ = idle_ > Duration::zero() ? moment_after(loop().now(), idle_) : Instant::max();
    set_deadline();
}
void Peer::set_deadline() {
    connection_->set_deadline(std::min(idle_until_, slow_.due(loop().now())));
}
net::ProgressRate Peer::frame_rate() const {
    return {.period = 30s, .bytes_per_second_min = receive_rate_};
}
void Peer::set_idle_timeout(Duration idle) {
    idle_ = idle;
    touch();
}

// A callback that throws ends its connection and no other.
template <typename Call>
bool Peer::guard(Call&& call) {
    log::Logger* const log = loop().log();
    try {
        call();
        return true;
    } catch (...) {
        if (!callbacks_->on_error) {
            core::log_exception(log, "tcp", "a callback");
        } else {
            core::contain(log, "tcp", "on_error",
                          [&] { callbacks_->on_error(*this, std::current_exception()); });
        }
    }
    connection_->close(net::CloseReason::aborted);
    return false;
}

void Peer::accepted() {
    touch();
    if (callbacks_->on_accept) guard([&] { callbacks_->on_accept(*this); });
}

std::size_t Peer::on_data(net::Connection& connection, ByteView data) {
    touch();
    // Without a callback the bytes are dropped, and not kept until they pass the limit.
    if (!callbacks_->on_data) return data.size();
    std::size_t used = data.size();
    // More than there is would abort (Connection::keep_unread()): a callback's mistake costs its
    // own connection's bytes at most.
    guard([&] { used = std::min(data.size(), callbacks_->on_data(*this, data)); });
    unused_ = data.size() - used;
    if (receive_rate_ == 0) return used;
    if (used > 0) slow_.stop();  // the rest belongs to another frame
    const Instant now = loop().now();
    if (unused_ > 0 && connection.reading() && slow_.due(now) == Instant::max()) {
        slow_.begin(now, frame_rate(), unused_);
    }
    if (!connection.finishing()) set_deadline();
    return used;
}

void Peer::on_drained(net::Connection&) {
    touch();
    if (callbacks_->on_drained) guard([&] { callbacks_->on_drained(*this); });
}

void Peer::on_peer_finished(net::Connection& connection) {
    connection.close_when_sent();
}

void Peer::on_deadline(net::Connection& connection) {
    // ConnectionLimits::write watches over the bytes that the peer still has to take. While we do
    // not read, the peer waits for us.
    if (connection.queue_bytes() > 0 || !connection.reading()) return touch();
    const Instant now = loop().now();
    if (slow_.due(now) <= now && !slow_.check(now, frame_rate(), unused_)) {
        return connection.close(net::CloseReason::deadline_expired);
    }
    if (idle_until_ > now) return set_deadline();
    if (!callbacks_->on_idle) return connection.close(net::CloseReason::idle_expired);
    touch();
    guard([&] { callbacks_->on_idle(*this); });
}

void Peer::on_close(net::Connection&, net::CloseReason reason) {
    if (callbacks_->on_close) {
        core::contain(loop().log(), "tcp", "on_close",
                      [&] { callbacks_->on_close(*this, reason); });
    }
    delete this;
}

}  // namespace tiderace::tcp
