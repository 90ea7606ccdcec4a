// Internal. H2 flow control (RFC 9113, sections 5.2 and 6.9): what we may send, and what the peer
// may.
//
// Thread   Any; an object belongs to one thread at a time.
// Errors   A violation by the peer is `false`: FLOW_CONTROL_ERROR, on the stream or connection
//          that owns the window.
// Memory   Eight and twelve bytes.
// Keywords: flow control, WINDOW_UPDATE, back-pressure
#pragma once

#include <algorithm>
#include <cstdint>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/settings.h"

namespace tiderace::http::wire {

// How many bytes of DATA the peer lets us send. Negative after it made its windows smaller.
class H2SendWindow {
  public:
    explicit H2SendWindow(std::uint32_t bytes = 65'535) : bytes_(bytes) {}

    std::uint32_t available() const { return bytes_ > 0 ? static_cast<std::uint32_t>(bytes_) : 0; }
    std::int64_t bytes() const { return bytes_; }

    // `bytes` is at most available().
    void spend(std::uint32_t bytes) {
        TR_CHECK(bytes <= available(), "more DATA than the peer's window takes");
        bytes_ -= bytes;
    }
    // WINDOW_UPDATE.
    [[nodiscard]] bool grow(std::uint32_t increment) {
        bytes_ += increment;
        return bytes_ <= h2_window_bytes_max;
    }
    // SETTINGS_INITIAL_WINDOW_SIZE changed: on every stream, never on the connection.
    [[nodiscard]] bool move(std::uint32_t old_initial, std::uint32_t new_initial) {
        bytes_ += std::int64_t{new_initial} - std::int64_t{old_initial};
        return bytes_ <= h2_window_bytes_max;
    }

  private:
    std::int64_t bytes_;
};

// How many bytes of DATA we let the peer send: `size` at most are on their way or not yet used.
class H2ReceiveWindow {
  public:
    explicit H2ReceiveWindow(std::uint32_t size = 65'535) : size_(size), open_(size) {}

    std::uint32_t size() const { return size_; }
    // What the peer may still send.
    std::uint32_t open() const { return static_cast<std::uint32_t>(std::max(open_, 0)); }

    // Bytes that the peer sent and that are not consumed yet.
    std::uint32_t taken() const {
        return static_cast<std::uint32_t>(std::int64_t{size_} - open_ - unannounced_);
    }

    // H2Data::flow_bytes came. False when the peer had no leave to send them.
    [[nodiscard]] bool receive(std::uint32_t bytes) {
        if (open_ < 0 || bytes > static_cast<std::uint32_t>(open_)) return false;
        open_ -= static_cast<std::int32_t>(bytes);
        return true;
    }
    // The reader has consumed `bytes`. Returns the increment to announce now in a
    // WINDOW_UPDATE, or 0: it waits until half the window is to be given back, so that small reads
    // do not cost a frame each.
    std::uint32_t give_back(std::uint32_t bytes) {
        TR_CHECK(bytes <= taken(), "more is given back than the peer sent");
        unannounced_ += bytes;
        return unannounced_ > 0 && unannounced_ >= size_ / 2 ? announce() : 0;
    }
    // Makes the window `size` large from the next announcement on (a body is wanted faster). Only
    // upwards.
    void enlarge(std::uint32_t size) {
        if (size <= size_) return;
        unannounced_ += size - size_;
        size_ = size;
    }
    // All that may be announced, whatever its amount; 0 when there is nothing.
    std::uint32_t announce() {
        const std::uint32_t increment = unannounced_;
        open_ += static_cast<std::int32_t>(increment);
        unannounced_ = 0;
        return increment;
    }

  private:
    std::uint32_t size_;
    std::int32_t open_;
    std::uint32_t unannounced_ = 0;
};

}  // namespace tiderace::http::wire
