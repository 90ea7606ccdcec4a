// FailNth: counts the system calls that pass through it, and makes one of them fail.
//
//   fail_each([&](std::uint64_t nth) {          the operation with its 1st call failing, its 2nd, …
//       FakeWorld world;
//       world.kernel().fail(nth);
//       … run it, check what must hold …
//       return world.kernel().failed();         false: it ran through, and that ends it
//   });
//
// Thread   One.
// Errors   A call that fails is not made, except close, which frees the descriptor as the real one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tiderace/base/check.h"
#include "tiderace/core/kernel.h"

namespace tiderace::testing {

enum class Call : std::uint8_t {
    open_socket,
    bind,
    listen,
    accept,
    connect,
    local_address,
    set_option,
    get_option,
    receive,
    send,
    send_file,
    shut_down,
    close,
    open_beneath,
    file_status,
    read_at,
    entry_status,
    read_directory,
    count_
};
std::string_view to_string(Call call);
// A fault this call is known for: an errno value that is not a mere "again".
int usual_error(Call call);

class FailNth final : public core::Kernel {
  public:
    explicit FailNth(core::Kernel& below) : below_(&below) {}

    // The nth call from now (1: the next one), of any kind or of one, fails with `error`, an errno
    // value; 0 means the usual one. Takes the place of an earlier order.
    void fail(std::uint64_t nth, int error = 0, std::optional<Call> kind = std::nullopt);
    // Every call of this kind fails until `error` is 0 again.
    void fail_all(Call kind, int error) { always_[static_cast<std::size_t>(kind)] = error; }
    // Whether the nth call was reached, and which it was.
    bool failed() const { return failed_.has_value(); }
    std::optional<Call> failed_call() const { return failed_; }

    std::uint64_t calls(Call kind) const { return calls_[static_cast<std::size_t>(kind)]; }
    std::uint64_t calls() const;

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
    int shut_down(int fd, int how) override;
    int close(int fd) override;
    int open_beneath(int directory, const char* path, int flags, core::Links links) override;
    int file_status(int fd, struct stat* status) override;
    ssize_t read_at(int fd, void* buffer, std::size_t bytes, off_t offset) override;
    int entry_status(int directory, const char* name, struct stat* status) override;
    ssize_t read_directory(int directory, void* buffer, std::size_t bytes) override;

  private:
    // 0, or the errno that this call fails with.
    int arrived(Call kind);

    core::Kernel* below_;
    std::array<std::uint64_t, static_cast<std::size_t>(Call::count_)> calls_{};
    std::array<int, static_cast<std::size_t>(Call::count_)> always_{};
    std::uint64_t countdown_ = 0;  // 0: nothing is to fail
    int error_ = 0;
    std::optional<Call> kind_;
    std::optional<Call> failed_;
};

// Runs operation(1), operation(2), … until one returns false: it did not reach its nth call.
// Returns how many calls the operation has.
template <typename Operation>
std::uint64_t fail_each(Operation&& operation, std::uint64_t calls_max = 10'000) {
    for (std::uint64_t nth = 1; nth <= calls_max; ++nth) {
        if (!operation(nth)) return nth - 1;
    }
    TR_CHECK(false, "the operation makes more calls each time");
    return calls_max;
}

}  // namespace tiderace::testing
