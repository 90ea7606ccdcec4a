#include "tiderace/core/backend/forwarding_kernel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

namespace tiderace::core {
namespace {

class Noting final : public ForwardingKernel {
  public:
    Noting() : ForwardingKernel(system_kernel()) {}

    std::vector<KernelCall> calls;
    int answer = 0;

  private:
    int before(KernelCall call) override {
        calls.push_back(call);
        return answer;
    }
};

TEST(ForwardingKernel, CallsReachTheKernelBelow) {
    Noting kernel;
    const int here = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(here, 0);
    struct stat status{};
    EXPECT_EQ(kernel.file_status(here, &status), 0);
    EXPECT_TRUE(S_ISDIR(status.st_mode));
    EXPECT_EQ(kernel.entry_status(here, "no such name here", &status), -ENOENT);
    EXPECT_EQ(kernel.open_beneath(here, "no such name here", O_RDONLY, Links::never), -ENOENT);
    std::array<char, 4096> buffer;
    EXPECT_GT(kernel.read_directory(here, buffer.data(), buffer.size()), 0);
    EXPECT_LT(kernel.read_at(here, buffer.data(), 1, 0), 0);
    EXPECT_LT(kernel.read_now(here, buffer.data(), 1, 0), 0);
    EXPECT_EQ(kernel.close(here), 0);
    const int socket = kernel.open_socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_GE(socket, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    int on = 1;
    EXPECT_EQ(kernel.set_option(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    socklen_t on_bytes = sizeof on;
    EXPECT_EQ(kernel.get_option(socket, SOL_SOCKET, SO_REUSEADDR, &on, &on_bytes), 0);
    EXPECT_EQ(kernel.bind(socket, name, sizeof address), 0);
    EXPECT_EQ(kernel.listen(socket, 1), 0);
    EXPECT_EQ(kernel.local_address(socket, name, &bytes), 0);
    EXPECT_NE(address.sin_port, 0);
    EXPECT_EQ(kernel.accept(socket, name, &bytes), -EAGAIN);
    EXPECT_LT(kernel.receive(socket, buffer.data(), 1), 0);
    iovec piece{buffer.data(), 1};
    EXPECT_LT(kernel.send(socket, &piece, 1, false), 0);
    off_t offset = 0;
    EXPECT_LT(kernel.send_file(socket, socket, &offset, 1), 0);
    EXPECT_LT(kernel.connect(-1, name, sizeof address), 0);
    EXPECT_LT(kernel.shut_down(-1, SHUT_WR), 0);
    EXPECT_EQ(kernel.close(socket), 0);
    EXPECT_EQ(kernel.close(-1), -EBADF);
    EXPECT_EQ(kernel.calls.size(), 21u);
}

TEST(ForwardingKernel, ACallThatIsRefusedIsNotMadeExceptClose) {
    Noting kernel;
    const int file = ::open(".", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    kernel.answer = -EIO;
    struct stat status{};
    EXPECT_EQ(kernel.file_status(file, &status), -EIO);
    EXPECT_EQ(kernel.close(file), -EIO);
    EXPECT_EQ(::fcntl(file, F_GETFD), -1) << "the descriptor is gone";
    EXPECT_EQ(kernel.calls, (std::vector{KernelCall::file_status, KernelCall::close}));
}

}  // namespace
}  // namespace tiderace::core
