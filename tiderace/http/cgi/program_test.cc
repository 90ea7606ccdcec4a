#include "tiderace/http/cgi/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::cgi {
namespace {

class ProgramTest : public ::testing::Test {
  protected:
    Result<Program> start(const std::string& lines, ProgramLimits limits = {}) {
        folder_.write("run", "#!/bin/sh\n" + lines + "\n");
        ::chmod(folder_.path_of("run").c_str(), 0755);
        return start_file("run", true, limits);
    }
    Result<Program> start_file(const std::string& name, bool is_script, ProgramLimits limits = {}) {
        const int folder = ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const int program = ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC);
        std::string word = "./" + name;
        char* arguments[] = {word.data(), nullptr};
        char path[] = "PATH=/usr/bin:/bin";
        char* environment[] = {path, nullptr};
        ProgramStart start;
        start.program = program;
        start.folder = folder;
        start.name = name.c_str();
        start.is_script = is_script;
        start.arguments = arguments;
        start.environment = environment;
        start.limits = limits;
        auto made = Program::start(start);
        ::close(program);
        ::close(folder);
        return made;
    }
    static std::string read_all(int fd) {
        std::string all;
        for (;;) {
            pollfd asked{fd, POLLIN, 0};
            if (::poll(&asked, 1, 60'000) <= 0) return all;
            char buffer[4096];
            const ssize_t got = ::read(fd, buffer, sizeof buffer);
            if (got <= 0) return all;
            all.append(buffer, static_cast<std::size_t>(got));
        }
    }
    static core::ChildExit wait(Program& program) {
        for (int i = 0; i < 60'000; ++i) {
            if (const auto exit = program.process.exit()) return *exit;
            ::usleep(1000);
        }
        return {};
    }

    testing::TemporaryFolder folder_;
};

TEST_F(ProgramTest, HasPipesAFolderAndAGroupOfItsOwn) {
    auto program = start("pwd; cat; echo bad >&2; exit 3");
    ASSERT_TRUE(program);
    EXPECT_EQ(::getpgid(program->process.pid()), program->process.pid());
    EXPECT_EQ(::write(program->input.get(), "in", 2), 2);
    program->input.reset();
    EXPECT_EQ(read_all(program->output.get()), folder_.path() + "\nin");
    EXPECT_EQ(read_all(program->errors.get()), "bad\n");
    EXPECT_EQ(wait(*program), (core::ChildExit{.by_signal = false, .number = 3}));
}

TEST_F(ProgramTest, RunsABinaryByItsDescriptor) {
    std::string bytes;
    const int from = ::open("/bin/pwd", O_RDONLY);
    ASSERT_GE(from, 0);
    bytes = read_all(from);
    ::close(from);
    folder_.write("binary", bytes);
    ::chmod(folder_.path_of("binary").c_str(), 0755);
    auto program = start_file("binary", false);
    ASSERT_TRUE(program) << program.error().message();
    EXPECT_EQ(read_all(program->output.get()), folder_.path() + "\n");
}

TEST_F(ProgramTest, SaysWhatHinderedIt) {
    folder_.write("alien", "neither one nor the other");
    ::chmod(folder_.path_of("alien").c_str(), 0755);
    const auto program = start_file("alien", false);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code(), ENOEXEC);
}

TEST_F(ProgramTest, HasNoSignalIgnoredOrBlocked) {
    sigset_t usr1, before;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &usr1, &before);
    const auto ignored = ::signal(SIGPIPE, SIG_IGN);
    auto program = start("grep -E 'SigBlk|SigIgn' /proc/self/status | tr -d '\\t\\n'");
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::signal(SIGPIPE, ignored);
    ASSERT_TRUE(program);
    EXPECT_EQ(read_all(program->output.get()), "SigBlk:0000000000000000SigIgn:0000000000000000");
}

TEST_F(ProgramTest, InheritsNoOtherDescriptor) {
    const int leaked = ::fcntl(0, F_DUPFD, 77);  // without close-on-exec
    ASSERT_GE(leaked, 77);
    auto program = start("for f in /proc/self/fd/*; do echo ${f##*/}; done | grep -c -x " +
                         std::to_string(leaked));
    ASSERT_TRUE(program);
    EXPECT_EQ(read_all(program->output.get()), "0\n");
    ::close(leaked);
}

TEST_F(ProgramTest, LimitsAreTheKernels) {
    auto program = start("ulimit -v; ulimit -t; ulimit -p; ulimit -f; ulimit -n; ulimit -c",
                         {.memory_bytes_max = 64_MiB,
                          .cpu_seconds_max = 7,
                          .processes_max = 3000,
                          .file_bytes_max = 1_MiB,
                          .descriptors_max = 33});
    ASSERT_TRUE(program);
    // Memory in KiB, a file in blocks of 512 bytes.
    EXPECT_EQ(read_all(program->output.get()), "65536\n7\n3000\n2048\n33\n0\n");
}

TEST_F(ProgramTest, AFileItWritesEndsAtItsLimit) {
    auto program =
        start("head -c 100000 /dev/zero > large; wc -c < large", {.file_bytes_max = 4096});
    ASSERT_TRUE(program);
    EXPECT_EQ(read_all(program->output.get()), "4096\n");
}

TEST_F(ProgramTest, ItsGroupDiesWithIt) {
    auto program = start("sleep 1000 & echo $!; exit 0");
    ASSERT_TRUE(program);
    char text[32] = {};
    for (int i = 0; i < 60'000 && ::read(program->output.get(), text, sizeof text - 1) <= 0; ++i) {
        ::usleep(1000);
    }
    const pid_t child = std::stoi(text);
    EXPECT_TRUE(wait(*program).ok());
    EXPECT_EQ(read_all(program->output.get()), "") << "nobody holds the pipe";
    for (int i = 0; i < 60'000 && ::kill(child, 0) == 0; ++i) ::usleep(1000);
    EXPECT_NE(::kill(child, 0), 0);
}

TEST_F(ProgramTest, AHungOneIsKilled) {
    auto program = start("trap '' TERM; echo up; sleep 1000; sleep 1000");
    ASSERT_TRUE(program);
    const pid_t pid = program->process.pid();
    char text[8];
    for (int i = 0; i < 60'000 && ::read(program->output.get(), text, sizeof text) <= 0; ++i) {
        ::usleep(1000);
    }
    program->process.signal(SIGTERM);
    EXPECT_FALSE(program->process.exit());
    program->process.end(Duration::zero());
    EXPECT_EQ(program->process.exit(), (core::ChildExit{.by_signal = true, .number = SIGKILL}));
    EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace tiderace::http::cgi
