// FakeNetwork: a kernel of sockets in memory, under a clock that a test owns and with seeded
// faults. The real loop, backend, connections and servers run on it unchanged.
//
// Files go to the real kernel, except files of make_file. Descriptors of the fake one start at
// first_descriptor, lowest free first, as POSIX wants it: numbers are reused at once.
//
// Owner    A FakeWorld. It outlives the loop and the peers.
// Thread   One.
// Errors   As the real kernel's, and FaultPlan's. The same plan and calls give the same run.
// Limits   descriptors_max sockets and files; each direction of a connection buffer_bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/backend/forwarding_kernel.h"
#include "tiderace/testing/fake/fault_plan.h"
#include "tiderace/testing/fake/socket.h"
#include "tiderace/testing/manual_clock.h"

namespace tiderace::testing {

class FakeNetwork final : public core::ForwardingKernel {
  public:
    static constexpr int first_descriptor = 5'000;

    FakeNetwork(ManualClock& clock, const FaultPlan& plan);
    ~FakeNetwork() override;

    // A file in memory; the caller closes it.
    int make_file(std::string contents);
    void truncate_file(int fd, std::size_t bytes);
    // From outside, without a descriptor. No socket: there is no listener, or its queue is full.
    struct Dialled {
        std::shared_ptr<FakeSocket> socket;
        bool refused = false;
    };
    Dialled dial(const core::Address& to);
    // The socket behind a descriptor, nullptr if there is none.
    FakeSocket* socket(int fd) const;
    // Different for each descriptor that ever was; 0: there is none of this number.
    std::uint64_t opening(int fd) const;

    // Runs `event` at that time; events of one moment run in the order of the calls.
    void at(Instant when, unique_function<void()> event) {
        events_.emplace(when, std::move(event));
    }
    std::optional<Instant> next_event() const;
    std::size_t run_due_events();  // returns how many
    // How long until the other side sees something, by the plan.
    Duration delay();

    ManualClock& clock() const { return *clock_; }
    FaultPlan& plan() { return plan_; }
    Random& random() { return random_; }
    bool happens(FaultPlan::Odds odds) { return odds != 0 && random_.chance(odds, 10'000); }

    // From now on bytes sent there are lost: connecting neither succeeds nor fails.
    void lose_what_is_sent_to(const core::Address& there) { silent_.push_back(there); }

    void set_descriptors_max(std::size_t most) { descriptors_max_ = most; }
    std::size_t open_descriptors() const { return open_; }

    // One line an event, with its time, from now on.
    void trace_on() { tracing_ = true; }
    const std::vector<std::string>& trace() const { return trace_; }

    int open_socket(int family, int type, int protocol) override;
    int bind(int fd, const sockaddr* address, socklen_t bytes) override;
    int listen(int fd, int backlog) override;
    int accept(int fd, sockaddr* peer, socklen_t* bytes) override;
    int connect(int fd, const sockaddr* address, socklen_t bytes) override;
    int local_address(int fd, sockaddr* address, socklen_t* bytes) override;
    int set_option(int fd, int level, int name, const void* value, socklen_t bytes) override;
    int get_option(int fd, int level, int name, void* value, socklen_t* bytes) override;
    ssize_t receive(int fd, void* buffer, std::size_t bytes) override;
    ssize_t send(int fd, const iovec* pieces, int count, bool more) override;
    ssize_t send_file(int fd, int file, off_t* offset, std::size_t bytes) override;
    std::uint64_t unacknowledged_bytes(int fd) override;
    int shut_down(int fd, int how) override;
    int close(int fd) override;
    int file_status(int fd, struct stat* status) override;
    ssize_t read_at(int fd, void* buffer, std::size_t bytes, off_t offset) override;
    // A file in memory never waits for a disk.
    ssize_t read_now(int fd, void* buffer, std::size_t bytes, off_t offset) override {
        return read_at(fd, buffer, bytes, offset);
    }

  private:
    struct Entry {
        std::uint64_t opening = 0;
        std::shared_ptr<FakeSocket> socket;
        std::unique_ptr<std::string> file;

        bool free() const { return socket == nullptr && file == nullptr; }
    };

    Entry* entry(int fd);
    int take_number();
    FakeSocket* listener_at(const core::Address& address);
    ssize_t note(const char* call, int fd, ssize_t result);
    ssize_t receive_now(FakeSocket& socket, char* buffer, std::size_t bytes);
    ssize_t send_now(FakeSocket& socket, const iovec* pieces, int count);
    ssize_t send_file_now(FakeSocket& socket, int file, off_t* offset, std::size_t bytes);
    ssize_t send_fault(FakeSocket& socket);
    int accept_now(FakeSocket& listener, sockaddr* peer, socklen_t* bytes);
    std::size_t maybe_less(std::size_t bytes, FaultPlan::Odds odds);

    ManualClock* clock_;
    FaultPlan plan_;
    Random random_;
    std::vector<Entry> entries_;  // by number above first_descriptor
    std::size_t open_ = 0;
    std::uint64_t openings_ = 0;
    std::size_t descriptors_max_ = 100'000;
    std::uint16_t next_port_ = 49'152;
    std::vector<core::Address> silent_;
    std::multimap<Instant, unique_function<void()>> events_;
    bool tracing_ = false;
    std::vector<std::string> trace_;
};

}  // namespace tiderace::testing
