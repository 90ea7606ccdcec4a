#include "server/open_browser.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tiderace::server {
namespace {

// A folder of its own for each test, with a pipe in it that a started program writes to.
class StartDetached : public ::testing::Test {
  protected:
    StartDetached() {
        std::string pattern = ::testing::TempDir() + "tiderace-open-XXXXXX";
        folder_ = mkdtemp(pattern.data());
        EXPECT_EQ(mkfifo(pipe_path().c_str(), 0600), 0);
    }
    ~StartDetached() override { std::filesystem::remove_all(folder_); }

    std::string pipe_path() const { return folder_ + "/said"; }
    std::string script(const std::string& body) const {
        const std::string path = folder_ + "/browser";
        std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path;
    }
    // Waits for the program: opening blocks until it opens the other end, reading until it ends.
    std::string what_it_said() const {
        std::ifstream pipe(pipe_path());
        return {std::istreambuf_iterator<char>(pipe), {}};
    }

    std::string folder_;
};

TEST_F(StartDetached, PassesTheAddressAsOneWordAndNeverToAShell) {
    const std::string address = "http://localhost:8080/?a=b&c;$(touch x) 'q'";
    ASSERT_TRUE(start_detached(script("printf '%s|%s' $# \"$1\" > " + pipe_path()), address));
    EXPECT_EQ(what_it_said(), "1|" + address);
}

TEST_F(StartDetached, GivesItNoTerminalAndASessionOfItsOwn) {
    ASSERT_TRUE(start_detached(
        script("{ readlink /proc/$$/fd/0 /proc/$$/fd/2; cut -d' ' -f6 /proc/$$/stat; } > " +
               pipe_path()),
        ""));
    const std::string said = what_it_said();
    EXPECT_TRUE(said.starts_with("/dev/null\n/dev/null\n")) << said;
    EXPECT_EQ(said.find("\n" + std::to_string(getsid(0)) + "\n"), std::string::npos) << said;
}

// As the server starts it: with its signals blocked, and SIGPIPE ignored.
TEST_F(StartDetached, GivesItTheDefaultSignals) {
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&blocked, number);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto handler = std::signal(SIGPIPE, SIG_IGN);
    const auto started = start_detached(
        script("while read name value; do case $name in SigBlk:|SigIgn:) echo $name $value;; "
               "esac; done < /proc/self/status > " +
               pipe_path()),
        "");
    std::signal(SIGPIPE, handler);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ASSERT_TRUE(started);
    EXPECT_EQ(what_it_said(), "SigBlk: 0000000000000000\nSigIgn: 0000000000000000\n");
}

// In a process whose user may have that one and one more.
TEST_F(StartDetached, ReportsThatNoProcessCouldBeMadeForIt) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become a user without other processes";
    EXPECT_EXIT(
        {
            rlimit two{};
            two.rlim_cur = two.rlim_max = 2;
            setrlimit(RLIMIT_NPROC, &two);
            if (setuid(54'322) != 0) std::_Exit(2);
            const auto started = start_detached("/bin/true", "");
            std::_Exit(!started && started.error().code() == EAGAIN ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(StartDetached, LeavesNoChildBehind) {
    ASSERT_TRUE(start_detached(script("echo > " + pipe_path()), ""));
    what_it_said();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST_F(StartDetached, SaysWhatCouldNotBeStarted) {
    const auto started = start_detached(folder_ + "/absent", "x");
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code(), ENOENT);
    EXPECT_EQ(started.error().message(), "start " + folder_ + "/absent: no such file or directory");
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(StartDetached, SaysWhatMayNotBeStarted) {
    std::ofstream(folder_ + "/text") << "no program";
    const auto started = start_detached(folder_ + "/text", "x");
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code(), EACCES);
}

}  // namespace
}  // namespace tiderace::server
