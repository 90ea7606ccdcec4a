// Client: commands to Redis or Valkey, awaited.
//
//   auto redis = redis::open("redis://localhost");
//   co_await redis.set("greeting", "hello", {.expires = 60s});
//   auto greeting = co_await redis.get("greeting");                        // optional<string>
//   auto top = co_await redis.command<std::vector<std::string>>("ZRANGE", "top", 0, 9);
//
// Tasks of a loop share a connection. What they send in one turn of the loop leaves in one write,
// so commands that are awaited at the same time are pipelined without further code. In a cluster
// the client follows redirections, and learns which server has which slot.
//
// Owner    A handle: copy it, keep it as long as you like. Each loop has its own connections, which
//          end some time after the last handle.
// Thread   Any loop's, in a task.
// Errors   Error (tiderace/db/error.h), thrown by the await: an error of the server's, or a lost
//          connection. A command that only reads is sent again, once, after that; another one has
//          Error{unknown_outcome} if it had been sent.
// Limits   Options. A deadline of the task ends the wait; the command may be done all the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/db/redis/hub.h"
#include "tiderace/db/redis/pipeline.h"
#include "tiderace/db/redis/reply.h"
#include "tiderace/db/redis/transaction.h"
#include "tiderace/task/task.h"

namespace tiderace::db::redis {

// Awaits the reply to one command, as T.
template <typename T>
class [[nodiscard("co_await it")]] Pending final : private Call {
  public:
    using Kept = std::conditional_t<std::is_void_v<T>, bool, T>;
    using Decoder = Kept (*)(resp::Reply);

    Pending(std::shared_ptr<const Settings> settings, Command command,
            Decoder decoder = Decode<T>::from)
        : Call(std::move(command)), settings_(std::move(settings)), decoder_(decoder) {}
    Pending(Pending&& other) noexcept
        : Call(std::move(other)),
          settings_(std::move(other.settings_)),
          decoder_(other.decoder_),
          waiter_(std::move(other.waiter_)) {}

    bool await_ready() const {
        check_shared(command());
        return false;
    }
    void await_suspend(std::coroutine_handle<> handle) {
        waiter_.suspend(handle);
        waiter_.context()->runner->template local<Hubs>().of(settings_).submit(*this);
    }
    T await_resume() {
        if (failure_) throw *failure_;
        if constexpr (!std::is_void_v<T>) return std::move(*value_);
    }

  private:
    void on_reply(resp::Reply reply) override {
        try {
            if (reply.is_error()) throw error_of(reply);
            value_.emplace(decoder_(reply));
        } catch (const Error& error) {
            failure_ = error;
        }
        waiter_.wake();
    }
    void on_failed(const Error& error) override {
        failure_ = error;
        waiter_.wake();
    }

    std::shared_ptr<const Settings> settings_;
    Decoder decoder_;
    std::optional<Kept> value_;
    std::optional<Error> failure_;
    task::Waiter waiter_;
};

struct SetOptions {
    Duration expires = Duration::zero();  // zero: never
    enum class If : std::uint8_t { always, absent, present } only_if = If::always;
};
// g++ 12 would destroy a temporary one inside co_await twice (task.h).
static_assert(std::is_trivially_destructible_v<SetOptions>);

class Client final {
  public:
    Client(Place place, const Options& options);

    Pending<std::optional<std::string>> get(std::string_view key) const;
    // False: the condition was not met.
    Pending<bool> set(std::string_view key, std::string_view value, SetOptions options = {}) const;
    // Whether it was there.
    Pending<bool> remove(std::string_view key) const;
    Pending<bool> exists(std::string_view key) const;
    // False: there is no such key.
    Pending<bool> expire(std::string_view key, Duration after) const;
    // The value afterwards.
    Pending<std::int64_t> increment(std::string_view key, std::int64_t by = 1) const;
    // How many received it. A cluster counts the subscribers of one server.
    Pending<std::int64_t> publish(std::string_view channel, std::string_view message) const;
    Pending<void> ping() const;

    // Any other command, one word each; T as in reply.h. Commands that block, or that change the
    // connection, are refused here: see blocking(), transaction() and subscribe().
    template <typename T = Reply, Word... Words>
    Pending<T> command(std::string_view name, const Words&... words) const {
        return {settings_, make_command(name, words...)};
    }
    template <typename T = Reply>
    Pending<T> command(Arguments words) const {
        return {settings_, make_command(words)};
    }

    // A command such as BLPOP, on a connection of its own for as long as it takes: up to `wait`,
    // which is what its own words say. An element that the server hands over while the task is
    // cancelled is lost.
    template <typename T = Reply, Word... Words>
    task::Task<T> blocking(Duration wait, std::string_view name, const Words&... words) const {
        return run_blocking<T>(settings_, wait, make_command(name, words...));
    }

    // Commands that are sent together.
    Pipeline pipeline() const { return Pipeline(settings_); }
    // On a connection of its own. `key`: one of the keys that it is about, for a cluster.
    task::Task<Transaction> transaction(std::string key = {}) const;

    // Where it is, without the password.
    std::string shown() const { return settings_->place.shown(); }
    // The counters of this loop's hub.
    Hub::Counters counters() const;
    const std::shared_ptr<const Settings>& settings() const { return settings_; }

  private:
    template <typename T>
    static task::Task<T> run_blocking(std::shared_ptr<const Settings> settings, Duration wait,
                                      Command command) {
        const Reply reply = co_await ask_blocking(std::move(settings), wait, std::move(command));
        if (reply.view().is_error()) throw error_of(reply.view());
        if constexpr (!std::is_void_v<T>) co_return Decode<T>::from(reply.view());
    }
    static task::Task<Reply> ask_blocking(std::shared_ptr<const Settings> settings, Duration wait,
                                          Command command);

    std::shared_ptr<const Settings> settings_;
};

// Connects at the first command. Throws Error{configuration} for a URL that is none.
Client open(std::string_view url, const Options& options = {});

}  // namespace tiderace::db::redis
