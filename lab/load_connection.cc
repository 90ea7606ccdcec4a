#include "lab/load_connection.h"

#include <algorithm>
#include <cerrno>

#include "lab/crc32.h"
#include "lab/load_worker.h"

namespace tiderace::lab {
namespace {

constexpr Duration retry_min = 10ms;
constexpr Duration retry_max = 1s;
constexpr int slow_receive_buffer_bytes = 4'096;

ConnectError kind_of(int error) {
    switch (error) {
        case ECONNREFUSED:
            return ConnectError::refused;
        case ECONNRESET:
            return ConnectError::reset;
        case ETIMEDOUT:
            return ConnectError::timed_out;
        case EADDRNOTAVAIL:
        case EADDRINUSE:
            return ConnectError::no_port;
        case EMFILE:
        case ENFILE:
            return ConnectError::no_descriptor;
        default:
            return ConnectError::other;
    }
}

}  // namespace

LoadConnection::LoadConnection(LoadWorker& worker, std::uint64_t number)
    : worker_(&worker),
      depth_(static_cast<std::uint32_t>(worker.plan().options.pipeline)),
      number_(number) {
    intended_.resize(depth_);
    // Spread evenly: of each hundred the first ones.
    slow_ = number % 100 < worker.plan().options.slow_readers;
}

core::EventLoop& LoadConnection::loop() {
    return worker_->loop();
}
const net::ConnectionLimits& LoadConnection::limits() const {
    return worker_->plan().limits;
}

void LoadConnection::start() {
    if (connection_ || socket_ || ended_) return;
    const LoadPlan& plan = worker_->plan();
    socket_ = std::make_unique<OutgoingSocket>(loop(), static_cast<OutgoingSocket::Opener&>(*this));
    OutgoingSocket::Place place{.to = &plan.target.address};
    if (!plan.sources.empty()) place.from = &plan.sources[number_ % plan.sources.size()];
    if (slow_) place.receive_buffer_bytes = slow_receive_buffer_bytes;
    since_ = loop().now();
    if (const int error = socket_->start(place); error != 0) on_opened(error);
}

void LoadConnection::on_opened(int error) {
    open_error_ = error;
    loop().at_turn_end(*this);
}

void LoadConnection::on_turn_end() {
    if (!socket_) return;  // given up meanwhile
    worker_->connect_done(*this);
    if (open_error_ != 0) {
        failed_to_open(open_error_);
        return;
    }
    ++worker_->tally().opened;
    worker_->count_open(1);
    connection_.emplace(net::ConnectionId{}, static_cast<net::Connection::Owner&>(*this),
                        std::move(socket_), worker_->plan().target.address);
    reader_ = http::wire::ResponseReader();
    reader_.next(worker_->plan().is_head);
    in_answer_ = ending_ = thinking_ = answered_once_ = false;
    connection_->start(*this);
    worker_->has_room(*this);
}

void LoadConnection::failed_to_open(int error) {
    socket_.reset();
    ++worker_->tally().error(kind_of(error));
    worker_->tally().resets += error == ECONNRESET;
    try_again_later();
}

void LoadConnection::try_again_later() {
    retry_ = std::clamp(retry_ * 2, retry_min, retry_max);
    loop().arm(*this, loop().now() + retry_);
}

void LoadConnection::send(std::size_t most) {
    const LoadPlan& plan = worker_->plan();
    const Instant now = worker_->now();
    std::size_t count = 0;
    while (count < most && under_way_ < depth_) {
        const auto intended = worker_->pacer().take(now);
        if (!intended) break;
        intended_[(first_ + under_way_) % depth_] = *intended;
        ++under_way_;
        ++count;
        worker_->tally().late_max = std::max(worker_->tally().late_max, now - *intended);
    }
    if (count == 0) return;
    if (under_way_ == count) since_ = now;
    worker_->tally().sent += count;
    worker_->count_under_way(static_cast<std::int64_t>(count));
    connection_->write(ByteView(plan.batch).substr(0, count * plan.request_bytes));
}

std::size_t LoadConnection::on_data(net::Connection& connection, ByteView data) {
    using Status = http::wire::ResponseReader::Status;
    const Instant now = worker_->read_clock();
    since_ = now;
    std::size_t used = 0;
    std::size_t count = 0;
    while (!ending_) {
        const auto step = reader_.step(data.substr(used));
        used += step.used;
        if (step.status == Status::data) {
            length_ += step.data.size();
            if (worker_->plan().options.check_hash) {
                hash_ = crc32(hash_, step.data);
            }
        } else if (step.status == Status::done) {
            answered(now);
            ++count;
            reader_.next(worker_->plan().is_head);
            if (under_way_ == 0 && used == data.size()) break;
        } else if (step.status == Status::head) {
            in_answer_ = true;
            length_ = 0;
            hash_ = 0;
        } else if (step.status == Status::need_more) {
            break;
        } else {
            if (worker_->tally().fault == http::wire::ResponseFault::none) {
                worker_->tally().fault = reader_.fault();
            }
            fail_all(LoadError::not_http);
        }
        if (under_way_ == 0 && used < data.size() && !ending_) {
            ++worker_->tally().error(LoadError::unasked);
            ending_ = true;
        }
    }
    worker_->tally().received_bytes += used;
    if (ending_) {
        used = data.size();
        connection.abort();
    } else if (slow_) {
        connection.set_reading(false);
        const auto rate = static_cast<std::int64_t>(worker_->plan().options.slow_rate);
        loop().arm(*this, now + Duration(1s) * static_cast<std::int64_t>(data.size()) / rate);
    }
    finish_after_answers(now, count);
    return used;
}

void LoadConnection::finish_after_answers(Instant now, std::size_t count) {
    if (count == 0 || ending_) return;
    const Duration think = worker_->plan().options.think;
    if (think > Duration::zero() && !slow_) {
        thinking_ = true;
        loop().arm(*this, now + think);
        return;
    }
    worker_->has_room(*this);
}

LoadError LoadConnection::judge() const {
    const LoadOptions& options = worker_->plan().options;
    LoadTally::Reference& reference = worker_->tally().reference;
    if (reader_.start().status != options.expect_status) return LoadError::wrong_status;
    if (options.expect_length && length_ != *options.expect_length) return LoadError::wrong_length;
    if (options.expect_hash && hash_ != *options.expect_hash) return LoadError::wrong_hash;
    if (!reference.known) reference = {.known = true, .length = length_, .hash = hash_};
    if (length_ != reference.length) return LoadError::wrong_length;
    return hash_ == reference.hash ? LoadError::count_ : LoadError::wrong_hash;
}

void LoadConnection::answered(Instant now) {
    LoadTally& tally = worker_->tally();
    if (under_way_ == 0) {
        ++tally.error(LoadError::unasked);
        ending_ = true;
        return;
    }
    const Instant intended = intended_[first_];
    first_ = first_ + 1 == depth_ ? 0 : first_ + 1;
    --under_way_;
    worker_->count_under_way(-1);
    in_answer_ = false;
    tally.body_bytes += length_;
    const LoadError wrong = judge();
    if (wrong == LoadError::count_) {
        ++tally.answers;
        ++answers_;
        answered_once_ = true;
        (slow_ ? tally.slow_latency : tally.latency).record(now - intended);
    } else {
        ++tally.error(wrong);
        if (tally.wrong_status == 0 && wrong == LoadError::wrong_status) {
            tally.wrong_status = reader_.start().status;
        }
        answered_once_ = true;  // it talks: no reason to wait before the next
    }
    if (!reader_.start().keep_alive || worker_->plan().options.close) {
        // The server reads no further: what else is under way is asked again elsewhere.
        for (; under_way_ > 0; --under_way_) {
            worker_->pacer().give_back(intended_[first_]);
            first_ = first_ + 1 == depth_ ? 0 : first_ + 1;
            worker_->count_under_way(-1);
            --tally.sent;
        }
        ending_ = true;
    }
}

void LoadConnection::fail_all(LoadError error) {
    worker_->tally().error(error) += under_way_;
    worker_->count_under_way(-static_cast<std::int64_t>(under_way_));
    under_way_ = first_ = 0;
    ending_ = true;
}

void LoadConnection::on_peer_finished(net::Connection& connection) {
    if (in_answer_ && reader_.end_of_stream()) {
        answered(worker_->read_clock());
    } else if (under_way_ > 0) {
        const bool begun = in_answer_ || connection.has_unread();
        fail_all(begun ? LoadError::cut_short : LoadError::closed_early);
    }
    ending_ = true;
    connection.abort();
}

void LoadConnection::on_close(net::Connection& connection, net::CloseReason reason) {
    loop().cancel(*this);
    worker_->tally().sent_bytes += connection.bytes_sent();
    worker_->tally().resets += reason == net::CloseReason::peer_reset;
    if (ended_) {
        worker_->tally().unanswered += under_way_;
        worker_->count_under_way(-static_cast<std::int64_t>(under_way_));
        under_way_ = 0;
        return;
    }
    if (under_way_ == 0) return;
    const bool stalled =
        reason == net::CloseReason::deadline_expired || reason == net::CloseReason::write_stalled;
    fail_all(stalled ? LoadError::timed_out : LoadError::reset);
}

void LoadConnection::release(net::Connection&, net::CloseReason) {
    connection_.reset();
    worker_->count_open(-1);
    if (ended_) return;
    if (answered_once_) {
        retry_ = Duration::zero();
        worker_->wants_to_open(*this);
    } else {
        try_again_later();
    }
}

void LoadConnection::on_expired() {
    if (!connection_) {
        worker_->wants_to_open(*this);
    } else if (thinking_) {
        thinking_ = false;
        worker_->has_room(*this);
    } else if (slow_) {
        since_ = loop().now();
        connection_->set_reading(true);
    }
}

void LoadConnection::check_timeout(Instant now) {
    const Duration timeout = worker_->plan().options.timeout;
    if (now - since_ < timeout) return;
    if (socket_) {
        worker_->connect_done(*this);
        failed_to_open(ETIMEDOUT);
    } else if (connection_ && under_way_ > 0 && !ending_) {
        connection_->abort(net::CloseReason::deadline_expired);
        ending_ = true;
    }
}

void LoadConnection::end() {
    ended_ = true;
    loop().cancel(*this);
    socket_.reset();
    if (connection_) connection_->abort();
}

}  // namespace tiderace::lab
