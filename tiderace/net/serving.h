// Serving: what each server needs besides its protocol: loops, listening sockets, signals, and an
// orderly end.
//
//   int main() {
//       net::Serving serving({.program = "echo", .listen = {"127.0.0.1:7000"}});
//       return serving.run([](core::EventLoop& loop) { return std::make_unique<EchoLoop>(loop); });
//   }
//
//   starting --run()--> serving --SIGTERM, SIGINT, SIGHUP, stop()--> draining ------> ended
//      |                 |   ^                                          |               ^
//      | fails           '---' on_sighup, on_sigusr1                    '---------------'
//      v                                                    all connections closed; or the deadline
//   one sentence, status 1                                  or a second SIGTERM, SIGINT or stop(),
//                                                           which cut off the rest
//
// run() does everything. A program that makes its own loops, or gives up rights between the steps,
// calls prepare(), start() and serve() instead (server/assemble.cc).
//
// Under systemd with Type=notify it says when it serves and when it stops, and with WatchdogSec=
// that its loops turn (systemd_notifier.h).
//
// Owner    main, which makes it before anything else: from then on the loops receive the signals.
// Thread   The one that made it, which becomes the first loop's. stop(): any, while it serves.
// Errors   A failure to start is one sentence on standard error: a text that is no address, a port
//          in use, an engine, thread or memory that the machine does not have, what MakeService
//          threw.
// Limits   ServingOptions; when memory runs out while it begins to drain, it ends at once.
// Keywords: drain, SIGTERM, graceful shutdown, SIGHUP, reload, systemd, sd_notify
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/signals.h"
#include "tiderace/core/watch.h"
#include "tiderace/net/listening.h"
#include "tiderace/net/loop_group.h"
#include "tiderace/net/serving_defaults.h"
#include "tiderace/net/systemd_notifier.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::net {

// One loop's part of the service. Made before its loop runs, destroyed after its last turn, both on
// the thread that called run().
class LoopService {
  public:
    virtual ~LoopService() = default;
    // The protocol of the connections of ServingOptions::listen[place]. Places with the same
    // factory share connections_max.
    virtual SessionFactory& sessions(std::size_t place) = 0;
    // The layer of these connections: TLS. nullptr: none.
    virtual TransportLayer* layer(std::size_t /*place*/) { return nullptr; }
    // Before it serves: each server of its connections, which lives as long as the loops run.
    virtual void served_by(TcpServer& /*server*/) {}
    // On its loop, when draining begins: what it does beside connections ends, and then it calls
    // `done`, at `deadline` at the latest.
    virtual void drain(Instant /*deadline*/, unique_function<void()> done) { done(); }
};

struct ServingOptions {
    std::string program = "server";  // begins each sentence on standard error
    // "127.0.0.1:8080", "[::]:8080", ":8080" (all addresses), "unix:/run/site.sock". Port 0: the
    // kernel chooses one.
    std::vector<std::string> listen = {};
    std::size_t threads = 0;  // loops, each on its own thread; 0: one for each usable CPU
    std::string engine{core::LoopOptions{}.engine};
    ConnectionLimits connection = {};
    std::size_t connections_max = 0;  // of all loops; 0: what the descriptor limit allows
    std::size_t send_bytes_max = core::LoopOptions{}.send_bytes_max;  // of each loop
    std::string refusal = {};  // sent to a connection above the maximum, in clear text
    // How long draining may take after the notice; max(): no limit.
    Duration drain_timeout = ServingDefaults::drain_timeout;
    // From the first signal until draining begins: connections are still accepted meanwhile, and
    // on_drain was called.
    Duration drain_notice = Duration::zero();
    bool takes_signals = true;  // false: only stop() ends it
    bool reaps_orphans = true;  // as pid 1; false: something waits for children of ours
    // Called once, on the first thread, when all sockets listen. The default prints each address on
    // a line of standard output.
    std::function<void(const std::vector<core::Address>&)> on_listening = {};
    // Called on the first loop. Without on_sighup the signal drains, or is ignored under nohup;
    // without on_sigusr1 the signal is ignored.
    std::function<void()> on_sighup = {};
    std::function<void()> on_sigusr1 = {};
    std::function<void()> on_drain = {};  // at the first signal, before connections are notified
};

struct ServingReport {
    std::uint64_t opened = 0;   // connections
    std::uint64_t refused = 0;  // above a maximum
    std::uint64_t cut_off = 0;  // connections that did not finish before the end; also in `closed`
    std::array<std::uint64_t, static_cast<std::size_t>(CloseReason::count_)> closed{};  // by reason

    std::string reasons() const;  // "peer_finished=3 server_stopped=1"; "0": none was closed
};

class Serving final : private core::Watch::Receiver {
  public:
    using MakeService = std::function<Result<std::unique_ptr<LoopService>>(core::EventLoop&)>;

    explicit Serving(ServingOptions options);
    ~Serving();
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

    // Serves until a stop is requested. Returns the exit status: 0 after draining, 1 if it could
    // not start.
    int run(const MakeService& make);
    // Drains, as SIGTERM does; the second call ends at once.
    void stop();

    // In steps, on loops and sockets of the caller's.
    //
    // The signals that it takes (nullptr: none), for code that runs before the loops; or the reason
    // of a failure.
    Result<core::Signals*> signals();
    struct Plan {
        LoopGroup* loops = nullptr;
        Listening* listening = nullptr;  // bound
        Listening::Spread spread = {};
        // Options for each place's connections on one loop.
        std::vector<TcpServerOptions> of_place = {};
    };
    // Makes the services, and listens.
    Result<> prepare(Plan plan, const MakeService& make);
    // Starts the threads, which wait for serve(), attaches the signals to the first loop, and
    // accepts.
    Result<> start();
    // On the first loop, before draining begins.
    void set_drain_timeout(Duration timeout) { options_.drain_timeout = timeout; }
    // Runs the loops until all connections are gone.
    ServingReport serve();
    // Forgets plan and services, whose connections end. Before the loops do.
    void end();

  private:
    class Notice;

    Result<> start_all(const MakeService& make, std::unique_ptr<LoopGroup>& loops,
                       Listening& listening);
    std::vector<Listening::Targets> make_servers(const std::vector<TcpServerOptions>& of_place);
    TcpServerOptions usual_limits(std::size_t loops) const;
    void say_where(const std::vector<core::Address>& addresses) const;
    void on_ready(core::Watch& watch, core::Interest ready) override;
    void take(int signal);
    void drain_or_end();
    void give_notice();
    void drain();
    void drain_loop(std::size_t index, Instant deadline);
    void are_done(std::size_t count);
    ServingReport report() const;

    ServingOptions options_;
    std::optional<core::Signals> signals_;
    std::optional<Error> fault_;  // why there are no signals
    LoopGroup* loops_ = nullptr;
    Listening* listening_ = nullptr;
    std::vector<std::unique_ptr<LoopService>> services_;            // by loop
    std::vector<std::vector<std::unique_ptr<TcpServer>>> servers_;  // by loop
    std::unique_ptr<core::Timer> notice_;                           // on the first loop
    std::optional<core::Watch> watch_;  // of the signals, while there are loops
    SystemdNotifier systemd_;
    std::optional<Heartbeat> heartbeat_;
    // Servers with connections, and services, while draining.
    std::atomic<std::size_t> left_ = 0;
    bool draining_ = false;
};

// Blocks the signals of a server: one that comes before its Serving is made waits instead of ending
// the process. The first statement of main.
void hold_server_signals();
// For a program that turns out not to be a server.
void release_server_signals();

}  // namespace tiderace::net
