#include "lab/opponent/program.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/thread_refusal.h"
#include "tiderace/core/process_limits.h"
#include "tiderace/core/signals.h"
#include "tiderace/net/listener.h"

namespace tiderace::lab::opponent {
namespace {

std::string usage(const Program& program) {
    std::string text = "usage: tiderace-lab-";
    text.append(program.name).append(" ").append(program.served);
    text += " [--listen ADDRESS] [--threads N]";
    for (const std::string_view name : program.switches) text.append(" [").append(name).append("]");
    return text;
}

Result<std::vector<core::Descriptor>> open_listeners(core::Address address, unsigned count) {
    core::Kernel& kernel = core::system_kernel();
    std::vector<core::Descriptor> all;
    for (unsigned i = 0; i < count; ++i) {
        // A listener for each thread (SO_REUSEPORT): the kernel spreads the connections over them,
        // and no lock is shared.
        auto listener = net::open_listener(kernel, address, {.reuse_port = count > 1});
        if (!listener) return fail(listener.error());
        address = net::local_address(kernel, *listener);  // the others at the same port
        all.push_back(std::move(*listener));
    }
    return all;
}

int complain(const Program& program, const Error& error) {
    std::fprintf(stderr, "tiderace-lab-%.*s: %s\n", static_cast<int>(program.name.size()),
                 program.name.data(), error.message().c_str());
    return 1;
}

// One of the threads has failed: its error, and the signal that ends all of them.
class Failure {
  public:
    void report(Error error) {
        const std::scoped_lock held(lock_);
        if (!error_) error_.emplace(std::move(error));
        // The signal that main awaits in sigwait(). A second thread that fails sends it once more,
        // and it stays pending.
        ::kill(::getpid(), SIGTERM);
    }
    // After the threads.
    const std::optional<Error>& error() const { return error_; }

  private:
    std::mutex lock_;
    std::optional<Error> error_;
};

}  // namespace

bool ProgramOptions::has(std::string_view name) const {
    return std::ranges::find(switches, name) != switches.end();
}

std::expected<ProgramOptions, std::string> parse_words(const Program& program,
                                                       std::span<char* const> words) {
    ProgramOptions options;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const bool has_value = i + 1 < words.size();
        if (word == "--listen" && has_value) {
            auto address = core::Address::parse(words[++i]);
            if (!address) return std::unexpected(address.error().message());
            options.listen = std::move(*address);
        } else if (word == "--threads" && has_value) {
            const auto threads = parse_number<unsigned>(words[++i]);
            if (!threads || *threads == 0 || *threads > threads_max) {
                return std::unexpected("--threads takes 1 to " + std::to_string(threads_max));
            }
            options.threads = *threads;
        } else if (std::ranges::find(program.switches, word) != program.switches.end()) {
            options.switches.emplace_back(word);
        } else if (!word.starts_with("-") && options.served.empty()) {
            options.served = word;
        } else {
            return std::unexpected(usage(program));
        }
    }
    if (options.served.empty()) return std::unexpected(usage(program));
    return options;
}

Result<> start_threads(std::vector<std::thread>& threads, unsigned count,
                       const std::function<void(unsigned)>& work) {
    unsigned started = 0;
    const int code = thread_refusal([&] {
        for (; started < count; ++started) {
            threads.emplace_back([work, number = started] { work(number); });
        }
    });
    if (code == 0) return {};
    return fail(Error(code, "start", std::to_string(count) + " threads",
                      "no more than " + std::to_string(started) +
                          " are allowed: use a smaller --threads, or raise the limit (ulimit -u, "
                          "ulimit -v, pids.max of the cgroup)"));
}

int run_program(const Program& program, std::span<char* const> words,
                const std::function<Result<>(const ProgramOptions&)>& prepare,
                const std::function<unsigned(const ProgramOptions&)>& listeners, const Work& work) {
    // Asked by the lab, for its report (opponent_version()).
    if (words.size() == 2 && std::string_view(words[1]) == "--version") {
        std::printf("%.*s\n", static_cast<int>(program.version.size()), program.version.data());
        return 0;
    }
    const auto options = parse_words(program, words);
    if (!options) {
        std::fprintf(stderr, "%s\n", options.error().c_str());
        return 2;
    }
    core::ignore_sigpipe();
    // Started by hand it would have a shell's 1,024; by the lab, what that has raised already.
    static_cast<void>(core::raise_descriptor_limit());
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGTERM);
    ::sigaddset(&ending, SIGINT);
    // Before the threads, which inherit it: sigwait() below is the one place that takes them.
    ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);

    if (auto prepared = prepare(*options); !prepared) return complain(program, prepared.error());
    auto sockets = open_listeners(options->listen, listeners(*options));
    if (!sockets) return complain(program, sockets.error());
    int stop[2];
    if (::pipe(stop) != 0) return complain(program, Error::last("pipe", "to stop by"));
    const core::Address address = net::local_address(core::system_kernel(), sockets->front());
    std::vector<std::thread> threads;
    Failure failure;
    const auto started =
        start_threads(threads, static_cast<unsigned>(sockets->size()), [&](unsigned number) {
            auto done = work(std::move((*sockets)[number]), stop[0]);
            if (!done) failure.report(std::move(done.error()));
        });
    if (!started) failure.report(started.error());
    // For a caller that let the kernel choose the port (0). Written once the sockets listen, so
    // that its reader may connect at once.
    if (started) std::printf("%u\n", unsigned{address.port()});
    std::fflush(stdout);
    int number = 0;
    ::sigwait(&ending, &number);
    ::close(stop[1]);  // the end of the pipe is readable to all of them
    for (std::thread& thread : threads) thread.join();
    ::close(stop[0]);
    return failure.error() ? complain(program, *failure.error()) : 0;
}

}  // namespace tiderace::lab::opponent
