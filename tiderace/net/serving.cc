#include "tiderace/net/serving.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/core/cpu_count.h"
#include "tiderace/core/process_limits.h"

namespace tiderace::net {
namespace {

constexpr std::array held_signals{SIGTERM, SIGINT, SIGHUP, SIGUSR1};

// nohup ignores the signal, so that the end of a terminal does not end the program.
bool is_ignored(int signal) {
    struct sigaction action{};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// A signal that is taken reaches us even where it was ignored, so SIGHUP is left alone under nohup.
std::vector<int> signals_to_take(const ServingOptions& options) {
    std::vector<int> numbers{SIGTERM, SIGINT, SIGUSR1};
    if (options.on_sighup || !is_ignored(SIGHUP)) numbers.push_back(SIGHUP);
    return numbers;
}

// Orphans become children of pid 1. With SA_NOCLDWAIT the kernel reaps them without our waiting.
void let_the_kernel_reap() {
    struct sigaction action{};  // the default action
    action.sa_flags = SA_NOCLDWAIT | SA_NOCLDSTOP;
    ::sigaction(SIGCHLD, &action, nullptr);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {  // children that ended before
    }
}

void change_mask(int how) {
    sigset_t numbers;
    sigemptyset(&numbers);
    for (const int number : held_signals) sigaddset(&numbers, number);
    ::pthread_sigmask(how, &numbers, nullptr);
}

}  // namespace

void hold_server_signals() {
    change_mask(SIG_BLOCK);
}

void release_server_signals() {
    change_mask(SIG_UNBLOCK);
}

std::string ServingReport::reasons() const {
    std::string text;
    for (std::size_t i = 0; i < closed.size(); ++i) {
        if (closed[i] == 0) continue;
        if (!text.empty()) text += ' ';
        text.append(to_string(static_cast<CloseReason>(i))).append("=");
        text += std::to_string(closed[i]);
    }
    return text.empty() ? "0" : text;
}

// The time between the first signal and draining, in which load balancers notice that we are about
// to go (ServingOptions::drain_notice).
class Serving::Notice final : public core::Timer {
  public:
    explicit Notice(Serving& serving) : serving_(&serving) {}

  private:
    void on_expired() override {
        try {
            serving_->drain();
        } catch (const std::bad_alloc&) {
            serving_->loops_->stop();
        }
    }

    Serving* serving_;
};

Serving::Serving(ServingOptions options) : options_(std::move(options)) {
    // Otherwise a send to a peer that has gone would end the process.
    core::ignore_sigpipe();
    // Taken here, before any thread exists: threads inherit the mask.
    if (!options_.takes_signals) return;
    auto taken = core::Signals::open(signals_to_take(options_));
    if (taken) {
        signals_.emplace(std::move(*taken));
    } else {
        fault_ = taken.error();
    }
}

Serving::~Serving() {
    end();
}

Result<core::Signals*> Serving::signals() {
    if (fault_) return fail(*fault_);
    return signals_ ? &*signals_ : nullptr;
}

int Serving::run(const MakeService& make) {
    Listening listening({.addresses = options_.listen});
    std::unique_ptr<LoopGroup> loops;
    // What uses the loops ends before them, also where only a part of the start was done.
    struct Borrowed {
        ~Borrowed() { serving.end(); }
        Serving& serving;
    } const borrowed{*this};
    Result<> ready;
    try {
        ready = start_all(make, loops, listening);
    } catch (const std::bad_alloc&) {
        ready = fail(Error(ENOMEM, "start", options_.program));
    } catch (const std::exception& error) {
        // Thrown by the program's own code: a state of an App that cannot reach its database, say.
        ready = fail(Error(0, "start", options_.program, error.what()));
    } catch (...) {
        ready = fail(
            Error(0, "start", options_.program, "something that is no std::exception was thrown"));
    }
    if (!ready) {
        std::fprintf(stderr, "%s: %s\n", options_.program.c_str(), ready.error().message().c_str());
        return 1;
    }
    const ServingReport ended = serve();
    if (ended.cut_off > 0) {
        std::fprintf(stderr, "%s: %llu connections were cut off before they were done\n",
                     options_.program.c_str(), static_cast<unsigned long long>(ended.cut_off));
    }
    return 0;
}

Result<> Serving::start_all(const MakeService& make, std::unique_ptr<LoopGroup>& loops,
                            Listening& listening) {
    if (auto taken = signals(); !taken) return fail(taken.error());
    if (auto bound = listening.bind(); !bound) return bound;
    const std::size_t count = options_.threads > 0 ? options_.threads : core::count_cpus().usable;
    auto made = LoopGroup::create(
        count, {.engine = options_.engine, .send_bytes_max = options_.send_bytes_max});
    if (!made) return fail(made.error());
    loops = std::move(*made);
    const Plan plan{.loops = loops.get(),
                    .listening = &listening,
                    .of_place = {listening.addresses().size(), usual_limits(count)}};
    if (auto prepared = prepare(plan, make); !prepared) return prepared;
    if (auto started = start(); !started) return started;
    say_where(listening.addresses());
    return {};
}

// Connections get the descriptors that the loops do not need for themselves.
TcpServerOptions Serving::usual_limits(std::size_t loops) const {
    const auto descriptors = core::raise_descriptor_limit();
    const std::uint64_t room =
        core::room_for_connections(descriptors ? descriptors->after : UINT64_MAX, loops);
    const auto most = static_cast<std::size_t>(
        options_.connections_max > 0 ? std::min<std::uint64_t>(options_.connections_max, room)
                                     : room);
    return {.connection = options_.connection,
            .connections_max = most,
            .room = std::make_shared<ConnectionRoom>(most),
            .refusal = options_.refusal};
}

Result<> Serving::prepare(Plan plan, const MakeService& make) {
    loops_ = plan.loops;
    listening_ = plan.listening;
    for (std::size_t i = 0; i < loops_->size(); ++i) {
        auto service = make(loops_->loop(i));
        if (!service) return fail(service.error());
        services_.push_back(std::move(*service));
    }
    return listening_->spread(*loops_, make_servers(plan.of_place), plan.spread);
}

// One server for each loop and protocol: places with the same sessions share it.
std::vector<Listening::Targets> Serving::make_servers(
    const std::vector<TcpServerOptions>& of_place) {
    std::vector<Listening::Targets> targets(of_place.size());
    servers_.resize(services_.size());
    for (std::size_t i = 0; i < services_.size(); ++i) {
        LoopService& service = *services_[i];
        for (std::size_t place = 0; place < of_place.size(); ++place) {
            SessionFactory& sessions = service.sessions(place);
            std::size_t same = 0;
            while (&service.sessions(same) != &sessions) ++same;
            TcpServer* server = same < place ? targets[same][i].server : nullptr;
            if (server == nullptr) {
                server = servers_[i]
                             .emplace_back(std::make_unique<TcpServer>(loops_->loop(i), sessions,
                                                                       of_place[place]))
                             .get();
                service.served_by(*server);
            }
            targets[place].push_back({&loops_->loop(i), server, service.layer(place)});
        }
    }
    return targets;
}

void Serving::say_where(const std::vector<core::Address>& addresses) const {
    if (options_.on_listening) {
        options_.on_listening(addresses);
        return;
    }
    for (const core::Address& address : addresses) {
        std::printf("%s listens on %s\n", options_.program.c_str(), address.to_string().c_str());
    }
    std::fflush(stdout);
}

// The threads come before the first connection is accepted: a machine that refuses one is reported
// while no client waits.
Result<> Serving::start() {
    if (auto taken = signals(); !taken) return fail(taken.error());
    if (auto started = loops_->start(); !started) return started;
    if (signals_) {
        watch_.emplace(loops_->loop(0), static_cast<core::Watch::Receiver&>(*this));
        auto watched = watch_->watch(signals_->descriptor(), {.readable = true});
        if (!watched) return watched;
    }
    // In a container without an init we are it, and nothing else would reap.
    if (options_.reaps_orphans && ::getpid() == 1) let_the_kernel_reap();
    if (auto listens = listening_->start(); !listens) return listens;
    systemd_.tell("READY=1");
    heartbeat_.emplace(systemd_, *loops_);
    return {};
}

ServingReport Serving::serve() {
    TR_CHECK(loops_ != nullptr, "prepare() and start() come first");
    loops_->run();
    return report();
}

// Connections end while what serves them is there, and what hands them over before these.
void Serving::end() {
    watch_.reset();
    notice_.reset();
    heartbeat_.reset();
    if (listening_ != nullptr) listening_->end();
    servers_.clear();
    services_.clear();
    loops_ = nullptr;
    listening_ = nullptr;
}

// From any thread. A full mailbox means that the loop is overwhelmed: then it ends without order.
void Serving::stop() {
    // On the first loop, where signals come, too: drain_or_end() is never run by two threads at
    // once.
    if (!loops_->loop(0).post([this] { drain_or_end(); })) loops_->stop();
}

void Serving::on_ready(core::Watch&, core::Interest) {
    while (const auto signal = signals_->next()) {
        try {
            take(*signal);
        } catch (const std::bad_alloc&) {  // a callback's; drain_or_end() has its own
            log::Logger* log = loops_->loop(0).log();
            if (log != nullptr) log->warning("server", "no memory to follow a signal");
        }
    }
}

void Serving::take(int signal) {
    if (signal == SIGUSR1) {
        if (options_.on_sigusr1) options_.on_sigusr1();
    } else if (signal == SIGHUP && options_.on_sighup) {
        options_.on_sighup();
    } else if (signal != SIGHUP || !draining_) {
        // A second SIGHUP changes nothing: a shell and its terminal each send one.
        drain_or_end();
    }
}

// The first request drains; the second, from an impatient user, ends at once.
void Serving::drain_or_end() {
    if (std::exchange(draining_, true)) {
        loops_->stop();
        return;
    }
    systemd_.tell("STOPPING=1");
    try {
        give_notice();
    } catch (const std::bad_alloc&) {
        // No memory to drain in order: end now rather than never.
        loops_->stop();
    }
}

void Serving::give_notice() {
    if (options_.on_drain) options_.on_drain();
    if (options_.drain_notice <= Duration::zero()) return drain();
    core::EventLoop& first_loop = loops_->loop(0);
    first_loop.assert_on_loop();
    notice_ = std::make_unique<Notice>(*this);
    first_loop.arm(*notice_, moment_after(first_loop.clock().now(), options_.drain_notice));
}

void Serving::drain() {
    listening_->stop();
    core::EventLoop& first_loop = loops_->loop(0);
    if (log::Logger* log = first_loop.log(); log != nullptr) {
        const bool has_end = options_.drain_timeout != Duration::max();
        log->info(
            "server", "stopping: requests in flight may finish",
            log::field("deadline", has_end ? format_duration(options_.drain_timeout) : "none"));
    }
    // Set before the first post, because a loop may finish before we have posted to the next.
    left_ = services_.size() * (servers_[0].size() + 1);
    const Instant deadline = moment_after(first_loop.clock().now(), options_.drain_timeout);
    for (std::size_t i = 0; i < services_.size(); ++i) {
        if (loops_->loop(i).post([this, i, deadline] { drain_loop(i, deadline); })) continue;
        // Its mailbox is full. It is counted as drained; its connections are cut off when the
        // loops stop.
        if (log::Logger* log = first_loop.log(); log != nullptr) {
            log->warning("server", "a loop is too late to drain");
        }
        are_done(servers_[i].size() + 1);
    }
    loops_->attend();
}

void Serving::drain_loop(std::size_t index, Instant deadline) {
    loops_->loop(index).assert_on_loop();
    for (const auto& server : servers_[index]) {
        server->drain(deadline, [this] { are_done(1); });
    }
    services_[index]->drain(deadline, [this] { are_done(1); });
}

void Serving::are_done(std::size_t count) {
    // Called on every loop; the last one stops them all.
    if (left_.fetch_sub(count) == count) loops_->stop();
}

ServingReport Serving::report() const {
    ServingReport all;
    std::uint64_t left = 0;
    all.refused = listening_->refused();
    for (const auto& of_loop : servers_) {
        for (const auto& server : of_loop) {
            const TcpServerCounters& one = server->counters();
            all.opened += one.opened;
            all.refused += one.refused;
            for (std::size_t i = 0; i < all.closed.size(); ++i) all.closed[i] += one.closed[i];
            left += server->size();
        }
    }
    // Connections that are left when the loops stop were cut off.
    std::uint64_t& stopped = all.closed[static_cast<std::size_t>(CloseReason::server_stopped)];
    stopped += left;  // they end with their servers
    all.cut_off = stopped;
    return all;
}

}  // namespace tiderace::net
