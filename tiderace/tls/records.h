// Records: the two record layers of an established connection: OpenSSL's own (ssl_records.h: TLS
// 1.2, and our client side) and ours for TLS 1.3 (records_13.h), which needs no SSL any more.
//
//   in:   whole records -> open() -> plain bytes, in the loop's buffer
//   out:  plain queue -> seal() -> records, written in place in blocks of the queue below
//
// Owner    A TlsTransport.
// Thread   The loop's.
// Errors   The peer's as an Event; its alert is in `out` then.
#pragma once

#include <cstdint>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/core/kernel.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::tls {

// The queue and the pool that records are written to.
struct Out {
    core::SendQueue& queue;
    core::BlockPool& pool;
};

class Records {
  public:
    static constexpr std::size_t header_bytes = 5;
    static constexpr std::size_t payload_bytes_max = 16'384;

    enum class Event : std::uint8_t {
        none,    // all that is used is opened: call again for what is left
        full,    // `plain` has no room for the next record: call again with an empty one
        closed,  // the peer's orderly end (close_notify); nothing after it counts
        failed,  // against the protocol, or damaged
    };
    struct Opened {
        std::size_t used = 0;   // bytes of `in`
        std::size_t plain = 0;  // bytes in `plain`
        Event event = Event::none;
    };

    explicit Records(std::size_t record_bytes_max) : record_bytes_max_(record_bytes_max) {}
    virtual ~Records() = default;

    // Limit of a whole record. A header that claims more is reported without waiting: see
    // ready_bytes.
    std::size_t record_bytes_max() const { return record_bytes_max_; }

    // `in` holds exactly ready_bytes(); `plain` has room for at least one record.
    virtual Opened open(ByteView in, std::span<char> plain, Out out) = 0;
    // Moves from the front of `plain` until it is empty or `out` has `bytes_max` bytes or more.
    // 0, or -errno of the file it read from; -EBADMSG: a file in the queue became shorter.
    virtual int seal(core::SendQueue& plain, Out out, std::size_t bytes_max,
                     core::Kernel& kernel) = 0;
    // close_notify.
    virtual void seal_end(Out out) = 0;

  private:
    std::size_t record_bytes_max_;
};

// Total size of the record at the front of `in` by its header; 0 while the header is incomplete.
std::size_t declared_bytes(ByteView in);
// How much of it has to be there to open it, 0 while unknown: all of it, or its header alone if it
// is too long, and so is refused.
std::size_t openable_bytes(ByteView in, std::size_t record_bytes_max);
// Bytes at the front of `in` that can be opened now. A record that is too long ends them.
std::size_t ready_bytes(ByteView in, std::size_t record_bytes_max);

}  // namespace tiderace::tls
