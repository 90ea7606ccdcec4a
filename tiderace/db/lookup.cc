#include "tiderace/db/lookup.h"

#include <optional>
#include <utility>

#include "tiderace/core/resolver.h"
#include "tiderace/db/error.h"
#include "tiderace/task/runner.h"

namespace tiderace::db {
namespace {

// One for each loop.
class Directory {
  public:
    explicit Directory(task::Runner& runner) : runner_(&runner) {}
    core::Resolver& resolver() {
        TR_CHECK(runner_->pool() != nullptr, "a database needs a Runner with a worker pool");
        if (!resolver_) resolver_.emplace(runner_->loop(), *runner_->pool());
        return *resolver_;
    }

  private:
    task::Runner* runner_;
    std::optional<core::Resolver> resolver_;
};

class Lookup final : private core::Resolver::Query {
  public:
    Lookup(std::string host, Instant until) : host_(std::move(host)), until_(until) {}

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

    std::string host_;
    Instant until_;
    std::optional<Result<std::vector<core::Address>>> found_;
    task::Waiter waiter_;
};

// "[::1]:0" and "127.0.0.1:0" without brackets and port.
std::string bare(const core::Address& address) {
    std::string text = address.with_port(1).to_string();
    text.resize(text.rfind(':'));
    if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
    return text;
}

}  // namespace

task::Task<std::vector<std::string>> addresses_of(std::string host, Instant until) {
    const core::HostPort place{.host = host, .port = 1};
    std::vector<core::Address> found = place.literal();
    if (found.empty()) {
        Lookup lookup(host, until);
        auto answer = co_await lookup;
        if (!answer) throw Error(Fault::connection_lost, answer.error().message());
        found = std::move(*answer);
    }
    std::vector<std::string> texts;
    for (const core::Address& each : found) texts.push_back(bare(each));
    co_return texts;
}

}  // namespace tiderace::db
