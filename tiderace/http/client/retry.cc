#include "tiderace/http/client/retry.h"

#include <algorithm>
#include <array>

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/http_date.h"

namespace tiderace::http {
namespace {

// Longer than any pause that is waited for, and no overflow as a Duration.
constexpr std::int64_t seconds_max = 1'000'000'000;

}  // namespace

void RetryBudget::on_request() {
    hundredths_ = std::min(hundredths_ + policy_.budget_percent, full());
}

bool RetryBudget::take() {
    if (hundredths_ < 100) {
        ++counts_->exhausted;
        return false;
    }
    hundredths_ -= 100;
    ++counts_->retries;
    return true;
}

bool is_idempotent(std::string_view method) {
    static constexpr std::array methods{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    return std::ranges::find(methods, method) != methods.end();
}

bool is_worth_a_retry(ClientFault::Kind fault) {
    return fault == ClientFault::Kind::connect || fault == ClientFault::Kind::closed;
}

bool is_worth_a_retry(int status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

std::optional<Duration> read_retry_after(std::string_view value, UnixSeconds now) {
    if (value.empty()) return std::nullopt;
    if (std::ranges::all_of(value, is_digit)) {
        std::int64_t seconds = 0;
        for (const char digit : value) {
            seconds = std::min(seconds * 10 + (digit - '0'), seconds_max);
        }
        return std::chrono::seconds(seconds);
    }
    const auto date = wire::parse_http_date(value, now);
    if (!date) return std::nullopt;
    return std::chrono::seconds(std::clamp<std::int64_t>(*date - now, 0, seconds_max));
}

}  // namespace tiderace::http
