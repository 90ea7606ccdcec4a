// Internal. The parts of RESP that both readers have: lengths, lines, and the bytes of one message.
//
//   read(in): the whole message is in `in`    -> scanned where it lies, nothing is copied
//             only its beginning is           -> copied, and completed by later calls
//
// Exactly one message is copied: bytes behind it stay with the caller. Each byte is copied at most
// once and scanned a constant number of times, however the input was cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/resp/fault.h"

namespace tiderace::resp {

// A decimal number and CR LF at bytes[at]. `at` moves behind it if it is there.
inline Progress read_length(ByteView bytes, std::size_t& at, std::int64_t& length) {
    constexpr std::size_t digits_max = 18;
    std::size_t i = at;
    const bool negative = i < bytes.size() && bytes[i] == '-';
    if (negative) ++i;
    const std::size_t first = i;
    std::int64_t value = 0;
    for (; i < bytes.size() && bytes[i] >= '0' && bytes[i] <= '9'; ++i) {
        if (i - first == digits_max) return Progress::fault;
        value = value * 10 + (bytes[i] - '0');
    }
    if (i == bytes.size()) return Progress::more;
    if (i == first || bytes[i] != '\r') return Progress::fault;
    if (i + 1 == bytes.size()) return Progress::more;
    if (bytes[i + 1] != '\n') return Progress::fault;
    at = i + 2;
    length = negative ? -value : value;
    return Progress::complete;
}

// The result of a scan of a message.
struct Step {
    Progress progress;
    // complete: the message's bytes. more: it needs that many in all …
    std::size_t bytes = 0;
    // … or fewer, if a byte comes before that ends the wait.
    bool (*ends_at)(char byte) = nullptr;
};
inline Step need(std::size_t bytes) {
    return {Progress::more, bytes};
}

class MessageBytes {
  public:
    // Calls scan(bytes of the message so far, and maybe more) -> Step until the message is
    // complete or `in` is used up. A scan goes on where the last one ended.
    template <typename Scan>
    Progress read(ByteView& in, Scan&& scan) {
        if (held_.empty()) {
            const Step step = scan(in);
            if (step.progress == Progress::more) {
                held_ = in;
                wanted_ = step;
                in = {};
            } else {
                base_ = in.data();
                in.remove_prefix(step.bytes);
            }
            return step.progress;
        }
        while (!in.empty()) {
            if (!take(in)) break;
            const Step step = scan(held_);
            if (step.progress != Progress::more) {
                base_ = held_.data();
                return step.progress;
            }
            wanted_ = step;
        }
        return Progress::more;
    }

    // Where the message begins that is complete.
    const char* base() const { return base_; }
    // Forgets the message. What memory it took goes, unless it is little.
    void clear() {
        held_.clear();
        if (held_.capacity() > kept_bytes_max) std::string().swap(held_);
    }
    std::size_t held_bytes() const { return held_.capacity(); }

  private:
    static constexpr std::size_t kept_bytes_max = 1_KiB;

    // True: what the last scan needs is there.
    bool take(ByteView& in) {
        std::size_t bytes = std::min(in.size(), wanted_.bytes - held_.size());
        bool reached = held_.size() + bytes == wanted_.bytes;
        if (wanted_.ends_at != nullptr) {
            const auto end = std::find_if(in.begin(), in.begin() + bytes, wanted_.ends_at);
            if (end != in.begin() + bytes) {
                bytes = static_cast<std::size_t>(end - in.begin()) + 1;
                reached = true;
            }
        }
        held_.append(in.data(), bytes);
        in.remove_prefix(bytes);
        return reached;
    }

    std::string held_;
    const char* base_ = nullptr;
    Step wanted_{Progress::more};
};

}  // namespace tiderace::resp
