// The operations that a descriptor's user asks an io_uring for: how each is asked, and the tag by
// which its completions say what they are about, and whose.
//
//   8 bits: operation | 24 bits: descriptor number | 32 bits: generation, which of its users
//   a send's: its slot in place of the number and generation
#pragma once

#include <liburing.h>

#include <array>
#include <cstdint>

#include "tiderace/core/backend.h"

namespace tiderace::core {

// What a completion is about. Cancellations themselves are asked with `none`.
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
constexpr std::array users_operations{Operation::accept,  Operation::receive, Operation::room,
                                      Operation::connect, Operation::watch,   Operation::hang_up,
                                      Operation::send};

constexpr int descriptor_max = (1 << 24) - 1;

constexpr std::uint64_t no_tag = 0;  // of what nobody waits for

inline std::uint64_t tag_of(Operation operation, IoHandle handle) {
    return std::uint64_t{static_cast<std::uint8_t>(operation)} << 56 |
           std::uint64_t{static_cast<std::uint32_t>(handle.fd)} << 32 | handle.generation;
}

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

}  // namespace tiderace::core
