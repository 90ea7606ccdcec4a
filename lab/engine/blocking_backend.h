// BlockingBackend: a loop whose thread blocks in the receive of one socket, and in its send, as
// servers without an event loop do. The EventLoop above is unchanged: it turns once per receive.
//
//   wait()  the socket that it sticks to: recv, with SO_RCVTIMEO for the next deadline
//           no socket, or several: the epoll below reports which are readable
//   send    blocks until the kernel took all, at most send_block_max at a time
//
// Owner, Thread, Errors   As core::Backend. wake() ends the receive by a signal (nudge.h).
// Limits   A deadline, and a wake, may come late by send_block_max while a send blocks.
// Memory   A receive buffer, and what the epoll below has.
#pragma once

#include <memory>
#include <vector>

#include "lab/engine/nudge.h"
#include "tiderace/core/backend.h"

namespace tiderace::lab::engine {

// When a loop begins to block in one connection.
enum class Sticking : std::uint8_t {
    at_once,        // as soon as it is the only thing that the loop has
    when_readable,  // once epoll reported it readable; then until it closes, even if others wait
};

class BlockingBackend final : public core::Backend {
  public:
    static constexpr Duration send_block_max = 250ms;

    BlockingBackend(std::unique_ptr<core::Backend> below, const core::BackendOptions& options,
                    Sticking sticking);
    ~BlockingBackend() override;

    // How many descriptors it has.
    std::size_t attached() const { return attached_.size(); }

    std::string_view name() const override {
        return sticking_ == Sticking::at_once ? "blocking" : "blocking_epoll";
    }
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
    class Entry;

    Entry& entry(core::IoHandle handle) const;
    void forget(core::IoHandle handle);
    void stick_if_alone();
    void stick_to(Entry& stream);
    void unstick();
    void update_below(Entry& stream);
    void make_blocking(Entry& stream);
    void set_timeout(Entry& stream, Duration wait_max);
    void receive(Duration wait_max);

    std::unique_ptr<core::Backend> below_;
    core::BackendOptions options_;
    Sticking sticking_;
    Nudge nudge_;
    std::vector<std::unique_ptr<Entry>> entries_;  // by descriptor number, kept for reuse
    std::vector<Entry*> attached_;
    Entry* stuck_ = nullptr;     // whom wait() blocks in
    Entry* got_from_ = nullptr;  // whose bytes (or end, or fault) wait for dispatch()
    ssize_t got_ = 0;
    std::unique_ptr<char[]> buffer_;
};

Result<std::unique_ptr<core::Backend>> make_blocking_backend(const core::BackendOptions& options);
Result<std::unique_ptr<core::Backend>> make_blocking_epoll_backend(
    const core::BackendOptions& options);

}  // namespace tiderace::lab::engine
