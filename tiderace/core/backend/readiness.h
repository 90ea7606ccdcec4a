// ReadinessBackend: operations out of readiness. When a Poller says "ready", this makes the system
// call.
//
// Interest is set once and changed only when it must: a keep-alive connection costs no call beside
// its receive and its send. Sending is tried at once; only what the kernel did not take waits for
// room. Accepting takes a share of a turn (direct_accept.h).
//
// Owner    One EventLoop; owns its Poller.
// Thread   The loop's, except wake().
// Errors   A descriptor that the Poller cannot hold (select's bound, no memory) is reported to its
//          observer.
// Memory   16 bytes a descriptor number, and one receive buffer.
// Keywords: reactor, EAGAIN, non-blocking
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tiderace/core/backend.h"
#include "tiderace/core/backend/descriptor_table.h"
#include "tiderace/core/backend/poller.h"

namespace tiderace::core {

class ReadinessBackend final : public Backend {
  public:
    // `name` is a constant: the engine's.
    ReadinessBackend(std::string_view name, std::unique_ptr<Poller> poller,
                     const BackendOptions& options);
    ~ReadinessBackend() override;

    std::string_view name() const override { return name_; }
    Result<IoHandle> attach(int fd, IoObserver& observer) override;
    void detach(IoHandle& handle) override;
    void close(IoHandle& handle, SendQueue&& unsent) override;
    void set_accepting(IoHandle handle, bool on) override;
    void start_connect(IoHandle handle, const Address& address) override;
    void set_receiving(IoHandle handle, bool on) override;
    Sent send(IoHandle handle, SendQueue& queue) override;
    void shut_down_sending(IoHandle handle) override;
    int watch(IoHandle handle, bool readable, bool writable) override;
    void wait(Duration wait_max) override;
    void dispatch() override;
    bool has_more() const override { return full_; }
    bool left_bytes() const override { return filled_; }
    void wake() override { poller_->wake(); }

  private:
    enum class Purpose : std::uint8_t { none, accept, connect, stream, watch };

    struct Entry {
        IoObserver* observer = nullptr;
        std::uint32_t generation = 0;
        Purpose purpose = Purpose::none;
        Interest interest;
        bool known_to_poller : 1 = false;
        bool waits_for_room : 1 = false;
        bool backlogged : 1 = false;   // it is in backlogged_
        bool half_closed : 1 = false;  // our direction ended
        bool failed : 1 = false;       // which its observer knows
    };
    static_assert(sizeof(void*) != 8 || sizeof(Entry) == 16);

    struct Refused {
        IoHandle handle;
        int error;
    };

    void set_interest(IoHandle handle, Entry& entry, Interest interest);
    void refuse(IoHandle handle, Entry& target, int error);
    void report_refused();
    void report_refusal(IoHandle handle, int error);
    void report_unlisted();
    void dispatch_watched();
    void poll_watched();
    void forget_watch(IoHandle handle);
    void dispatch_one(const Ready& ready);
    void report_ready(const Ready& ready, const Entry& foreign);
    void notify_writable(IoHandle handle, Entry& stream);
    void accept_some(IoHandle handle);
    void accept_from_backlogged();
    void finish_connect(IoHandle handle);
    void receive_once(IoHandle handle);
    Sent wait_for_room(IoHandle handle, std::uint64_t sent);

    std::string_view name_;
    std::unique_ptr<Poller> poller_;
    BackendOptions options_;
    DescriptorTable<Entry> entries_;
    std::vector<Ready> ready_;  // the first ready_count_ are what the last wait found
    std::size_t ready_count_ = 0;
    bool full_ = false;                 // the last wait may have left some out
    bool filled_ = false;               // a receive of the last dispatch filled the buffer
    std::vector<IoHandle> watched_;     // foreign descriptors
    std::vector<IoHandle> backlogged_;  // at which the last turn left connections waiting
    std::vector<Refused> refused_;      // operations that failed in the call, told by the next turn
    bool refused_unlisted_ = false;     // others, for which refused_ found no memory
    std::unique_ptr<char[]> receive_buffer_;
};

}  // namespace tiderace::core
