// IoUringBackend: a loop's operations, which io_uring performs. io_uring.h makes it.
//
//   asked   Entry: what is wanted of a descriptor, and what the kernel has -> Uring::take()
//   told    Uring::collect() -> done_ -> dispatch(): each completion to its observer
//   held    input that came while it was not wanted waits in held_ until it is
//
// Owner    One EventLoop.
// Thread   The loop's, except wake().
// Errors   As Backend's. Without memory an operation waits for the next turn; a stream whose held
//          input finds none ends.
// Memory   16 bytes a descriptor number, the rings and receive buffers, RingSends.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tiderace/core/backend.h"
#include "tiderace/core/backend/descriptor_table.h"
#include "tiderace/core/backend/ring_operations.h"
#include "tiderace/core/backend/ring_sends.h"
#include "tiderace/core/backend/uring.h"
#include "tiderace/core/backend/waker.h"

namespace tiderace::core {

class IoUringBackend final : public Backend {
  public:
    IoUringBackend(std::unique_ptr<Uring> ring, const BackendOptions& options)
        : ring_(std::move(ring)), options_(options) {
        done_.reserve(64);  // so that without memory a turn has some all the same
    }
    ~IoUringBackend() override;

    std::string_view name() const override { return "io_uring"; }
    Result<IoHandle> attach(int fd, IoObserver& observer) override;
    void detach(IoHandle& handle) override { forget(handle); }
    void close(IoHandle& handle, SendQueue&& unsent) override;
    void set_accepting(IoHandle handle, bool on) override { want(handle, Operation::accept, on); }
    void start_connect(IoHandle handle, const Address& address) override;
    void set_receiving(IoHandle handle, bool on) override;
    Sent send(IoHandle handle, SendQueue& queue) override;
    void shut_down_sending(IoHandle handle) override {
        entries_.at(handle).half_closed = 1;
        options_.kernel->shut_down(handle.fd, SHUT_WR);
    }
    int watch(IoHandle handle, bool readable, bool writable) override;
    void hand_out_accepted(IoHandle handle) override;
    void wait(Duration wait_max) override;
    void dispatch() override;
    bool has_more() const override { return full_; }
    bool left_bytes() const override { return !to_redeliver_.empty() || redeliver_unlisted_; }
    void rest() override;
    void wake() override { waker_.wake(); }

  private:
    using Entry = RingEntry;

    void want(IoHandle handle, Operation operation, bool on);
    void start(IoHandle handle, Entry& entry, Operation operation);
    void cancel(IoHandle handle, Entry& entry, Operation operation);
    void forget(IoHandle& handle);
    void forget_send(IoHandle handle);
    Sent send_by_ring(IoHandle handle, Entry& entry, SendQueue& queue);
    void watch_waker();
    bool complete_at(std::size_t index);
    void put_to_rest(Uring::Completion& completion);
    void note_ended(IoHandle handle);
    void start_again();
    void start_missing(IoHandle handle);
    void note_redelivery(IoHandle handle);
    void redeliver();
    void redeliver_to(IoHandle handle);
    void redeliver(IoHandle handle, HeldInput held);
    void put_back(IoHandle handle, HeldInput rest);
    void note_failed_connect(IoHandle handle, int error);
    void report_failed();

    void complete(const Uring::Completion& completion);
    void complete_watches();
    void finish_accept(IoHandle handle, Entry* entry, std::int32_t result);
    void hand_out(const Entry& listener, int fd);
    bool has_late_for_someone();
    void hand_out_late();
    void keep_late(IoHandle handle, int fd);
    void finish_receive(IoHandle handle, Entry* entry, const Uring::Completion& completion);
    void finish_connect(IoHandle handle, const Entry& stream);
    void report_ready(const Entry& foreign, std::int32_t result);
    void finish_send(std::uint32_t slot, std::int32_t result);
    void deliver(IoHandle handle, Entry& entry, std::int32_t result, ByteView bytes);
    void hold(IoHandle handle, std::int32_t result, ByteView bytes);

    std::unique_ptr<Uring> ring_;
    BackendOptions options_;
    Waker waker_;
    DescriptorTable<Entry> entries_;
    std::vector<Uring::Completion> done_;  // what the last wait() found
    bool full_ = false;                    // of which there may be more
    bool waker_watched_ = false;
    RingSends sends_;
    bool sends_together_ = false;  // that is so much that one call for all answers pays
    std::vector<std::pair<IoHandle, int>> late_;  // accepted beyond a turn's budget, or in a pause
    std::size_t accepts_ = 0;                     // in this turn
    std::size_t watches_ = 0;                     // foreign descriptors
    std::vector<IoHandle> ended_;                 // an operation of theirs ended and may be wanted
    bool ended_unlisted_ = false;                 // others, for which there was no memory
    std::vector<IoHandle> to_redeliver_;          // want what was held
    bool redeliver_unlisted_ = false;             // likewise
    std::vector<std::pair<IoHandle, int>> failed_connects_;  // in the call; shown by the next turn
    bool failed_unlisted_ = false;                           // others: their connect_failed is set
    std::unordered_map<int, HeldInput> held_;                // by descriptor number; few
};

}  // namespace tiderace::core
