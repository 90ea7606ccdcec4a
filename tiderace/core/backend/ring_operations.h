// The operations on a descriptor that io_uring performs: how each is submitted, the tag in its
// completions that names the operation and the descriptor, and what is kept of a descriptor.
//
//   8 bits: operation | 24 bits: descriptor number | 32 bits: generation, which of its users
//   a send's: its slot in place of the number and generation
#pragma once

#include <liburing.h>

#include <array>
#include <cstdint>
#include <string>

#include "tiderace/core/backend.h"

namespace tiderace::core {

// The operation of a completion. Cancellations themselves carry `none`.
enum class Operation : std::uint8_t {
    none,
    accept,  // from here to send: a user's, and a bit in its entry
    receive,
    room,
    connect,
    watch,
    hang_up,
    send,
    wake,
};
inline constexpr std::array users_operations{
    Operation::accept, Operation::receive, Operation::room, Operation::connect,
    Operation::watch,  Operation::hang_up, Operation::send};

// The kernel may stop after twenty completions of a call (Linux 6.14 on).
constexpr std::size_t completions_of_full_turn = 16;

constexpr int descriptor_max = (1 << 24) - 1;

constexpr std::uint64_t no_tag = 0;  // of operations whose result is ignored

inline std::uint64_t tag_of(Operation operation, IoHandle handle) {
    return std::uint64_t{static_cast<std::uint8_t>(operation)} << 56 |
           std::uint64_t{static_cast<std::uint32_t>(handle.fd)} << 32 | handle.generation;
}

// A loop has one waker, so its tag has no descriptor.
inline constexpr std::uint64_t wake_tag = std::uint64_t{static_cast<std::uint8_t>(Operation::wake)}
                                          << 56;

inline std::uint8_t bit(Operation operation) {
    return static_cast<std::uint8_t>(1U << (static_cast<unsigned>(operation) - 1));
}

inline std::uint64_t send_tag(std::uint32_t slot) {
    return std::uint64_t{static_cast<std::uint8_t>(Operation::send)} << 56 | slot;
}

// Fills in all but the tag. `watched`: 1 readable, 2 writable, of a foreign descriptor.
void prepare(io_uring_sqe& ask, Operation operation, int fd, unsigned watched);

struct Tag {
    explicit Tag(std::uint64_t bits)
        : operation(static_cast<Operation>(bits >> 56)),
          handle{static_cast<int>(bits >> 32 & descriptor_max), static_cast<std::uint32_t>(bits)} {}
    Operation operation;
    IoHandle handle;
};

// An operation is submitted when it is wanted and not in flight; it is in flight until its last
// completion came, cancelled or not. `cancelled` counts only meanwhile; start() clears it. As
// (wanted, under_way, cancelled):
//
//             want(on)                 want(off)                    want(on) once more
//   (0,0,0) ------------> (1,1,0) -----------------> (0,1,1) --------------------> (1,1,1)
//      ^      start()        |        cancel()          |                             |
//      |                     | last completion          | last completion             |
//      |                     v                          v                             |
//      +----------------- ended_ <------------------ ended_ <-------------------------+
//       not wanted          | still wanted: the next turn starts it again
//                           +----> (1,1,0)
//
// room and connect are started without being wanted, because they complete once and are not
// repeated.
struct RingEntry {
    IoObserver* observer = nullptr;
    std::uint32_t generation = 0;
    std::uint8_t wanted : 7 = 0;          // a bit for each operation
    std::uint8_t connect_failed : 1 = 0;  // there was no memory to list that
    std::uint8_t under_way = 0;           // likewise
    std::uint8_t cancelled : 7 = 0;       // of these, being cancelled
    std::uint8_t half_closed : 1 = 0;     // our direction ended: a hang-up is in order
    std::uint8_t watched : 2 = 0;         // 1: readable, 2: writable
    std::uint8_t asked_in : 6 = 0;        // the batch in which an operation was last submitted

    bool wants(Operation operation) const { return (wanted & bit(operation)) != 0; }
    bool runs(Operation operation) const { return (under_way & bit(operation)) != 0; }
};
static_assert(sizeof(void*) != 8 || sizeof(RingEntry) == 16);

// Input that came while it was not wanted: the operation had completed before the kernel knew.
struct HeldInput {
    std::string bytes;
    bool ended = false;
    int error = 0;
};

}  // namespace tiderace::core
