// Hasher: passwords as hashes of Argon2id (RFC 9106), made on the pool's threads, few at a time.
//
//   app.state<password::Hasher>([](core::EventLoop&) {
//       return std::make_unique<password::Hasher>(); });
//   app.post<"/sign-up">([](Form<SignUp> form, password::Hasher& hasher, Users& users) -> Task<> {
//       co_await users.add(form->name, co_await hasher.hash(form->password)); });
//   app.post<"/login">([](Form<Login> form, password::Hasher& hasher, Users& users) -> … {
//       const auto user = co_await users.find(form->name);
//       // Without such a user the work is the same, so that the time does not show it.
//       if (!co_await hasher.verify(form->password, user ? user->hash : "")) co_return wrong();
//       if (hasher.needs_rehash(user->hash)) …           // the options have changed since
//
//   verify() -> turn in a bounded queue -> permit -> thread of the pool -> answer
//
// A hash is text: "$argon2id$v=19$m=19456,t=2,p=1$…", with its options and salt in it. It costs a
// processor some tens of milliseconds, on purpose, and memory. So each loop makes `at_once` at a
// time, and when `waiting_max` tasks are in it, the next one is refused. A hash whose task has
// ended goes on to its end, and keeps its place until then.
//
// Link tiderace::password, which needs libsodium.
//
// Owner    A state of the loop.
// Thread   The loop's. needs_rehash(): any.
// Errors   TooBusy, which an App answers with 503. A password above password_bytes_max: hash()
//          throws std::length_error, and verify() is false. Text that is no hash, or one that takes
//          more than the limits below, is as no user. No memory for a hash: std::bad_alloc.
// Limits   Options; password_bytes_max; of a hash that is verified hash_memory_max and
//          hash_passes_max, by any program.
// Memory   at_once × memory on each loop while hashes are made; nothing otherwise. A hash of others
//          that needs more than its share takes the place of several, or waits until it is alone.
// Keywords: password hash, argon2, bcrypt, scrypt, libsodium, log-in
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tiderace/base/transient_error.h"
#include "tiderace/base/units.h"
#include "tiderace/task/semaphore.h"
#include "tiderace/task/task.h"

namespace tiderace::password {

struct Options {
    // OWASP's first choice of 2024 for Argon2id.
    std::size_t memory = 19_MiB;   // of one hash; 8 KiB to hash_memory_max
    unsigned passes = 2;           // 1 to hash_passes_max
    std::size_t at_once = 1;       // on each loop; at least 1
    std::size_t waiting_max = 64;  // tasks in hash() and verify(), those that run among them
};

struct TooBusy : std::runtime_error, TransientError {
    TooBusy() : std::runtime_error("too many passwords wait for their hash") {}
};

class Hasher final {
  public:
    static constexpr std::size_t password_bytes_max = 1'024;
    static constexpr std::size_t hash_memory_max = 256_MiB;
    static constexpr unsigned hash_passes_max = 32;

    struct Counters {
        std::size_t tasks = 0;         // in hash() and verify()
        std::size_t memory_bytes = 0;  // of hashes that are made now, for ended tasks, too
        std::uint64_t refused = 0;
    };

    explicit Hasher(Options options = {});

    task::Task<std::string> hash(std::string password);
    // "" (there is no such user): false, after as much work.
    task::Task<bool> verify(std::string password, std::string hash);
    // It was made with other options, or is no hash of Argon2id.
    bool needs_rehash(std::string_view hash) const;

    Counters counters() const;

  private:
    class Turn;

    // The permits of a hash with this memory: one a KiB.
    std::size_t share_of(std::size_t memory) const;

    const Options options_;
    task::Semaphore free_;
    Counters counters_;
};

}  // namespace tiderace::password
