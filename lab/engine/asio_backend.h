// AsioBackend: core's operations, done by Asio. `Executor` is an io_context's own, or a strand.
//
// Turned from outside, wait() runs the io_context. Once drive() was called, the io_context is run
// by others, and a turn of the loop is one of its handlers.
//
// Owner, Memory   asio.h.
// Thread   All but wake(): the executor's.
// Errors   As core::Backend.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "tiderace/base/unique_function.h"
#include "tiderace/core/backend.h"
#include "tiderace/core/event_loop.h"

namespace tiderace::lab::engine {

template <typename Executor>
class AsioBackend final : public core::Backend {
  public:
    static constexpr std::size_t read_bytes = 8_KiB;  // Asio's own examples have as much

    AsioBackend(std::shared_ptr<asio::io_context> context, const Executor& executor,
                std::string_view name, const core::BackendOptions& options);

    // Turns `loop` from handlers until the loop stops, then calls `ended`.
    // Before any thread runs the io_context.
    void drive(core::EventLoop& loop, unique_function<void()> ended);
    // No thread runs it any more.
    void stop_driving() { loop_ = nullptr; }

    std::string_view name() const override { return name_; }
    Result<core::IoHandle> attach(int fd, core::IoObserver& observer) override;
    void detach(core::IoHandle& handle) override;
    void close(core::IoHandle& handle, core::SendQueue&& unsent) override;
    void set_accepting(core::IoHandle handle, bool on) override;
    void start_connect(core::IoHandle handle, const core::Address& address) override;
    void set_receiving(core::IoHandle handle, bool on) override;
    core::Sent send(core::IoHandle handle, core::SendQueue& queue) override;
    void shut_down_sending(core::IoHandle handle) override;
    int watch(core::IoHandle handle, bool readable, bool writable) override;
    void wait(Duration wait_max) override;
    void dispatch() override;
    void wake() override;

  private:
    struct Entry;
    struct Slot {
        std::shared_ptr<Entry> entry;
        std::uint32_t generation = 0;
    };

    Entry* find(core::IoHandle handle) const;
    Entry& entry(core::IoHandle handle) const;
    Entry& stream(core::IoHandle handle);
    std::shared_ptr<Entry> forget(core::IoHandle& handle);
    void note(Entry& entry);
    void tell(core::IoHandle handle);
    void report_plain(core::IoHandle handle, Entry& entry);
    void report_stream(core::IoHandle handle);
    void ask_plain(Entry& entry);
    void accept_some(core::IoHandle handle);
    void read(Entry& entry);
    void report_received(core::IoHandle handle);
    void report_sent(Entry& entry);
    void send_pieces(Entry& entry, core::SendQueue& queue);
    void wait_for_room(Entry& entry, core::SendQueue& queue);
    void turn_soon();
    void turn();
    void turn_at(Instant when);

    std::shared_ptr<asio::io_context> context_;
    Executor executor_;
    std::string_view name_;
    core::BackendOptions options_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>, Executor>
        timer_;
    std::optional<Instant> timer_at_;
    std::vector<Slot> slots_;  // by descriptor number
    std::vector<core::IoHandle> noted_;
    std::vector<core::IoHandle> telling_;  // what dispatch() goes over
    std::atomic<bool> wake_asked_ = false;
    core::EventLoop* loop_ = nullptr;  // while driven
    unique_function<void()> ended_;
    bool turn_asked_ = false;
    bool in_turn_ = false;
};

}  // namespace tiderace::lab::engine
