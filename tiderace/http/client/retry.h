// RetryPolicy: when a client sends a request again after it failed, or after an answer that asks
// for patience. RetryBudget: what bounds the retries of all its requests together.
//
//   Client client({.retry = {.attempts_max = 3}});
//
// Retried  Faults `connect` and `closed`; the statuses 429, 502, 503 and 504. Methods that are
//          idempotent (RFC 9110, 9.2.2), and bodies that can be sent again: all but stream()'s.
// Never    Once open() gave an answer, because bytes of it may have been used.
// Pause    It doubles from `pause` to `pause_max` and is a little random. A Retry-After (seconds or
//          a date; RFC 9110, 10.2.3) adds its time; above retry_after_max the answer is given to
//          the caller as it is.
// Time     A request's time-out is for all attempts and pauses together. A pause that does not fit
//          ends the attempts: the caller gets the last answer or fault.
// Budget   A request that is sent for the first time earns budget_percent of a retry, a retry costs
//          one. At the start, and at most, there are budget_max. So a server that fails gets at
//          most that share more requests.
//
// Thread   One loop's, as the client.
// Keywords: retry budget, backoff, jitter, Retry-After, 429, 503
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tiderace/base/units.h"
#include "tiderace/http/client/client_fault.h"
#include "tiderace/http/client/client_metrics.h"

namespace tiderace::http {

struct RetryPolicy {
    unsigned attempts_max = 1;       // of one request, the first one counted; 1: no retry
    Duration pause = 100ms;          // before the second attempt
    Duration pause_max = 5s;         // the longest
    Duration retry_after_max = 30s;  // of a server's Retry-After
    unsigned budget_percent = 20;    // of all requests, which may be retries
    unsigned budget_max = 10;        // retries that can be saved up
};

struct RetryCounters {
    std::uint64_t retries = 0;
    std::uint64_t exhausted = 0;  // would have been retried, if the budget had allowed
};

class RetryBudget {
  public:
    explicit RetryBudget(const RetryPolicy& policy,
                         std::shared_ptr<ClientCounts> counts = std::make_shared<ClientCounts>())
        : policy_(policy), hundredths_(full()), counts_(std::move(counts)) {}

    void on_request();
    // False: it is used up.
    bool take();
    RetryCounters counters() const {
        return {.retries = counts_->retries, .exhausted = counts_->exhausted};
    }

  private:
    std::uint64_t full() const { return std::uint64_t{policy_.budget_max} * 100; }

    RetryPolicy policy_;
    std::uint64_t hundredths_;
    std::shared_ptr<ClientCounts> counts_;
};

// RFC 9110, 9.2.2
bool is_idempotent(std::string_view method);
bool is_worth_a_retry(ClientFault::Kind fault);
bool is_worth_a_retry(int status);
// What a Retry-After field means at `now`; nullopt: it cannot be read. A date that is over: zero.
std::optional<Duration> read_retry_after(std::string_view value, UnixSeconds now);

}  // namespace tiderace::http
