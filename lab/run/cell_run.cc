#include "lab/run/cell_run.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "load/figures.h"
#include "load/plan.h"
#include "load/server_watch.h"
#include "load/team.h"
#include "tiderace/core/clock.h"

namespace tiderace::lab::run {
namespace {

using report::Cell;
using report::CellState;

constexpr Duration look = 5ms;              // a short cell is 200 ms long
constexpr Duration load_time_most = 10min;  // the load is stopped long before
constexpr std::uint64_t few_of = 1'000;     // one error in so many fails no cell
constexpr std::uint64_t starved_part = 10;  // of a hundred: more, and the cell is not about all

constexpr std::array<double, 10> shares{0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.9990, 1};

// One load on threads of its own, watched while it runs. What `tiderace load` does, without its
// report.
//
//   start() -> progress() … -> stop() -> finish(): the tally
//
// start() fails when no loop can be made; what the server does is in the tally. The threads of the
// load inherit the CPUs of the one that starts it.
class LoadRun {
  public:
    // `options.url` names the server.
    static Result<std::unique_ptr<LoadRun>> start(load::LoadOptions options);

    load::LoadProgress progress() const { return team_->progress(); }
    void stop() { team_->stop(); }
    void set_latency_window(load::LatencyWindow to) { team_->set_latency_window(to); }
    // Waits for the end of the load, which stop() hastens.
    const load::LoadTally& finish();
    // CPU time of its busiest loop by the time that it ran; after finish().
    double busy() const { return sum_ != nullptr ? sum_->busiest_loop : 0; }
    std::uint64_t connections() const { return plan_.options.connections; }

  private:
    explicit LoadRun(load::LoadPlan plan) : plan_(std::move(plan)) {}

    load::LoadPlan plan_;
    std::unique_ptr<load::LoadTeam> team_;  // reads the plan
    std::unique_ptr<load::LoadSum> sum_;
};

Result<std::unique_ptr<LoadRun>> LoadRun::start(load::LoadOptions options) {
    const std::string url = options.url;
    auto plan = load::plan_load(std::move(options));
    if (!plan) return fail(Error(0, "load", url, plan.error()));
    std::unique_ptr<LoadRun> run(new LoadRun(std::move(*plan)));
    const load::LoadOptions& told = run->plan_.options;
    const std::uint64_t threads = std::clamp<std::uint64_t>(told.threads, 1, told.loops_max());
    auto team = load::start_threads(run->plan_, whole_of(run->plan_), threads);
    if (!team) return fail(team.error());
    run->team_ = std::move(*team);
    return run;
}

const load::LoadTally& LoadRun::finish() {
    // Once: the threads are joined by it. Later calls return the same sum.
    if (sum_ == nullptr) sum_ = team_->finish();
    return sum_->tally;
}

std::vector<report::LatencyPoint> curve_of(const load::LatencyHistogram& histogram) {
    std::vector<report::LatencyPoint> curve;
    if (histogram.count() == 0) return curve;
    for (const double share : shares) {
        const auto took = static_cast<double>(histogram.quantile(share).count());
        curve.push_back({share, took / 1e3});
    }
    return curve;
}

Cell empty_cell(const CellPlan& plan) {
    return {.subject = plan.subject->facts.name,
            .workload = std::string(plan.workload->name),
            .connections = plan.connections,
            .round = plan.round};
}

// One answer, and every byte of it.
Verdict probe(const CellPlan& plan, RunningServer& server, const LoadPart& part, const Wait& wait) {
    load::LoadOptions options;
    options.url = url_of(part, server.address().to_string());
    options.connections = options.requests = 1;
    options.threads = 1;
    options.timeout = options.duration = plan.patience.answer;
    options.expect_length = facts_of(part.file).bytes;
    if (part.echoes) {  // each byte is compared with what was sent
        options.body_bytes = *options.expect_length;
    } else {
        // Every byte once, here: in the measured time only the length is checked, because hashing
        // would cost the load its CPUs.
        options.check_hash = true;
        options.expect_hash = plan.site->hash(part.file);
    }
    auto load = LoadRun::start(std::move(options));
    if (!load) return {CellState::failed, load.error().message()};
    while (!(*load)->progress().done && !wait(look)) {
    }
    (*load)->stop();
    const load::LoadTally& tally = (*load)->finish();
    return judge({.tally = tally, .asked = 1, .answers = tally.answers, .ended = server.ended()});
}

// All loads of a cell as one.
class Loads {
  public:
    Result<> start(const CellPlan& plan, const RunningServer& server) {
        // All parts at the same time, each a load of its own: in a mixed workload small answers
        // stand behind large ones.
        for (const LoadPart& part : plan.workload->parts) {
            load::LoadOptions options = load_of(*plan.workload, part, plan.connections);
            options.url = url_of(part, server.address().to_string());
            options.duration = load_time_most;
            options.threads = plan.load_threads;
            asked_ += options.connections;
            closes_ |= part.close;
            only_once_ |= part.only_once;
            auto load = LoadRun::start(std::move(options));
            if (!load) return fail(load.error());
            loads_.push_back(std::move(*load));
        }
        return {};
    }

    load::LoadProgress progress() const {
        load::LoadProgress sum;
        for (const auto& load : loads_) sum.add(load->progress());
        return sum;
    }
    // How many have come: are open, or where connections close, were; or have been answered.
    std::uint64_t reached() const {
        const load::LoadProgress now = progress();
        if (only_once_) return now.answers;
        return closes_ ? now.opened
                       : static_cast<std::uint64_t>(std::max<std::int64_t>(now.open, 0));
    }
    bool all_there() const { return reached() >= asked_; }
    // Clients that ask once are answered before the measured time, and it is those answers that
    // their latency is about.
    void set_latency_window(load::LatencyWindow to) {
        if (only_once_) return;
        for (auto& load : loads_) load->set_latency_window(to);
    }
    // After one wrong answer the verdict is certain, and nothing more is worth a wait.
    bool answered_wrongly() const { return progress().wrong_answers > 0; }
    void finish() {
        for (auto& load : loads_) load->stop();
        for (auto& load : loads_) {
            tally_.merge(load->finish());
            busy_ = std::max(busy_, load->busy());
        }
    }

    const load::LoadTally& tally() const { return tally_; }
    double busy() const { return busy_; }
    std::uint64_t asked() const { return asked_; }
    bool only_once() const { return only_once_; }
    bool closes() const { return closes_; }

  private:
    std::vector<std::unique_ptr<LoadRun>> loads_;
    load::LoadTally tally_;
    double busy_ = 0;
    std::uint64_t asked_ = 0;
    bool closes_ = false;
    bool only_once_ = false;
};

// Waits until all clients are connected, or no more arrive. False: interrupted.
bool wait_for_all(const CellPlan& plan, const Loads& loads, RunningServer& server,
                  const Wait& wait) {
    const core::SystemClock clock;
    const Instant start = clock.now();
    Instant moved = start;
    // A refused client comes again, so only a new maximum counts as progress.
    std::uint64_t furthest = 0;
    while (!loads.all_there() && !server.ended()) {
        if (wait(look)) return false;
        const Instant now = clock.now();
        const std::uint64_t reached = loads.reached();
        if (reached > furthest) moved = now;
        furthest = std::max(furthest, reached);
        if (now - moved > plan.patience.stall || now - start > plan.patience.open) break;
    }
    // Lets the storm of connecting settle before the measured time begins.
    return !wait(std::min<Duration>(plan.time / 10, 100ms));
}

// The measured time: as planned, or longer for a server so slow that no client, or not
// every client, has had an answer. False: interrupted.
bool wait_for_time(const CellPlan& plan, const Loads& loads, std::uint64_t answers_before,
                   RunningServer& server, const Wait& wait) {
    if (wait(plan.time)) return false;
    if (loads.only_once()) return true;
    const core::SystemClock clock;
    const Instant end = clock.now();
    const Duration longer = std::max<Duration>(plan.time, plan.patience.others);
    while (!server.ended() && !loads.answered_wrongly()) {
        const std::uint64_t answers = loads.progress().answers - answers_before;
        const Duration over = clock.now() - end;
        // An answer for each client on average shows that it serves. Without any it may be hung,
        // and is given the time that one answer may take.
        if (answers >= loads.asked() || over > (answers > 0 ? longer : plan.patience.answer)) break;
        if (wait(look)) return false;
    }
    return true;
}

// Whether one more answer comes, once all has been read: a server that stopped in the middle has
// had answers, and is hung all the same. Nothing: interrupted.
std::optional<bool> still_answers(const CellPlan& plan, const Loads& loads, RunningServer& server,
                                  const Wait& wait) {
    const core::SystemClock clock;
    const Instant end = clock.now() + plan.patience.answer;
    const std::uint64_t answers = loads.progress().answers;
    while (!loads.only_once() && !server.ended() && !loads.answered_wrongly() &&
           loads.progress().answers == answers) {
        if (clock.now() > end) return false;
        if (wait(look)) return std::nullopt;
    }
    return true;
}

struct Reading {
    Instant at;
    Duration cpu;
    std::uint64_t answers;
    std::uint64_t opened;
};

// Both figures of one moment: CPU for each answer is a quotient of two differences.
Reading read(const Loads& loads, const std::vector<int>& pids) {
    const core::SystemClock clock;
    const load::LoadProgress progress = loads.progress();
    return {clock.now(), load::read_cpu(pids), progress.answers, progress.opened};
}

void fill_figures(Cell& cell, const Reading& before, const Reading& after) {
    const double seconds = std::chrono::duration<double>(after.at - before.at).count();
    const double cpu_us = std::chrono::duration<double, std::micro>(after.cpu - before.cpu).count();
    cell.seconds = seconds;
    cell.answers = after.answers - before.answers;
    if (seconds > 0) {
        cell.per_second = static_cast<double>(cell.answers) / seconds;
        cell.opened_per_second = static_cast<double>(after.opened - before.opened) / seconds;
        cell.cpu_share = cpu_us / 1e6 / seconds;
    }
    if (cell.answers > 0) cell.cpu_us = cpu_us / static_cast<double>(cell.answers);
}

void fill_tally(Cell& cell, const load::LoadTally& tally) {
    cell.opened = tally.opened;
    cell.open_max = tally.open_max;
    cell.starved = tally.starved;
    cell.latency_us = curve_of(tally.latency);
    cell.slow_latency_us = curve_of(tally.slow_latency);
    const auto add = [&cell](std::string_view name, std::uint64_t count) {
        if (count > 0) cell.errors.emplace(name, count);
    };
    for (std::size_t i = 0; i < tally.errors.size(); ++i) {
        add(to_string(static_cast<load::LoadError>(i)), tally.errors[i]);
    }
    for (std::size_t i = 0; i < tally.connect_errors.size(); ++i) {
        add(std::string("connect: ").append(to_string(static_cast<load::ConnectError>(i))),
            tally.connect_errors[i]);
    }
    if (tally.never_sent > 0) {
        cell.notes.push_back(load::with_commas(tally.never_sent) +
                             " requests were due and not sent: no connection was free");
    }
}

// With the server running and right. False: interrupted.
bool load_and_measure(const CellPlan& plan, RunningServer& server, const Wait& wait, Cell& cell) {
    Loads loads;
    if (auto started = loads.start(plan, server); !started) {
        cell.state = CellState::failed;
        cell.reason = started.error().message();
        return true;
    }
    if (!wait_for_all(plan, loads, server, wait)) return false;
    // Once: both readings are of the same processes.
    const std::vector<int> pids = server.pids();
    loads.set_latency_window(load::LatencyWindow::open);
    const Reading before = read(loads, pids);
    if (!wait_for_time(plan, loads, before.answers, server, wait)) return false;
    // Before anything ends: a stopping load closes its connections, and the CPU time of those ends
    // would be counted for answers.
    const Reading after = read(loads, pids);
    loads.set_latency_window(load::LatencyWindow::closed);
    cell.memory_bytes = load::read_use(pids).memory_bytes;
    const auto answers_on = still_answers(plan, loads, server, wait);
    if (!answers_on) return false;
    // Also before the load is stopped: a server that ends because its clients leave has not died.
    const auto ended = server.ended();
    loads.finish();
    fill_figures(cell, before, after);
    fill_tally(cell, loads.tally());
    cell.load_share = loads.busy();
    // Clients that ask once were answered before the measured time.
    const std::uint64_t answers = loads.only_once() ? loads.tally().answers : cell.answers;
    const Verdict verdict = judge({.tally = loads.tally(),
                                   .asked = loads.asked(),
                                   .answers = answers,
                                   .closes = loads.closes(),
                                   .stopped = !*answers_on,
                                   .ended = ended});
    cell.state = verdict.state;
    cell.reason = verdict.reason;
    return true;
}

std::string counted(std::uint64_t count, std::string_view what) {
    return load::with_commas(count) + " " + std::string(what);
}

// A refusal for lack of room is neither a wrong answer nor a missing one, even unrequested.
bool is_no_room(load::LoadError kind, const load::LoadTally& tally) {
    return kind == load::LoadError::turned_away ||
           (kind == load::LoadError::wrong_status && tally.wrong_status == 503);
}

enum class Fault : std::uint8_t { wrong_answer, no_room, no_answer };

Fault fault_of(load::LoadError kind, const load::LoadTally& tally) {
    if (is_no_room(kind, tally)) return Fault::no_room;
    return tally.is_wrong_answer(kind) ? Fault::wrong_answer : Fault::no_answer;
}

std::uint64_t counted(const load::LoadTally& tally, Fault fault) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < tally.errors.size(); ++i) {
        if (fault_of(static_cast<load::LoadError>(i), tally) == fault) sum += tally.errors[i];
    }
    return sum;
}

// "3 reset, 1 timed out".
std::string listed(const load::LoadTally& tally, Fault fault) {
    std::string text;
    for (std::size_t i = 0; i < tally.errors.size(); ++i) {
        const auto kind = static_cast<load::LoadError>(i);
        if (tally.errors[i] == 0 || fault_of(kind, tally) != fault) continue;
        text += (text.empty() ? "" : ", ") + counted(tally.errors[i], to_string(kind));
        if (kind == load::LoadError::wrong_status)
            text += " (" + std::to_string(tally.wrong_status) + ")";
    }
    return text;
}

}  // namespace

// The first that applies, worst first, because one fault causes others: a server that died also
// leaves clients unanswered, and figures of wrong answers mean nothing.
Verdict judge(const Observed& observed) {
    const load::LoadTally& tally = observed.tally;
    if (observed.ended) return {CellState::died, *observed.ended};
    if (const std::string wrong = listed(tally, Fault::wrong_answer); !wrong.empty()) {
        return {CellState::wrong, "answers: " + wrong};
    }
    if (observed.answers == 0 && tally.errors_total() == 0 && tally.connect_errors_total() == 0) {
        return {CellState::hung, "no answer came in the time"};
    }
    if (observed.answers > 0 && observed.stopped) {
        return {CellState::hung, "after " + counted(observed.answers, "answers no other one came")};
    }
    // From here on the server is alive and right, and the question is for how many.
    const std::uint64_t asked = observed.asked;
    const std::uint64_t served = asked - std::min(asked, tally.starved);
    const std::uint64_t busy = counted(tally, Fault::no_room);
    std::string none = listed(tally, Fault::no_answer);
    if (busy > 0) none = counted(busy, "answers of 503") + (none.empty() ? "" : ", ") + none;
    if (observed.answers > 0 && !observed.closes &&
        (tally.open_max < asked || (!none.empty() && tally.starved * 100 > asked))) {
        return {CellState::refused, "it served " +
                                        load::with_commas(std::min(tally.open_max, served)) +
                                        " of " + load::with_commas(asked) + " connections" +
                                        (none.empty() ? "" : ", the others: " + none)};
    }
    if (observed.answers == 0) {
        return {CellState::failed, none.empty() ? "no connection could be opened"
                                                : "requests without an answer: " + none};
    }
    if (tally.errors_total() * few_of > tally.answers) {
        return {busy > 0 ? CellState::refused : CellState::failed,
                "requests without an answer: " + none};
    }
    if (tally.starved * 100 > asked * starved_part) {
        return {CellState::starved, load::with_commas(tally.starved) + " of " +
                                        load::with_commas(asked) + " connections got no answer"};
    }
    return {};
}

// A server for each cell, started anew: caches and memory that an earlier load left behind would be
// measured with the next.
std::optional<Cell> run_cell(const CellPlan& plan, const Wait& wait) {
    Cell cell = empty_cell(plan);
    const auto& parts = plan.workload->parts;
    const bool closes = std::ranges::any_of(parts, &LoadPart::close);
    auto server = plan.subject->start({.folder = plan.site->path(),
                                       .path = std::string(facts_of(parts[0].file).path),
                                       .cpus = plan.server_cpus,
                                       .connections = plan.connections,
                                       .closes = closes,
                                       .echoes = parts[0].echoes,
                                       .wait = wait});
    // First: an interrupted start also fails, and is no finding about the server.
    if (wait(Duration::zero())) return std::nullopt;
    if (!server) {
        cell.state = CellState::failed;
        cell.reason = "it did not start: " + server.error().message();
        return cell;
    }
    // For each part, because each has a file of its own: a wrong one would be a fast answer.
    for (const LoadPart& part : parts) {
        const Verdict verdict = probe(plan, **server, part, wait);
        if (wait(Duration::zero())) return std::nullopt;
        if (verdict.state == CellState::ok) continue;
        cell.state = verdict.state;
        cell.reason = "the first answer: " + verdict.reason;
        return cell;
    }
    // After the probe: what a server allocates at its first request is not the connections' share.
    cell.memory_before_bytes = load::read_use((*server)->pids()).memory_bytes;
    if (!load_and_measure(plan, **server, wait, cell)) return std::nullopt;
    return cell;
}

}  // namespace tiderace::lab::run
