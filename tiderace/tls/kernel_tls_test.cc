#include "tiderace/tls/kernel_tls.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace tiderace::tls {
namespace {

// A kernel that answers `answer` to the question, and counts what is left open.
class AnsweringKernel final : public core::SystemKernel {
  public:
    explicit AnsweringKernel(int answer) : answer_(answer) {}
    int open_socket(int, int, int) override {
        ++open;
        return 1'000;
    }
    int set_option(int fd, int, int, const void* value, socklen_t bytes) override {
        EXPECT_EQ(fd, 1'000);
        EXPECT_EQ(std::string(static_cast<const char*>(value), bytes), "tls");
        return answer_;
    }
    int close(int fd) override {
        EXPECT_EQ(fd, 1'000);
        --open;
        return 0;
    }
    int open = 0;

  private:
    int answer_;
};

class NoSockets final : public core::SystemKernel {
    int open_socket(int, int, int) override { return -EMFILE; }
};

#if defined(__linux__)
TEST(KernelTls, IsWhatTheKernelAnswers) {
    const struct {
        int answer;
        KernelTls found;
    } cases[] = {{-ENOTCONN, KernelTls::present}, {0, KernelTls::present},
                 {-ENOENT, KernelTls::absent},    {-ENOPROTOOPT, KernelTls::absent},
                 {-EPERM, KernelTls::refused},    {-EINVAL, KernelTls::refused}};
    for (const auto& [answer, found] : cases) {
        AnsweringKernel kernel(answer);
        EXPECT_EQ(find_kernel_tls(kernel), found) << answer;
        EXPECT_EQ(kernel.open, 0);
    }
    NoSockets none;
    EXPECT_EQ(find_kernel_tls(none), KernelTls::refused);
}
#endif

TEST(KernelTls, IsReportedInWordsThatAllSayNo) {
    for (const KernelTls found :
         {KernelTls::present, KernelTls::absent, KernelTls::refused, KernelTls::foreign}) {
        EXPECT_TRUE(to_string(found).starts_with("no (")) << to_string(found);
    }
    EXPECT_EQ(to_string(KernelTls::absent), "no (the kernel has no tls module)");
}

}  // namespace
}  // namespace tiderace::tls
