// Internal. ReceiveBudget: one bound for the bytes that all answers over HTTP/2 on a loop may hold
// unread. ReceiveShare: one answer's part of it.
//
//   begin: first_bytes, the stream's window -> a long answer: more, while half of the room is free
//          -> the answer ended: what is unread -> read, or given up: nothing
//
// A share is taken before its window is announced, so no server can send beyond the bound. A
// request without room waits, as requests wait for a connection.
//
// Owner    The room: ClientConnections and the shares. A share: its exchange.
// Thread   The loop's.
// Limits   bytes_max. (HTTP/1.1 is bounded by PoolLimits and ClientExchange::buffer_bytes_high.)
// Keywords: receive window, flow control
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/units.h"
#include "tiderace/core/shared.h"

namespace tiderace::http {

class ReceiveBudget final : public core::Shared {
  public:
    static constexpr std::size_t bytes_max = 256_MiB;
    static constexpr std::size_t first_bytes = 64_KiB;

    std::size_t taken() const { return taken_; }
    // How many answers may begin.
    std::size_t shares_left() const { return (bytes_max - taken_) / first_bytes; }
    // Called when an answer may begin again after none could; {}: no more.
    void on_room(std::function<void()> call) { on_room_ = std::move(call); }

  private:
    friend class ReceiveShare;

    void take(std::size_t bytes) {
        TR_CHECK(bytes <= bytes_max - taken_, "more than the room of all answers");
        taken_ += bytes;
    }
    void give_back(std::size_t bytes) {
        const bool was_full = shares_left() == 0;
        taken_ -= bytes;
        if (was_full && shares_left() > 0 && on_room_) on_room_();
    }

    std::size_t taken_ = 0;
    std::function<void()> on_room_;
};

class ReceiveShare final {
  public:
    ReceiveShare() = default;
    // first_bytes of a room with shares_left().
    explicit ReceiveShare(core::Ref<ReceiveBudget> room)
        : room_(std::move(room)), bytes_(ReceiveBudget::first_bytes) {
        room_->take(bytes_);
    }
    ~ReceiveShare() { shrink_to(0); }
    ReceiveShare(ReceiveShare&& other) noexcept
        : room_(std::move(other.room_)), bytes_(std::exchange(other.bytes_, 0)) {}
    ReceiveShare& operator=(ReceiveShare other) noexcept {
        std::swap(room_, other.room_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    std::size_t bytes() const { return bytes_; }
    // False: half of the room is taken, and is kept for answers that begin.
    [[nodiscard]] bool grow_to(std::size_t bytes) {
        if (bytes <= bytes_) return true;
        if (!room_ || room_->taken() + (bytes - bytes_) > ReceiveBudget::bytes_max / 2)
            return false;
        room_->take(bytes - bytes_);
        bytes_ = bytes;
        return true;
    }
    void shrink_to(std::size_t bytes) {
        if (bytes < bytes_) room_->give_back(std::exchange(bytes_, bytes) - bytes);
    }

  private:
    core::Ref<ReceiveBudget> room_;
    std::size_t bytes_ = 0;
};

}  // namespace tiderace::http
