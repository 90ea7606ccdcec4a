#include "tiderace/http/filter/basic_auth.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "tiderace/base/constant_time.h"
#include "tiderace/base/moment.h"
#include "tiderace/base/random.h"
#include "tiderace/core/contain.h"
#include "tiderace/http/filter/basic_credentials.h"

namespace tiderace::http::filter {
namespace {

using wire::FieldName;

std::string make_challenge(ByteView realm) {
    std::string text = "Basic realm=\"";
    for (const char c : realm) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return text + "\", charset=\"UTF-8\"";
}

void answer_busy(Exchange& exchange) {
    Response response(503);
    response.add(FieldName::retry_after, "1");
    exchange.respond(response);
}

}  // namespace

// One password on its way to a thread of the pool and back.
class BasicAuth::Verification final : public core::BlockingJob {
  public:
    Verification(BasicAuth& auth, SlotId id, std::shared_ptr<const BasicAuthOptions::Verify> verify,
                 BasicCredentials given)
        : auth_(&auth), id_(id), verify_(std::move(verify)), given_(std::move(given)) {}

  private:
    void work() override {
        try {
            finding_ = (*verify_)(given_.user, given_.password) ? Finding::good : Finding::bad;
        } catch (...) {
            failure_ = std::current_exception();  // logged by the loop, whose log it is
        }
    }
    void done() override {
        if (failure_) {
            core::contain(auth_->loop_->log(), "http", "a password's verification",
                          [&] { std::rethrow_exception(failure_); });
        }
        auth_->on_verified(id_, finding_);
    }

    BasicAuth* auth_;
    SlotId id_;
    std::shared_ptr<const BasicAuthOptions::Verify> verify_;
    BasicCredentials given_;
    Finding finding_ = Finding::none;
    std::exception_ptr failure_;
};

BasicAuth::BasicAuth(core::EventLoop& loop, core::WorkerPool& pool, BasicAuthOptions options)
    : loop_(&loop),
      options_(std::move(options)),
      verify_(std::make_shared<const BasicAuthOptions::Verify>(options_.verify)),
      challenge_(make_challenge(options_.realm)),
      jobs_(loop, pool, std::max<std::size_t>(1, options_.waiting_max)) {
    TR_CHECK(*verify_ != nullptr, "BasicAuth needs a verify");
    secure_random(salt_);
}

AccessRule::Verdict BasicAuth::check(Exchange& exchange) {
    const ByteView authorization = exchange.request().header(FieldName::authorization);
    if (is_remembered(authorization, loop_->now())) return Verdict::pass;
    auto credentials = parse_basic_credentials(authorization);
    if (!credentials) {
        challenge(exchange);
        return Verdict::answered;
    }
    if (waiting_.size() >= options_.waiting_max) {
        answer_busy(exchange);
        return Verdict::answered;
    }
    if (verify(exchange, authorization, std::move(*credentials))) return Verdict::later;
    answer_busy(exchange);
    return Verdict::answered;
}

// False: the pool is full.
bool BasicAuth::verify(Exchange& exchange, ByteView authorization, BasicCredentials given) {
    // The exchange stays in this loop's table; only its number goes to the other thread and comes
    // back.
    const SlotId id = waiting_.emplace(exchange.defer(), authorization).id;
    SlotId verifying;
    try {
        std::unique_ptr<core::BlockingJob> job =
            std::make_unique<Verification>(*this, id, verify_, std::move(given));
        verifying = jobs_.start(job);
        if (!verifying) {
            waiting_.erase(id);
            return false;
        }
        // A client that guesses and leaves must not keep the threads from clients that wait.
        exchange.on_abandoned([this, id, verifying] {
            jobs_.cancel(verifying);
            if (waiting_.find(id) != nullptr) waiting_.erase(id);
        });
    } catch (...) {
        // No memory: it is answered 500 by the caller, so nothing would ever take it out.
        jobs_.cancel(verifying);
        waiting_.erase(id);
        throw;
    }
    return true;
}

void BasicAuth::on_verified(SlotId id, Finding finding) {
    Waiting* found = waiting_.find(id);
    // The client left meanwhile, and its entry with it.
    if (found == nullptr) return;
    const core::Ref<Exchange> exchange = std::move(found->exchange);
    std::string authorization = std::move(found->authorization);
    waiting_.erase(id);
    // Even if the client has left: it comes back with the same credentials.
    if (finding == Finding::good) remember(std::move(authorization), loop_->now());
    if (exchange->abandoned()) return;
    switch (finding) {
        case Finding::none:
            return answer_busy(*exchange);  // no memory, most likely: the client may come again
        case Finding::good:
            return exchange->resume();
        case Finding::bad:
            return challenge(*exchange);
    }
}

void BasicAuth::challenge(Exchange& exchange) const {
    Response response(401);
    response.add(FieldName::www_authenticate, challenge_);
    // One without credentials asks what to send, and fails at nothing.
    if (!exchange.request().header(FieldName::authorization).empty()) {
        response.set_turned_away(wire::TurnedAway::credentials);
    }
    exchange.respond(response);
}

std::uint64_t BasicAuth::hash_of(ByteView authorization) const {
    // Salted, so that timing does not reveal how near a guess comes to a remembered value.
    char salted[sizeof salt_ + BasicCredentials::encoded_bytes_max + 64];
    const std::size_t bytes = std::min(authorization.size(), sizeof salted - sizeof salt_);
    std::memcpy(salted, salt_.data(), sizeof salt_);
    std::memcpy(salted + sizeof salt_, authorization.data(), bytes);
    return std::hash<ByteView>()({salted, sizeof salt_ + bytes});
}

bool BasicAuth::is_remembered(ByteView authorization, Instant now) {
    if (authorization.empty() || remembered_.empty()) return false;
    const std::uint64_t hash = hash_of(authorization);
    for (const Remembered& known : remembered_) {
        if (known.hash == hash && known.until > now &&
            equals_in_constant_time(known.authorization, authorization)) {
            return true;
        }
    }
    return false;
}

void BasicAuth::remember(std::string authorization, Instant now) {
    std::erase_if(remembered_, [now](const Remembered& known) { return known.until <= now; });
    if (options_.remembered_max == 0) return;
    // The oldest: they stand in the order in which they were verified.
    if (remembered_.size() >= options_.remembered_max) remembered_.erase(remembered_.begin());
    const std::uint64_t hash = hash_of(authorization);
    remembered_.push_back({hash, std::move(authorization), moment_after(now, options_.remember)});
}

BasicAuthOptions::Verify verify_plain(std::vector<PlainUser> users) {
    return [users = std::move(users)](ByteView user, ByteView password) {
        unsigned good = 0;
        for (const PlainUser& known : users) {
            const unsigned same_user = equals_in_constant_time(known.user, user);
            const unsigned same_password = equals_in_constant_time(known.password, password);
            // No short cut, so that timing does not show which of the two is wrong.
            good |= same_user & same_password;
        }
        return good != 0;
    };
}

}  // namespace tiderace::http::filter
