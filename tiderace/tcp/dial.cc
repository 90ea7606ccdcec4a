#include "tiderace/tcp/dial.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/net/connector.h"
#include "tiderace/task/backoff.h"
#include "tiderace/task/lookup.h"
#include "tiderace/task/sleep.h"
#include "tiderace/tcp/race.h"

namespace tiderace::tcp {
namespace {

task::Runner& runner_here() {
    return *task::Context::here().runner;
}

Error describe(std::string_view to, const Race::Outcome& lost) {
    std::string object(to);
    const std::string address = lost.address.to_string();
    if (address != to) object.append(" at ").append(address);
    return Error(lost.error, "connect to", object, net::advice_for_connecting(lost.error));
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
    const Instant until =
        std::min(moment_after(runner_here().loop().now(), options.timeout), task::deadline());
    std::vector<core::Address> addresses = place.literal();
    if (addresses.empty()) {
        task::Lookup lookup(place.host, until);
        auto found = co_await lookup;
        if (!found) co_return fail(found.error());
        for (const core::Address& each : *found) addresses.push_back(each.with_port(place.port));
    }
    Race race(interleave(addresses), options.stagger, until);
    Race::Outcome outcome = co_await race;
    if (outcome.transport == nullptr) co_return fail(describe(to, outcome));
    Result<Dialed> made = dress(std::move(outcome), place.host, options);
    if (made) made->until = until;
    co_return made;
}

// Whether it may go better the next time.
bool is_worth_another(const Error& error) {
    // Everything else may be a server that restarts, or a network that comes up. Rights do not
    // change by themselves.
    return error.code() != EACCES && error.code() != EPERM;
}

// By value: its frame outlives the arguments of dial(), which the caller may have made in the call.
task::Task<Result<Dialed>> dial_often(std::string to, ConnectOptions options) {
    auto place = core::HostPort::parse(to);
    if (!place) co_return fail(place.error());
    task::Backoff backoff(options.pause, options.pause_max);
    for (unsigned left = options.attempts; true; --left) {
        Result<Dialed> made = co_await dial_once(to, *place, options);
        if (made || left <= 1 || !is_worth_another(made.error())) co_return made;
        const Duration wait = backoff.next();
        // The real cause now is more use than a time-out after the pause.
        if (task::deadline() - runner_here().loop().now() <= wait) co_return made;
        co_await task::sleep(wait);
    }
}

}  // namespace

task::Task<Result<Dialed>> dial(std::string_view to, const ConnectOptions& options) {
    return dial_often(std::string(to), options);
}

}  // namespace tiderace::tcp
