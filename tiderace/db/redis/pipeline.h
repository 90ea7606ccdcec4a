// Pipeline: commands that are sent together and answered together.
//
//   auto batch = redis.pipeline();
//   batch.add("INCR", "visits");
//   batch.add("EXPIRE", "visits", "60");
//   auto replies = co_await batch.run();       // one each, in their order; errors are replies
//   replies[0].view().integer()
//
// Not a transaction: other clients' commands may come between. In a cluster each goes to the server
// of its key.
//
// Owner    The task. Destroying it cancels what has no reply.
// Thread   The loop's.
// Errors   Error, thrown by run(), for the first command without a reply.
// Limits   Options::commands_max.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/db/redis/call.h"
#include "tiderace/db/redis/reply.h"
#include "tiderace/task/runner.h"

namespace tiderace::db::redis {

struct Settings;

// Throws for a command that is not for a shared connection.
void check_shared(const Command& command);

class Pipeline final {
  public:
    explicit Pipeline(std::shared_ptr<const Settings> settings) : settings_(std::move(settings)) {}
    // On a connection of the task's own, which takes every command.
    explicit Pipeline(Link& link) : link_(&link) {}
    Pipeline(Pipeline&&) = default;

    template <Word... Words>
    void add(std::string_view name, const Words&... words) {
        add(make_command(name, words...));
    }
    void add(Arguments words) { add(make_command(words)); }
    void add(Command command);
    std::size_t size() const { return parts_.size(); }

    class [[nodiscard("co_await it")]] Run;
    // Once.
    Run run();

  private:
    friend class Run;

    class Part final : public Call {
      public:
        Part(Pipeline& all, Command command) : Call(std::move(command)), all_(&all) {}
        Reply reply;
        std::optional<Error> failure;

      private:
        friend class Pipeline;
        void on_reply(resp::Reply got) override {
            reply = got.copy();
            all_->one_ended();
        }
        void on_failed(const Error& error) override {
            failure = error;
            all_->one_ended();
        }
        Pipeline* all_;
    };

    void one_ended();
    void leave() {
        waiter_ = nullptr;
        parts_.clear();
    }

    void submit(Part& part);

    std::shared_ptr<const Settings> settings_;
    Link* link_ = nullptr;
    std::deque<std::unique_ptr<Part>> parts_;
    std::size_t left_ = 0;
    task::Waiter* waiter_ = nullptr;
};

class Pipeline::Run {
  public:
    explicit Run(Pipeline& pipeline) : pipeline_(&pipeline) {}
    Run(Run&&) = default;
    // Cancelled: no task waits for the rest any more.
    ~Run() {
        if (pipeline_->waiter_ == &waiter_) pipeline_->leave();
    }

    bool await_ready() const { return pipeline_->parts_.empty(); }
    void await_suspend(std::coroutine_handle<> handle);
    std::vector<Reply> await_resume();

  private:
    Pipeline* pipeline_;
    task::Waiter waiter_;
};

}  // namespace tiderace::db::redis
