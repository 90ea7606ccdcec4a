// LoadPacedQueue: what a slow sender has to send; its head, its body or both leave in small pieces.
//
// Thread   One worker's. Pure: bytes in, bytes out.
// Memory   Bytes passed to keep() are copied; of lent bytes only the address is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::load {

class LoadPacedQueue {
  public:
    bool empty() const { return parts_.empty(); }

    // At the end: copied, or borrowed until it was taken. `slow`: it is sent piece by piece.
    void keep(ByteView bytes, bool slow) {
        if (bytes.empty()) return;
        parts_.push_back({.own = std::string(bytes), .slow = slow});
    }
    void lend(ByteView bytes, bool slow) {
        if (bytes.empty()) return;
        parts_.push_back({.lent = bytes, .slow = slow});
    }
    // Passes the bytes that may leave now to send(): `most` slow bytes (at least 1), and all other
    // bytes around them. Returns the number of slow bytes.
    template <typename Send>
    std::size_t take(std::size_t most, Send&& send) {
        std::size_t slow = 0;
        while (!parts_.empty()) {
            Part& part = parts_.front();
            ByteView rest = (part.own.empty() ? part.lent : ByteView(part.own)).substr(part.used);
            if (part.slow) {
                if (slow == most) break;
                rest = rest.substr(0, most - slow);
                slow += rest.size();
            }
            part.used += rest.size();
            send(rest);
            if (part.used == std::max(part.own.size(), part.lent.size())) parts_.pop_front();
        }
        return slow;
    }
    void clear() { parts_.clear(); }

  private:
    struct Part {
        std::string own = {};
        ByteView lent = {};
        std::size_t used = 0;
        bool slow = false;
    };

    std::deque<Part> parts_;
};

}  // namespace tiderace::load
