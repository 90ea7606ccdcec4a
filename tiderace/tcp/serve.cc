#include "tiderace/tcp/serve.h"

#include <cerrno>
#include <utility>

#include "tiderace/task/sleep.h"
#include "tiderace/tcp/stream_state.h"

namespace tiderace::tcp {
namespace {

// It begins in the turn's end: the connection is started then. A parameter of ours, not of the
// handler's alone, so that a handler that throws before its first await is as any other.
task::Task<> run_handler(const Handler& handler, Stream stream, bool is_secured) {
    co_await task::yield();
    if (is_secured) {
        // security() is null before it, and the client is not known.
        co_await until_secured(stream.state());
        if (!stream.open()) co_return;
    }
    co_await handler(std::move(stream));
}

}  // namespace

class Tasks::Served final : public task::Root, private StreamObserver {
  public:
    Served(Tasks& tasks, StreamState& state, std::size_t index)
        : tasks_(&tasks), state_(&state), index_(index) {
        state.set_observer(this);
    }
    ~Served() override {
        // While the members that the task uses are there: ~Root() would come after them.
        end_frame();
        if (state_ != nullptr) state_->set_observer(nullptr);
    }

    void begin() {
        const bool is_secured = tasks_->options_.security != nullptr;
        start(*tasks_->runner_, run_handler(tasks_->handler_, Stream(*state_), is_secured));
    }

  private:
    void on_done(std::exception_ptr failure) override {
        if (failure) {
            task::log_failure(tasks_->runner_->loop().log(), failure);
            // The end of the frame began an orderly end (disown()); a failure drops the queue.
            if (state_ != nullptr) state_->abort();
        }
        remove();
    }
    void on_abandoned() override { remove(); }
    void on_state_ended() override { state_ = nullptr; }

    // Destroys this, once no task is running.
    void remove() {
        // Several children of the task may go on before it ends.
        if (std::exchange(removed_, true)) return;
        auto& all = tasks_->served_;
        // The last one takes its place, so that removing one does not depend on how many there are.
        all.back()->index_ = index_;
        std::swap(all[index_], all.back());
        std::unique_ptr<Served> self = std::move(all.back());
        all.pop_back();
        tasks_->runner_->destroy_later(std::move(self));
    }

    Tasks* tasks_;
    StreamState* state_;    // nullptr: it ended
    std::size_t index_;     // in Tasks::served_
    bool removed_ = false;  // and not there any more
};

Tasks::Tasks(task::Runner& runner, Handler handler, const ServeOptions& options)
    : runner_(&runner), handler_(std::move(handler)), options_(options) {}

Tasks::~Tasks() = default;

net::Session& Tasks::make_session(net::Connection& connection) {
    if (options_.socket != net::SocketOptions{}) connection.tune(options_.socket);
    auto* state = new StreamState(connection, options_.stream);
    served_.push_back(std::make_unique<Served>(*this, *state, served_.size()));
    served_.back()->begin();
    return *state;
}

int serve_handler(const ListenOn& listen, const BoundHandler& handler,
                  const ServeOptions& options) {
    const auto make = [&](task::Runner& runner,
                          const task::States& states) -> Result<std::unique_ptr<Protocol>> {
        auto bound = handler(states);
        if (bound) return std::make_unique<Tasks>(runner, std::move(*bound), options);
        return fail(Error(EINVAL, "serve", options.program,
                          "its handler takes a state that ServeOptions::states does not have"));
    };
    return run_server(listen, options, make);
}

}  // namespace tiderace::tcp
