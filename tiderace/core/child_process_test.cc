#include "tiderace/core/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "tiderace/testing/environment_variable.h"

namespace tiderace::core {
namespace {

// Both ends of a pipe: the bytes that a child writes, up to the end of all writers.
struct Listening {
    void close_writing() { pipe.writing.reset(); }
    std::string line() {
        std::string text;
        for (char letter = 0; ::read(pipe.reading.get(), &letter, 1) == 1 && letter != '\n';)
            text += letter;
        return text;
    }
    std::string rest() {
        close_writing();
        std::string text;
        char buffer[4096];
        for (ssize_t n; (n = ::read(pipe.reading.get(), buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(n));
        return text;
    }
    Pipe pipe = *Pipe::open();
};

ChildOptions shell(std::string script) {
    return {.arguments = {"sh", "-c", std::move(script)}};
}

// The output of the script, and how it ended.
std::pair<std::string, ChildExit> run(ChildOptions options) {
    Listening heard;
    options.output = heard.pipe.writing.get();
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child) << child.error().message();
    std::string text = heard.rest();
    return {std::move(text), *child->wait(-1s)};
}

TEST(ChildProcess, SaysHowItEnded) {
    EXPECT_EQ(run(shell("exit 0")).second, ChildExit{});
    EXPECT_EQ(run(shell("exit 3")).second, (ChildExit{.number = 3}));
    EXPECT_EQ(run(shell("kill -9 $$")).second, (ChildExit{.by_signal = true, .number = 9}));
    EXPECT_EQ((ChildExit{.number = 3}).text(), "ended with status 3");
    EXPECT_EQ((ChildExit{.by_signal = true, .number = 9}).text(), "was ended by signal 9");
}

TEST(ChildProcess, GetsItsWordsAndEnvironment) {
    const testing::EnvironmentVariable kept("TIDERACE_KEPT", "kept");
    const testing::EnvironmentVariable changed("TIDERACE_CHANGED", "before");
    ChildOptions options{
        .arguments = {"/bin/sh", "-c", "echo \"$1|$TIDERACE_KEPT|$TIDERACE_CHANGED\"", "sh",
                      "two words"},
        .environment = {{"TIDERACE_CHANGED", "after"}}};
    EXPECT_EQ(run(options).first, "two words|kept|after\n");
}

TEST(ChildProcess, ItsErrorsMayGoElsewhereThanItsOutput) {
    Listening heard, complaints;
    ChildOptions options = shell("echo out; echo err >&2; cat");
    options.output = heard.pipe.writing.get();
    options.errors = complaints.pipe.writing.get();
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child);
    EXPECT_EQ(heard.rest(), "out\n");
    EXPECT_EQ(complaints.rest(), "err\n");
    EXPECT_TRUE(child->wait(-1s)->ok()) << "cat found an input that ends at once";
}

TEST(ChildProcess, InheritsNoDescriptor) {
    // Open, without the mark that would close it, and at the first number after the pipe's.
    const int leaked = ::dup(STDERR_FILENO);
    const std::string script = "[ -e /dev/fd/" + std::to_string(leaked) + " ] && echo leaked";
    EXPECT_EQ(run(shell(script)).first, "");
    ::close(leaked);
}

TEST(ChildProcess, BeginsWithoutOurSignals) {
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    EXPECT_EQ(run(shell("kill -PIPE $$")).second.number, SIGPIPE);
    EXPECT_EQ(run(shell("kill -USR1 $$")).second.number, SIGUSR1);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(ChildProcess, AProgramThatIsNotThereIsNamed) {
    const auto child = ChildProcess::start({.arguments = {"tiderace-no-such-program"}});
    ASSERT_FALSE(child);
    EXPECT_NE(child.error().message().find("start tiderace-no-such-program"), std::string::npos);
}

TEST(ChildProcess, AProgramThatCannotRunIsReportedAtTheStart) {
    char name[] = "/tmp/tiderace-child-XXXXXX";
    const int file = ::mkstemp(name);
    ::fchmod(file, 0755);
    ASSERT_EQ(::write(file,
                      "\x7f"
                      "ELF broken",
                      11),
              11);
    ::close(file);
    const auto child = ChildProcess::start({.arguments = {name}});
    ::unlink(name);
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code(), ENOEXEC);
}

TEST(ChildProcess, WaitingEndsAtTheDeadline) {
    Listening heard;
    ChildOptions options = shell("echo up; while :; do sleep 0.01; done");
    options.output = heard.pipe.writing.get();
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child);
    EXPECT_EQ(heard.line(), "up");
    EXPECT_EQ(child->wait(1ms), std::nullopt);
    EXPECT_EQ(child->exit(), std::nullopt);
    EXPECT_EQ(child->end(0s), (ChildExit{.by_signal = true, .number = SIGKILL}));
    EXPECT_EQ(child->end(5s), (ChildExit{.by_signal = true, .number = SIGKILL})) << "as before";
}

#if defined(__linux__)
// The child ends well once it has seen our thread sleep, and otherwise gives up.
TEST(ChildProcess, WaitingForeverSleeps) {
    auto child = ChildProcess::start(
        shell("i=0; while [ $i -lt 300 ]; do"
              " grep -q '^State:.S' /proc/$PPID/status && exit 0; i=$((i+1)); done; exit 1"));
    ASSERT_TRUE(child);
    EXPECT_TRUE(child->wait(-1s)->ok()) << "it polls without a pause";
}
#endif

// `echo up` comes from a process that has set its traps.
TEST(ChildProcess, EndAsksFirstAndThenInsists) {
    for (const auto& [trap, patience, expected] :
         {std::tuple{"trap 'exit 7' TERM", Duration(60s), ChildExit{.number = 7}},
          std::tuple{"trap '' TERM", Duration(10ms), ChildExit{.by_signal = true, .number = 9}}}) {
        Listening heard;
        ChildOptions options = shell(std::string(trap) + "; echo up; while :; do sleep 0.01; done");
        options.output = heard.pipe.writing.get();
        auto child = ChildProcess::start(options);
        ASSERT_TRUE(child);
        EXPECT_EQ(heard.line(), "up");
        EXPECT_EQ(child->end(patience), expected) << trap;
    }
}

TEST(ChildProcess, ItsOwnChildrenGoWithIt) {
    Listening heard;
    // The grandchild ignores TERM and holds the pipe: its end shows that the grandchild ended.
    ChildOptions options = shell("(trap '' TERM; echo up; while :; do sleep 0.01; done) & wait");
    options.output = heard.pipe.writing.get();
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child);
    EXPECT_EQ(heard.line(), "up");
    child->end(60s);
    EXPECT_EQ(heard.rest(), "");
}

TEST(ChildProcess, TheDestructorEndsIt) {
    Listening heard;
    ChildOptions options = shell("echo up; while :; do sleep 0.01; done");
    options.output = heard.pipe.writing.get();
    {
        auto child = ChildProcess::start(options);
        ASSERT_TRUE(child);
        EXPECT_EQ(heard.line(), "up");
        ChildProcess moved = std::move(*child);
        EXPECT_EQ(moved.exit(), std::nullopt);
    }
    EXPECT_EQ(heard.rest(), "");
}

#if defined(__linux__)
TEST(ChildProcess, DiesWithItsParent) {
    Listening heard;
    // A process of ours starts the child and is killed without a chance to end it.
    const pid_t middle = ::fork();
    if (middle == 0) {
        ChildOptions options = shell("echo up; while :; do sleep 0.01; done");
        options.output = heard.pipe.writing.get();
        auto child = ChildProcess::start(options);
        ::pause();
        ::_exit(child ? 0 : 1);
    }
    EXPECT_EQ(heard.line(), "up");
    ::kill(middle, SIGKILL);
    ::waitpid(middle, nullptr, 0);
    EXPECT_EQ(heard.rest(), "") << "the end of the pipe: no writer is left";
}

TEST(ChildProcess, RunsWhereItIsPinned) {
    cpu_set_t ours;
    ASSERT_EQ(::sched_getaffinity(0, sizeof ours, &ours), 0);
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &ours)) ++cpu;
    ChildOptions options = shell("grep Cpus_allowed_list /proc/self/status");
    options.cpus = {cpu};
    EXPECT_EQ(run(options).first, "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
}
#endif

TEST(FindProgram, LooksInThePathAndWhereServersAre) {
    EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
    ASSERT_TRUE(find_program("sh"));
    EXPECT_TRUE(find_program("sh")->ends_with("/sh"));
    EXPECT_EQ(find_program(""), std::nullopt);
    EXPECT_EQ(find_program("/etc"), std::nullopt) << "a folder";
    EXPECT_EQ(find_program("/etc/passwd"), std::nullopt) << "no program";
    EXPECT_EQ(find_program("tiderace-no-such-program"), std::nullopt);
}

TEST(OwnFolder, HoldsTheProgramThatRuns) {
    const auto folder = own_folder();
    ASSERT_TRUE(folder);
    EXPECT_TRUE(find_program(*folder + "/core_test")) << *folder;
}

}  // namespace
}  // namespace tiderace::core
