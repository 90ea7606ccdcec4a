#include "server/open_browser.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tiderace::server {
namespace {

#if defined(__APPLE__)
constexpr const char* opener = "open";
constexpr const char* advice = "open the address by hand";
#else
constexpr const char* opener = "xdg-open";
constexpr const char* advice = "install xdg-utils, or open the address by hand";
#endif

// exec keeps the blocked and ignored signals: the ones that the server waits for, and
// SIGPIPE. A browser with these could not be ended in order.
void take_default_signals() {
    struct sigaction defaults{};
    defaults.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) sigaction(number, &defaults, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

void write_report(int report, int code) {
    [[maybe_unused]] const ssize_t written = write(report, &code, sizeof code);
}

// In the grandchild. Only calls that are safe after a fork of a program with threads.
[[noreturn]] void become(const std::string& program, char* const* arguments, int report) {
    take_default_signals();
    // Ctrl-C in our terminal must not end the browser.
    setsid();
    const int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        for (const int standard : {0, 1, 2}) dup2(null, standard);
    }
    execvp(program.c_str(), arguments);
    write_report(report, errno);
    _exit(127);
}

// The errno that a child or the grandchild reports, 0 when the pipe was closed by a successful
// exec.
int read_report(int report) {
    int code = 0;
    ssize_t got = 0;
    do {
        got = read(report, &code, sizeof code);
    } while (got < 0 && errno == EINTR);
    return got == sizeof code ? code : 0;
}

// A child between us and the browser ends at once, so that we never wait for the browser.
void reap(pid_t child) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace

// Forked twice. The browser's parent is then the first process and not this one, so that it becomes
// no zombie of a server that runs for months. The pipe is closed by a successful exec (FD_CLOEXEC),
// which ends the wait.
Result<> start_detached(const std::string& program, const std::string& argument) {
    std::array<int, 2> report{};
    if (pipe(report.data()) != 0) return fail(Error::last("start", program));
    for (const int end : report) fcntl(end, F_SETFD, FD_CLOEXEC);
    // Everything the children need is made before the fork: they must not allocate.
    std::string name = program;
    std::string word = argument;
    const std::array<char*, 3> arguments{name.data(), word.data(), nullptr};
    const pid_t child = fork();
    if (child == 0) {
        const pid_t grandchild = fork();
        if (grandchild == 0) become(program, arguments.data(), report[1]);
        // Without it the end of the pipe would read as a browser that was started.
        if (grandchild < 0) write_report(report[1], errno);
        _exit(0);
    }
    // Taken before close(), which may change errno.
    const int fork_error = errno;
    // Our own end, or read_report() would wait for ever.
    close(report[1]);
    // Waits until the browser's exec: only then is it known to have been found.
    const int code = child < 0 ? fork_error : read_report(report[0]);
    close(report[0]);
    if (child > 0) reap(child);
    if (code != 0) return fail(Error(code, "start", program));
    return {};
}

Result<> open_browser(const std::string& url) {
    const auto started = start_detached(opener, url);
    if (started) return {};
    return fail(Error(started.error().code(), "start", opener, advice));
}

}  // namespace tiderace::server
