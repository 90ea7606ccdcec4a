#include "load/run.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "load/none_opened.h"
#include "load/server_watch.h"
#include "load/speaks_tls.h"
#include "load/team.h"
#include "tiderace/core/cpu_count.h"
#include "tiderace/core/process_limits.h"
#include "tiderace/core/signals.h"
#include "tiderace/core/whole_file.h"

namespace tiderace::load {
namespace {

constexpr std::uint64_t spare_descriptors = 64;  // of each process
constexpr int look_interval_ms = 250;            // a look costs a reading of /proc
constexpr int first_look_interval_ms = 20;
// While connections are gathered: how late their end is seen is a part of the run that no figure of
// the server is about.
constexpr int gather_interval_ms = 5;
constexpr std::uint64_t body_file_bytes_max = 256_MiB;
// Longer than a second, after which TCP sends its first SYN again: a lost one must not end the
// run.
constexpr Duration hopeless_after = 3s;
// As long as none was opened, so many failed attempts end the run. As long as no request was
// answered rightly, so many wrong answers are reason to look for their cause.
constexpr std::uint64_t first_failures_max = 10;
constexpr Duration stop_patience = 5s;

// The loops of each process. Every loop has a connection, and a request if those are counted.
std::size_t threads_for(const LoadOptions& options) {
    // The other half is the server's.
    const std::uint64_t half = std::max<std::uint64_t>(1, core::count_cpus().usable / 2);
    const std::uint64_t asked = options.threads > 0
                                    ? options.threads
                                    : std::max<std::uint64_t>(1, half / options.processes);
    const std::uint64_t most = std::max<std::uint64_t>(1, options.loops_max() / options.processes);
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(asked, 1, most));
}

// The workload within what this machine's limits allow, each change with a note.
void fit_to_limits(LoadOptions& options, std::vector<std::string>& notes) {
    options.processes = std::clamp<std::uint64_t>(options.processes, 1, options.loops_max());
    const auto limit = core::raise_descriptor_limit();
    if (!limit) return;  // the report shows connections without a descriptor
    const std::uint64_t each = limit->after;
    const std::uint64_t room = each > spare_descriptors ? each - spare_descriptors : 1;
    const std::uint64_t fits = std::min(room, options.connections) * options.processes;
    if (options.connections <= fits) return;
    notes.push_back("the limit on open files is " + std::to_string(each) +
                    (options.processes > 1 ? " for a process: " : ": ") + std::to_string(fits) +
                    " connections instead of " + std::to_string(options.connections) +
                    "; more --processes open more");
    options.connections = fits;
}

// One run: the team, and its observer.
//
//   gathering --all ask--> running --its time, its requests--> done
//       |                    |
//       '--none opens, nothing answers rightly, the audience--> stopping --the loops' turns--> done
class Run {
  public:
    Run(const LoadPlan& plan, LoadReport report, LoadAudience* audience)
        : plan_(plan),
          report_(std::move(report)),
          audience_(audience),
          watch_(plan.target.address, watched_pid(plan)) {}

    Result<LoadReport> run() {
        const LoadWorker::Share whole = whole_of(plan_);
        const std::size_t processes = report_.processes;
        const std::size_t threads = report_.threads / processes;
        auto team = processes > 1 ? start_processes(plan_, whole, threads, processes)
                                  : start_threads(plan_, whole, threads);
        if (!team) return fail(team.error());
        look_on(**team);
        const std::unique_ptr<LoadSum> sum = (*team)->finish();
        add_up(*sum);
        return std::move(report_);
    }

  private:
    // -1 finds nothing: another machine's.
    static int watched_pid(const LoadPlan& plan) {
        if (plan.options.server_pid > 0) return static_cast<int>(plan.options.server_pid);
        return plan.target.address.is_loopback() ? 0 : -1;
    }

    void look_on(LoadTeam& team) {
        const Instant start = clock_.now();
        Instant last_answer = start;
        std::uint64_t last_seen = 0;
        std::uint64_t refused_before = 0;
        Instant stopped = Instant::max();
        bool gathered = false;
        for (int looks = 0;; ++looks) {
            const LoadProgress now = team.progress();
            const Instant moment = clock_.now();
            if (now.asking && std::exchange(gathered, false)) begin_watching(team);
            // Only where it was seen: a run that gathers nothing has begun with its first look.
            if (!now.asking) gathered = true;
            // finish() kills a process of the load that does not stop. For a thread, which nothing
            // can kill, it waits: every loop that is stopped ends with its turn.
            if (now.done || moment - stop_patience > stopped) break;
            const std::uint64_t seen = now.answers + now.errors;
            // An open connection is reason to wait: the server may be slow, and --timeout judges
            // that.
            if (seen > last_seen || now.open > 0) {
                last_answer = moment;
                refused_before = now.connect_errors;
            }
            last_seen = seen;
            if (audience_ != nullptr) audience_->on_progress(now, moment - start);
            const bool none_opens =
                now.opened == 0 &&
                now.connect_errors >= std::min(first_failures_max, plan_.options.connections);
            // Clients that think between their connections have none open, and nothing is wrong.
            const bool all_think =
                plan_.options.think > Duration::zero() && now.connect_errors == refused_before;
            const bool hopeless = moment - last_answer > hopeless_after && !all_think;
            const bool none_right =
                now.answers == 0 &&
                now.errors >= std::min(first_failures_max, plan_.options.connections);
            if (stopped == Instant::max() &&
                // expects_tls() last: it opens a connection, and blocks for as long as the server
                // takes.
                (none_opens || hopeless || wants_end() || (none_right && expects_tls()))) {
                stopped = moment;
                if (hopeless && !none_opens) {
                    report_.notes.push_back("given up: for 3 s no connection could be opened");
                }
                team.stop();
            }
            // Short runs end soon: the first looks come sooner.
            const bool is_new = looks < 10 || (looks < 20 && now.answers == 0);
            wait(!now.asking ? gather_interval_ms
                 : is_new    ? first_look_interval_ms
                             : look_interval_ms,
                 stopped != Instant::max());
            // Reading /proc costs processor time, which a short run would feel.
            if (!is_new || looks == 0) watch_.look();
        }
    }

    // All connections are open. Until now the server has accepted them and made its handshakes,
    // which is in no other figure.
    void begin_watching(LoadTeam& team) {
        watch_.begin();
        // Behind it: the answers that came before this look are seen by both.
        report_.answers_before_server = team.progress().answers;
        watched_from_ = clock_.now();
    }

    // Whether its requests in clear text go to a port of TLS, which servers answer in many ways.
    // Found out once.
    bool expects_tls() {
        if (plan_.target.tls || plan_.options.echoes()) return false;
        if (!expects_tls_) expects_tls_ = speaks_tls(plan_.target.address, plan_.options.engine);
        return *expects_tls_;
    }

    // Also where a short run ended before the first look.
    std::string cause_of(const LoadSum& sum) {
        if (std::string why = why_none_opened(sum, plan_.target); !why.empty()) return why;
        const LoadTally& tally = sum.tally;
        const auto failed = [&](LoadError kind) {
            return tally.errors[static_cast<std::size_t>(kind)] > 0;
        };
        const bool refused = tally.wrong_status == 400 || failed(LoadError::not_http) ||
                             failed(LoadError::closed_early) || failed(LoadError::reset);
        if (tally.answers > 0 || !refused || !expects_tls()) return "";
        return plan_.target.host + " speaks TLS: use https:// in the URL";
    }

    bool wants_end() {
        if (audience_ == nullptr || !audience_->wants_end()) return false;
        return report_.interrupted = true;
    }

    // While it stops, the audience's descriptor is not read any more: a second Ctrl-C would make
    // this spin.
    void wait(int milliseconds, bool stopping) {
        pollfd ready{audience_ != nullptr && !stopping ? audience_->descriptor() : -1, POLLIN, 0};
        ::poll(&ready, 1, stopping ? first_look_interval_ms : milliseconds);
    }

    void add_up(const LoadSum& sum) {
        report_.tally = sum.tally;
        report_.elapsed = sum.elapsed;
        report_.own_cpu = sum.cpu;
        report_.busiest_loop = sum.busiest_loop;
        report_.engine = sum.engine.data();
        report_.resumed = sum.handshakes_resumed;
        report_.lost = sum.lost;
        // By this clock, which begins a look later than the loops' own at most.
        if (watched_from_) {
            const Duration watched = clock_.now() - *watched_from_;
            report_.elapsed_before_server = std::max(Duration::zero(), sum.elapsed - watched);
        }
        report_.server = watch_.finish();
        // Without a word the report would lack the figures that the flag is for.
        if (!report_.server && plan_.options.server_pid > 0) {
            report_.notes.push_back("--server-pid " + std::to_string(plan_.options.server_pid) +
                                    ": no such process, or none of yours; its figures are missing");
        }
        report_.cause = cause_of(sum);
        if (!report_.cause.empty()) report_.notes.push_back(report_.cause);
        // Its figures end in the middle: a CPU time of half a run for each answer would be too
        // good.
        if (watch_.ended()) {
            report_.server.reset();
            report_.notes.push_back("the server ended during the run");
        }
        for (std::size_t i = 0; i < sum.handshakes_failed.size(); ++i) {
            if (sum.handshakes_failed[i] == 0) continue;
            const auto why = to_string(static_cast<tls::HandshakeFailure>(i));
            report_.notes.push_back("TLS: " + std::to_string(sum.handshakes_failed[i]) +
                                    " handshakes failed (" + std::string(why) + ")");
        }
    }

    const LoadPlan& plan_;
    LoadReport report_;
    LoadAudience* audience_;
    ServerWatch watch_;
    core::SystemClock clock_;
    std::optional<Instant> watched_from_;  // where connections were opened first
    std::optional<bool> expects_tls_;
};

// The file becomes the body of every request.
Result<> read_body_file(LoadOptions& options) {
    const std::string& path = options.body_file;
    if (path.empty()) return {};
    auto body = core::read_file(path, body_file_bytes_max, "read --body");
    if (!body) return fail(body.error());
    if (body->empty()) return fail(Error(ENODATA, "read --body", path, "the file is empty"));
    options.body = std::move(*body);
    options.body_bytes = options.body.size();
    return {};
}

LoadOutcome refuse(int status, std::string complaint) {
    return {.status = status, .complaint = std::move(complaint), .report = {}};
}

}  // namespace

LoadOutcome run_load(const LoadOptions& given, LoadAudience* audience, const Lookup& look_up) {
    LoadReport report;
    LoadOptions options = given;
    if (auto read = read_body_file(options); !read) return refuse(1, read.error().message());
    fit_to_limits(options, report.notes);
    bool ended = false;
    auto plan = plan_load(std::move(options), [&](const std::string& host) {
        auto found = look_up_for(audience, host, look_up);
        ended = !found && found.error().code() == ECANCELED;
        return found;
    });
    if (!plan) return refuse(ended ? 1 : 2, plan.error());
    report.options = plan->options;
    report.processes = static_cast<std::size_t>(plan->options.processes);
    report.threads = threads_for(plan->options) * report.processes;
    report.source_addresses = plan->sources.size();
    // A server that closes while we send must not end the run.
    core::ignore_sigpipe();
    // Faults that would stop every worker are reported before any process is started.
    if (auto trial = LoadWorker::create(*plan, {}); !trial) {
        return refuse(1, trial.error().message());
    }
    auto ran = Run(*plan, std::move(report), audience).run();
    if (!ran) return refuse(1, ran.error().message());
    const int status = all_right(*ran) ? 0 : 1;
    return {.status = status, .complaint = {}, .report = std::move(*ran)};
}

}  // namespace tiderace::load
