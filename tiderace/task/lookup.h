// Internal. Lookup: the addresses of a host name, awaited: core::Resolver for the tasks of a loop.
//
//   task::Lookup lookup("example.org", until);
//   const auto found = co_await lookup;                 // addresses with port 0
//
// All lookups of a loop share one resolver, which uses the runner's worker pool. A runner without a
// pool gets two threads of its own at the first lookup.
//
// Owner    The coroutine. Destroying it withdraws the lookup.
// Thread   The loop's.
// Errors   A Result: no such host, no answer in time, too many lookups.
// Limits   core::ResolverOptions.
// Keywords: DNS, getaddrinfo
#pragma once

#include <coroutine>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/resolver.h"
#include "tiderace/task/runner.h"

namespace tiderace::task {

class [[nodiscard("co_await it")]] Lookup final : private core::Resolver::Query {
  public:
    using Addresses = Result<std::vector<core::Address>>;

    Lookup(std::string host, Instant until) : host_(std::move(host)), until_(until) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    Addresses await_resume() { return std::move(*found_); }

  private:
    void on_resolved(Addresses found) override;

    std::string host_;
    Instant until_;
    std::optional<Addresses> found_;
    Waiter waiter_;
};

// Replaces the function that this loop looks names up with. Call it before the first lookup. For
// tests, and for programs with a directory of their own.
void set_look_up(Runner& runner, decltype(core::ResolverOptions::look_up) look_up);

}  // namespace tiderace::task
