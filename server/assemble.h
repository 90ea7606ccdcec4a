// Assembly: the one place that knows every part of the server and puts them together. Its caller
// makes loops, and may make processes between the two steps:
//
//   open()   one thread, still root: root's helper, logs, sockets bound, not listening yet
//   serve()  loops and workers; then root is given up; threads; until the drain is over
//
// Owner    serve(), or the lab's program.
// Thread   The main one, before there is any other.
// Errors   What keeps it from serving. A start that failed, or threw, leaves no name of a socket.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/account.h"
#include "server/banner.h"
#include "server/descriptor_shares.h"
#include "server/live/admin_socket.h"
#include "server/live/generation.h"
#include "server/live/metrics_page.h"
#include "server/live/reloader.h"
#include "server/options.h"
#include "server/root_files.h"
#include "server/worker.h"
#include "tiderace/core/process_limits.h"
#include "tiderace/core/signals.h"
#include "tiderace/net/listening.h"
#include "tiderace/net/loop_group.h"
#include "tiderace/net/serving.h"
#include "tiderace/serve/log_files.h"
#include "tiderace/tls/self_signed.h"
#include "tiderace/tls/ticket_keys.h"

namespace tiderace::server {

// The loops that it serves on, and what differs from a loop for each CPU that accepts for itself.
struct Loops {
    std::size_t count = 1;
    // Called once it is known that the process may open enough descriptors.
    std::function<Result<std::unique_ptr<net::LoopGroup>>(core::LoopOptions)> make;
    // One accepts for all: the first, or one on a thread of its own, with this engine of core's.
    bool listens_apart = false;
    std::string listening_engine = {};  // "": the engine of the options
    // Many, with one connection each: each gets a small part of one loop's resources.
    bool small = false;
    std::function<void()> on_serving = {};
};

// Members are destroyed in reverse: workers before loops, loops before the log.
class Assembly {
  public:
    // `read` reads the configuration again, on another thread; none: it stays as it is.
    explicit Assembly(Wanted wanted, ReadAgain read = {})
        : options_(wanted.options), wanted_(std::move(wanted)), read_(std::move(read)) {}
    ~Assembly();

    Result<> open();
    Result<> serve(Loops loops);

    // For a process that watches over several of its kind, forked after open(): the signals that it
    // waits for, what it prints once they serve, the end of its listening.
    core::Signals& signals() { return **serving_->signals(); }
    void announce(std::size_t processes) const;
    void stop_listening() { listening_->end(); }
    // In each of these, before serve().
    Result<> become_one_of_many();

  private:
    Result<> find_account();
    Result<> find_certificates(TlsOptions& tls);
    Result<> keep_root_files();
    Result<> open_logs();
    Result<> give_up_root();
    Result<> check_descriptors(const Wanted& wanted) const;
    Result<> make_loops();
    Result<> make_parts();
    Result<> make_workers();
    static Result<std::shared_ptr<http::files::VariantFiles>> open_variant_files(
        const CompressOptions& compress);
    Result<> open_variants();
    GenerationParts generation_parts(const Wanted& wanted);
    std::expected<Reloader::Next, std::string> make_next(Wanted wanted, const Generation& before);
    struct Opened;
    Result<> settle_on(Opened& opened);
    void take_on(Opened& opened);
    void warn_of_fewer_connections(const Generation& generation);
    bool opens_as_root(const std::string& path, RootFiles::Use use) const;
    std::vector<net::Listening::Wanted> addresses_of(const ServeOptions& options) const;
    DescriptorNeeds descriptor_needs(const Wanted& wanted) const;
    net::Serving::Plan bound_connections();
    Result<> open_sockets();
    Result<> serve_operators();
    std::span<const core::Address> addresses() const;    // of --listen
    std::span<const core::Address> redirecting() const;  // of --https-redirect
    std::uint16_t encrypted_port(const ServeOptions& options) const;
    Result<> prepare();
    Result<> run();
    void look_at_files();
    void log_counters(const net::ServingReport& ended) const;
    BannerFacts facts(std::size_t loops) const;
    EncryptionFacts encryption_facts() const;
    std::string_view engine_name() const;

    // The sites of the first generation. Before the loops exist, the sites that are wanted.
    std::span<const ServedSite> sites() const {
        return parts_.generation != nullptr ? parts_.generation->sites : wanted_.sites;
    }

    ServeOptions options_;
    Wanted wanted_;
    ReadAgain read_;
    Loops plan_;  // until serve(): empty
    core::DescriptorLimit descriptors_{};
    std::optional<Account> account_;         // whom to become
    std::unique_ptr<RootFiles> root_files_;  // as whom we are no more
    std::atomic<log::Level> log_level_ = log::Level::info;
    std::optional<serve::LogFiles> logs_;
    std::unique_ptr<log::Logger> logger_;  // the main thread's
    SharedParts parts_;
    std::optional<tls::SelfSigned> self_signed_;
    // Two threads: a hash keeps a core for up to a second, and guesses must not take them all.
    std::optional<core::WorkerPool> pool_;
    // Apart from the passwords' pool: a flood of guesses must not hold up files. No thread is
    // started before the disk has to be waited for.
    core::WorkerPool disk_pool_{4, 256};
    // One thread, at a lower priority: compressing must not slow the answers.
    core::WorkerPool compress_pool_{1, 256};
    std::unique_ptr<http::files::VariantStore> variants_;
    std::vector<std::unique_ptr<log::Logger>> loop_loggers_;
    std::unique_ptr<net::LoopGroup> loops_;
    std::optional<net::Listening> listening_;
    std::shared_ptr<MetricsRoute> metrics_route_ = std::make_shared<MetricsRoute>();
    std::shared_ptr<AdminSocket::Bound> admin_bound_;  // until it serves
    // Where the configuration can be read again.
    std::optional<AdminSocket> admin_;
    std::optional<MetricsPage> metrics_;
    std::shared_ptr<net::ConnectionRoom> room_;  // nullptr: of small loops
    std::vector<Worker*> workers_;               // of serving_
    std::optional<net::Serving> serving_;        // ends before the loops and what it listens with
    std::optional<Reloader> reloader_;           // where the configuration can be read again
};

// Serves on a loop for each requested thread, or each CPU, until a signal ends it. Returns the exit
// status of the program.
int serve(Wanted wanted, ReadAgain read = {});
// The exit status of `assemble`, which may fail or throw std::bad_alloc: then it prints why, in the
// words of flags or, where that is `is_of_file`, of a file's keys.
int report(const std::function<Result<int>()>& assemble, bool is_of_file = false);

}  // namespace tiderace::server
