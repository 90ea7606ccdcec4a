// The least cost of a CGI program: posix_spawn with three pipes, its output read to the end, and
// reaped. Without arguments it is the program itself: it answers as a CGI program.
//
//   cgi_spawn COUNT PROGRAM  ->  microseconds of processor time for each run, the children's
//   included
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

double used(int who) {
    rusage usage{};
    ::getrusage(who, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

bool run_once(char* program) {
    int in[2], out[2], err[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 ||
        ::pipe2(err, O_CLOEXEC) != 0) {
        return false;
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    char* arguments[] = {program, nullptr};
    char* environment[] = {nullptr};
    pid_t pid = 0;
    const int fault = ::posix_spawn(&pid, program, &actions, nullptr, arguments, environment);
    ::posix_spawn_file_actions_destroy(&actions);
    for (const int fd : {in[0], in[1], out[1], err[1]}) ::close(fd);
    char buffer[65'536];
    ssize_t total = 0;
    for (ssize_t got = 0; (got = ::read(out[0], buffer, sizeof buffer)) > 0;) total += got;
    while (::read(err[0], buffer, sizeof buffer) > 0) {
    }
    ::close(out[0]);
    ::close(err[0]);
    int status = 0;
    if (fault == 0) ::waitpid(pid, &status, 0);
    return fault == 0 && status == 0 && total > 0;
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) return std::puts("Content-Type: text/plain\n\nhello") < 0;
    const int runs = std::atoi(words[1]);
    const double before = used(RUSAGE_SELF) + used(RUSAGE_CHILDREN);
    for (int i = 0; i < runs; ++i) {
        if (!run_once(words[2])) return 1;
    }
    const double spent = used(RUSAGE_SELF) + used(RUSAGE_CHILDREN) - before;
    std::printf("%.1f\n", spent / runs * 1e6);
    return 0;
}
