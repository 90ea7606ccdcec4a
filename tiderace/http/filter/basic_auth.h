// Internal. BasicAuth: asks for a user and a password (RFC 7617) before anything behind it is
// reached.
//
//   known good, lately verified -> pass          none, or malformed -> 401 with WWW-Authenticate
//   else -> deferred, verified on the worker pool -> goes on (Exchange::resume), or 401
//
// Verifying a password is slow on purpose, so it never runs on the loop, and a flood of guesses
// ends at the pool's bound with 503. Good credentials are remembered for a while, bad ones never.
//
// Owner    The program; one per loop. It outlives the loop's last turn. It ends before the loop and
//          the pool, unless nothing is being verified.
// Thread   The loop's; `verify` runs on the pool's threads, several at a time.
// Errors   The pool is full, too many wait, or `verify` throws: 503 with Retry-After. A verdict
//          always reaches the loop (core/blocking_jobs.h), so that no request waits for ever.
// Limits   remembered_max credentials, waiting_max requests.
// Memory   The Authorization field's value itself is remembered.
// Keywords: 401, WWW-Authenticate, password
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/base/slot_map.h"
#include "tiderace/core/blocking_jobs.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

struct BasicCredentials;

struct BasicAuthOptions {
    // Must take as long for an unknown user as for a wrong password: verify the password against
    // some hash in either case. A plain list: see verify_plain.
    using Verify = shared_function<bool(ByteView user, ByteView password)>;

    std::string realm = "restricted";  // no control characters
    Verify verify;
    Duration remember = 5min;  // max(): for ever
    std::size_t remembered_max = 64;
    std::size_t waiting_max = 1024;
};

class BasicAuth final : public AccessRule {
  public:
    BasicAuth(core::EventLoop& loop, core::WorkerPool& pool, BasicAuthOptions options);

    Verdict check(Exchange& exchange) override;

    std::size_t waiting() const { return waiting_.size(); }
    std::size_t remembered() const { return remembered_.size(); }

  private:
    class Verification;

    enum class Finding : std::uint8_t { none, good, bad };  // none: `verify` threw

    struct Waiting {
        Waiting(SlotId i, core::Ref<Exchange> e, ByteView a)
            : id(i), exchange(std::move(e)), authorization(a) {}
        SlotId id;
        core::Ref<Exchange> exchange;
        std::string authorization;
    };
    struct Remembered {
        std::uint64_t hash;
        std::string authorization;
        Instant until;
    };

    bool verify(Exchange& exchange, ByteView authorization, BasicCredentials given);
    std::uint64_t hash_of(ByteView authorization) const;
    bool is_remembered(ByteView authorization, Instant now);
    void remember(std::string authorization, Instant now);
    void on_verified(SlotId id, Finding finding);
    void challenge(Exchange& exchange) const;

    core::EventLoop* loop_;
    BasicAuthOptions options_;
    std::shared_ptr<const BasicAuthOptions::Verify> verify_;
    std::string challenge_;
    std::array<unsigned char, 16> salt_;
    SlotMap<Waiting> waiting_;
    std::vector<Remembered> remembered_;
    core::BlockingJobs jobs_;  // last: its end waits for what is being verified
};

// A verify for a few users whose passwords are given as they are (`--basic-auth USER:PASSWORD`).
// Looks at all of them whatever it finds.
struct PlainUser {
    std::string user;
    std::string password;
};
BasicAuthOptions::Verify verify_plain(std::vector<PlainUser> users);

}  // namespace tiderace::http::filter
