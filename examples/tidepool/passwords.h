// Passwords: argon2id on the pool's threads, so that no loop waits and no flood of log-ins takes
// all memory.
//
// A hash takes 19 MiB and two passes (OWASP's first choice of 2024). Each loop makes one at a time;
// more of them wait in order, and beyond waiting_max a log-in is refused as too busy.
//
// Owner    The loop's state.
// Thread   The loop's.
#pragma once

#include <tiderace/base/transient_error.h>
#include <tiderace/task.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tidepool {

class Passwords {
  public:
    static constexpr std::size_t characters_min = 8;
    static constexpr std::size_t bytes_max = 800;  // 200 characters of four bytes
    static constexpr std::size_t waiting_max = 64;

    struct TooBusy : std::runtime_error, tiderace::TransientError {
        TooBusy() : std::runtime_error("too many passwords wait for their hash") {}
    };

    // Throws TooBusy.
    tiderace::Task<std::string> hash(std::string password);
    // `hash` may be empty (no such member): the work is done all the same, so that the time
    // does not show whether there is such a member.
    tiderace::Task<bool> matches(std::string password, std::string hash);

  private:
    class Turn;

    tiderace::Semaphore one_{1};
    std::size_t waiting_ = 0;
};

// 128 random bits as text, for links and tokens.
std::string random_word();
// Names of forms, each of which no other page has, not even of another node. They are no secret,
// because a form has its token beside it, so a page makes no system call for them.
class FormNames {
  public:
    std::string next();

  private:
    const std::string start_ = random_word().substr(0, 16);
    std::uint64_t made_ = 0;
};
// 128 bits of BLAKE2b, as digits.
std::string hash_of(std::string_view bytes);

}  // namespace tidepool
