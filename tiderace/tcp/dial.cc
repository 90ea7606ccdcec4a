#include "tiderace/tcp/dial.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "tiderace/base/random.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/task/sleep.h"
#include "tiderace/tcp/race.h"

namespace tiderace::tcp {
namespace {

std::uint64_t random_seed() {
    std::array<unsigned char, sizeof(std::uint64_t)> bytes;
    secure_random(bytes);
    std::uint64_t seed = 0;
    std::memcpy(&seed, bytes.data(), bytes.size());
    return seed;
}

// What the dialling tasks of one loop share.
class Directory {
  public:
    explicit Directory(task::Runner& runner) : runner_(&runner) {}

    core::Resolver& resolver() {
        if (!resolver_) resolver_.emplace(runner_->loop(), pool(), std::move(options_));
        return *resolver_;
    }
    void set_look_up(decltype(core::ResolverOptions::look_up) look_up) {
        TR_CHECK(!resolver_.has_value(), "set_look_up() after the first lookup");
        options_.look_up = std::move(look_up);
    }
    // Three quarters to five quarters of it: clients that lost one server do not return together.
    Duration about(Duration pause) {
        const auto half = static_cast<std::uint64_t>(std::max<Duration::rep>(pause.count() / 2, 1));
        return pause * 3 / 4 + Duration(static_cast<Duration::rep>(random_.below(half)));
    }

  private:
    core::WorkerPool& pool() {
        if (runner_->pool() != nullptr) return *runner_->pool();
        return own_pool_.emplace(2, 256);
    }

    task::Runner* runner_;
    core::ResolverOptions options_;
    Random random_{random_seed()};
    std::optional<core::WorkerPool> own_pool_;  // of a runner without one
    std::optional<core::Resolver> resolver_;
};

task::Runner& runner_here() {
    return *task::Context::here().runner;
}

class Lookup final : private core::Resolver::Query {
  public:
    Lookup(std::string_view host, Instant until) : host_(host), until_(until) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        waiter_.suspend(handle);
        resolve(waiter_.context()->runner->local<Directory>().resolver(), host_, until_);
    }
    Result<std::vector<core::Address>> await_resume() { return std::move(*found_); }

  private:
    void on_resolved(Result<std::vector<core::Address>> found) override {
        found_ = std::move(found);
        waiter_.wake();
    }

    std::string_view host_;
    Instant until_;
    std::optional<Result<std::vector<core::Address>>> found_;
    task::Waiter waiter_;
};

std::string_view advice_for(int error) {
    switch (error) {
        case ECONNREFUSED:
            return "nothing listens there";
        case ETIMEDOUT:
            return "no answer in time; a firewall may drop what is sent there";
        case EMFILE:
            return "no descriptor is left; raise the limit on open files";
        default:
            return "";
    }
}

Error describe(std::string_view to, const Race::Outcome& lost) {
    std::string object(to);
    const std::string address = lost.address.to_string();
    if (address != to) object.append(" at ").append(address);
    return Error(lost.error, "connect to", object, advice_for(lost.error));
}

Result<Dialed> dress(Race::Outcome&& won, const std::string& host, const ConnectOptions& options) {
    Dialed made{.layer = nullptr, .transport = std::move(won.transport), .peer = won.address};
    if (options.security == nullptr) return made;
    auto layer = options.security->layer(runner_here());
    if (!layer) return fail(layer.error());
    made.layer = std::move(*layer);
    made.transport = made.layer->wrap(std::move(made.transport), host);
    if (made.transport == nullptr) {
        return fail(Error(0, "connect to", host, "no certificate can be for this name"));
    }
    return made;
}

task::Task<Result<Dialed>> dial_once(const std::string& to, const core::HostPort& place,
                                     const ConnectOptions& options) {
    const Instant now = runner_here().loop().now();
    const Instant until =
        std::min(options.timeout < Instant::max() - now ? now + options.timeout : Instant::max(),
                 task::deadline());
    std::vector<core::Address> addresses = place.literal();
    if (addresses.empty()) {
        Lookup lookup(place.host, until);
        auto found = co_await lookup;
        if (!found) co_return fail(found.error());
        for (const core::Address& each : *found) addresses.push_back(each.with_port(place.port));
    }
    Race race(interleave(addresses), options.stagger, until);
    Race::Outcome outcome = co_await race;
    if (outcome.transport == nullptr) co_return fail(describe(to, outcome));
    co_return dress(std::move(outcome), place.host, options);
}

// Whether it may go better the next time.
bool is_worth_another(const Error& error) {
    return error.code() != EACCES && error.code() != EPERM;
}

task::Task<Result<Dialed>> dial_often(std::string to, ConnectOptions options) {
    auto place = core::HostPort::parse(to);
    if (!place) co_return fail(place.error());
    Duration pause = options.pause;
    for (unsigned left = options.attempts; true; --left) {
        Result<Dialed> made = co_await dial_once(to, *place, options);
        if (made || left <= 1 || !is_worth_another(made.error())) co_return made;
        const Duration wait = runner_here().local<Directory>().about(pause);
        if (task::deadline() - runner_here().loop().now() <= wait) co_return made;
        co_await task::sleep(wait);
        pause = std::min(pause * 2, options.pause_max);
    }
}

}  // namespace

task::Task<Result<Dialed>> dial(std::string_view to, const ConnectOptions& options) {
    return dial_often(std::string(to), options);
}

void set_look_up(task::Runner& runner, decltype(core::ResolverOptions::look_up) look_up) {
    runner.local<Directory>().set_look_up(std::move(look_up));
}

}  // namespace tiderace::tcp
