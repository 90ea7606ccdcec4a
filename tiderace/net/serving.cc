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
#include "tiderace/net/listener.h"

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

// The sockets of one address, one for each loop, and where they are.
struct Listeners {
    std::vector<core::Descriptor> sockets;
    core::Address bound;
};

Result<Listeners> open_listeners(const std::string& text, std::size_t loops, int backlog) {
    core::Kernel& kernel = core::system_kernel();
    auto address = core::Address::parse(text);
    if (!address) return fail(address.error());
    auto first = bind_listener(kernel, *address,
                               {.backlog = backlog, .in_use_retry = ServingDefaults::in_use_retry});
    if (!first) return fail(first.error());
    Listeners made;
    // Port 0 has become a real port now; a Unix socket keeps its name.
    made.bound = address->is_unix() ? *address : local_address(kernel, *first);
    // A socket for each loop: the kernel spreads connections, and no loop is woken for another's.
    if (loops > 1 && !address->is_unix() && shared_ports_are_spread()) {
        auto all = share_listener(kernel, std::move(*first), loops, backlog);
        if (!all) return fail(all.error());
        made.sockets = std::move(*all);
        return made;
    }
    // Unix sockets, and systems that do not spread connections over sockets of one port: the loops
    // share one queue through duplicates of its socket.
    if (auto listens = start_listening(kernel, *first, backlog); !listens) {
        return fail(listens.error());
    }
    made.sockets.push_back(std::move(*first));
    while (made.sockets.size() < loops) {
        made.sockets.emplace_back(kernel, ::dup(made.sockets[0].get()));
        if (!made.sockets.back()) return fail(Error::last("share", text));
    }
    return made;
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

// Destroyed in the reverse order: connections end while what serves them is there.
struct Serving::Parts {
    std::unique_ptr<LoopGroup> loops;
    std::vector<std::unique_ptr<LoopService>> services;  // one for each loop
    std::vector<std::unique_ptr<TcpServer>> servers;
    std::vector<std::size_t> server_of_place;  // within a loop's servers
    std::size_t servers_of_each = 0;
    std::vector<core::Address> addresses;
    std::vector<BoundName> names;
};

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

Serving::~Serving() = default;

Result<core::Signals*> Serving::signals() {
    if (fault_) return fail(*fault_);
    return signals_ ? &*signals_ : nullptr;
}

int Serving::run(const MakeService& make) {
    Parts parts;
    // What points into `parts` ends before them, also where only a part of the start was done.
    struct Borrowed {
        ~Borrowed() { serving.forget_loops(); }
        Serving& serving;
    } const borrowed{*this};
    Result<> ready;
    try {
        ready = prepare(make, parts);
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

Result<> Serving::prepare(const MakeService& make, Parts& parts) {
    if (auto taken = signals(); !taken) return fail(taken.error());
    const std::size_t count = options_.threads > 0 ? options_.threads : core::count_cpus().usable;
    auto loops = LoopGroup::create(
        count, {.engine = options_.engine, .send_bytes_max = options_.send_bytes_max});
    if (!loops) return fail(loops.error());
    parts.loops = std::move(*loops);
    if (auto made = make_servers(make, parts); !made) return made;
    for (const auto& service : parts.services) services_.push_back(service.get());

    std::vector<Listeners> all;
    for (const std::string& text : options_.listen) {
        auto opened = open_listeners(text, count, options_.backlog);
        if (!opened) return fail(opened.error());
        parts.addresses.push_back(opened->bound);
        parts.names.emplace_back(core::system_kernel(), opened->bound);
        all.push_back(std::move(*opened));
    }
    std::vector<Intake::Target> targets;
    // Each loop's servers stand beside each other, in the order of make_servers().
    for (std::size_t i = 0; i < parts.servers.size(); ++i) {
        targets.push_back({&parts.loops->loop(i / parts.servers_of_each), parts.servers[i].get()});
    }
    // The threads first: a machine that refuses one must fail before any client is accepted.
    if (auto started = start(*parts.loops, std::move(targets)); !started) return started;
    for (std::size_t place = 0; place < all.size(); ++place) {
        for (std::size_t i = 0; i < count; ++i) {
            parts.loops->loop(i).assert_on_loop();
            parts.servers[i * parts.servers_of_each + parts.server_of_place[place]]->listen(
                std::move(all[place].sockets[i]), parts.services[i]->layer(place));
        }
    }
    say_where(parts.addresses);
    return {};
}

// One server for each loop and protocol: places with the same sessions share it.
Result<> Serving::make_servers(const MakeService& make, Parts& parts) {
    const std::size_t loops = parts.loops->size();
    for (std::size_t i = 0; i < loops; ++i) {
        auto service = make(parts.loops->loop(i));
        if (!service) return fail(service.error());
        parts.services.push_back(std::move(*service));
    }
    std::vector<std::size_t> first_places;
    for (std::size_t place = 0; place < options_.listen.size(); ++place) {
        LoopService& service = *parts.services[0];
        // Places with one session factory share a server, and so one connections_max.
        const auto same = std::ranges::find_if(first_places, [&](std::size_t other) {
            return &service.sessions(other) == &service.sessions(place);
        });
        parts.server_of_place.push_back(static_cast<std::size_t>(same - first_places.begin()));
        if (same == first_places.end()) first_places.push_back(place);
    }
    parts.servers_of_each = first_places.size();
    // Connections get the descriptors that the loops do not need for themselves.
    const auto descriptors = core::raise_descriptor_limit();
    const std::uint64_t room =
        core::room_for_connections(descriptors ? descriptors->after : UINT64_MAX, loops);
    const std::uint64_t most = options_.connections_max > 0
                                   ? std::min<std::uint64_t>(options_.connections_max, room)
                                   : room;
    const auto connections_max = static_cast<std::size_t>(most);
    TcpServerOptions options{.connection = options_.connection,
                             .connections_max = connections_max,
                             .room = std::make_shared<ConnectionRoom>(connections_max),
                             .refusal = options_.refusal};
    for (std::size_t i = 0; i < loops; ++i) {
        for (const std::size_t place : first_places) {
            parts.servers.push_back(std::make_unique<TcpServer>(
                parts.loops->loop(i), parts.services[i]->sessions(place), options));
        }
    }
    return {};
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

Result<> Serving::start(LoopGroup& loops, std::vector<Intake::Target> servers) {
    if (auto taken = signals(); !taken) return fail(taken.error());
    servers_ = std::move(servers);
    // Neighbours, so that drain() posts to each loop once.
    std::ranges::stable_sort(servers_, {}, &Intake::Target::loop);
    if (auto started = loops.start(); !started) return started;
    if (signals_) {
        watch_.emplace(loops.loop(0), static_cast<core::Watch::Receiver&>(*this));
        auto watched = watch_->watch(signals_->descriptor(), {.readable = true});
        if (!watched) return watched;
    }
    // In a container without an init we are it, and nothing else would reap.
    if (options_.reaps_orphans && ::getpid() == 1) let_the_kernel_reap();
    loops_ = &loops;
    return {};
}

ServingReport Serving::serve() {
    TR_CHECK(loops_ != nullptr, "start() comes first");
    loops_->run();
    ServingReport ended = report();
    forget_loops();
    return ended;
}

void Serving::forget_loops() {
    watch_.reset();
    notice_.reset();
    servers_.clear();
    services_.clear();
    loops_ = nullptr;
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
    core::EventLoop& first_loop = loops_->loop(0);
    if (log::Logger* log = first_loop.log(); log != nullptr) {
        const bool has_end = options_.drain_timeout != Duration::max();
        log->info(
            "server", "stopping: requests in flight may finish",
            log::field("deadline", has_end ? format_duration(options_.drain_timeout) : "none"));
    }
    // Set before the first post, because a loop may finish before we have posted to the next.
    servers_left_ = servers_.size() + services_.size();
    // There is nothing to drain, so nothing would report that it is done.
    if (servers_left_ == 0) loops_->stop();
    const Instant deadline = moment_after(first_loop.clock().now(), options_.drain_timeout);
    for (std::size_t first = 0; first < servers_.size();) {
        core::EventLoop& loop = *servers_[first].loop;
        std::size_t end = first;
        while (end < servers_.size() && servers_[end].loop == &loop) ++end;
        if (!loop.post([this, first, end, deadline] { drain_loop(first, end, deadline); })) {
            // Its mailbox is full. It is counted as drained; its connections are cut off when the
            // loops stop.
            if (log::Logger* log = first_loop.log(); log != nullptr) {
                log->warning("server", "a loop is too late to drain");
            }
            servers_are_empty(end - first);
        }
        first = end;
    }
    drain_services(deadline);
    loops_->attend();
}

void Serving::drain_services(Instant deadline) {
    for (std::size_t i = 0; i < services_.size(); ++i) {
        const bool told = loops_->loop(i).post([this, i, deadline] {
            services_[i]->drain(deadline, [this] { servers_are_empty(1); });
        });
        // A loop that cannot be reached must not keep the process from ending.
        if (!told) servers_are_empty(1);
    }
}

void Serving::drain_loop(std::size_t first, std::size_t end, Instant deadline) {
    servers_[first].loop->assert_on_loop();
    for (std::size_t i = first; i < end; ++i) {
        servers_[i].server->drain(deadline, [this] { servers_are_empty(1); });
    }
}

void Serving::servers_are_empty(std::size_t count) {
    // Called on every loop; the last one stops them all.
    if (servers_left_.fetch_sub(count) == count) loops_->stop();
}

ServingReport Serving::report() const {
    ServingReport all;
    std::uint64_t left = 0;
    for (const Intake::Target& target : servers_) {
        const TcpServerCounters& one = target.server->counters();
        all.opened += one.opened;
        all.refused += one.refused;
        for (std::size_t i = 0; i < all.closed.size(); ++i) all.closed[i] += one.closed[i];
        left += target.server->size();
    }
    // Connections that are left when the loops stop were cut off.
    std::uint64_t& stopped = all.closed[static_cast<std::size_t>(CloseReason::server_stopped)];
    stopped += left;  // they end with their servers
    all.cut_off = stopped;
    return all;
}

}  // namespace tiderace::net
