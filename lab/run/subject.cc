#include "lab/run/subject.h"

#include <algorithm>
#include <utility>

#include "lab/engine/engine.h"
#include "lab/opponent/opponent.h"
#include "lab/server_process.h"

namespace tiderace::lab::run {
namespace {

constexpr Duration start_patience = 5s;
constexpr Duration end_patience = 1s;  // then KILL: how long a server drains is not measured
constexpr std::string_view floor_name = "floor";  // what the others are compared with
constexpr std::string_view own_program = "tiderace-lab";

class ServerChild final : public RunningServer {
  public:
    explicit ServerChild(ServerProcess process) : process_(std::move(process)) {}
    ~ServerChild() override { process_.end(end_patience); }

    core::Address address() const override { return process_.address(); }
    std::vector<int> pids() const override { return process_.pids(); }
    std::optional<std::string> ended() override {
        const auto exit = process_.exit();
        if (!exit) return std::nullopt;
        const std::string words = process_.last_words();
        return "it " + exit->text() + (words.empty() ? "" : "; it said: " + words);
    }

  private:
    ServerProcess process_;
};

Result<std::unique_ptr<RunningServer>> wrap(Result<ServerProcess> process) {
    if (!process) return fail(process.error());
    return std::make_unique<ServerChild>(std::move(*process));
}

// The lab's own program as a server, in a process of its own as every other: a thread of this one
// would share its allocator, its descriptors and its CPU time with the load.
std::vector<std::string> engine_words(const std::string& program, std::string_view engine,
                                      const std::string& folder, const std::string& address) {
    // Without a log, as every other server of the run.
    return {program,    "serve", folder,    "--engine",     std::string(engine),
            "--listen", address, "--quiet", "--access-log", "off"};
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

RunSubject engine_subject(const engine::Engine& engine, const std::string& version) {
    RunSubject subject;
    subject.echoes = true;
    subject.facts = {
        .name = std::string(engine.name),
        .kind = report::SubjectKind::engine,
        .what = std::string(engine.what),
        .version = version,
        .command = joined(engine_words("tiderace lab", engine.name, "SITE", "ADDRESS")),
        .absent = std::string(engine.why_absent())};
    subject.start =
        [name = engine.name](const ServerPlan& plan) -> Result<std::unique_ptr<RunningServer>> {
        const auto program = find_own_program(own_program);
        if (!program) return fail(Error(0, "start", own_program, "it is not beside this program"));
        auto address = choose_address();
        if (!address) return fail(address.error());
        ServerLaunch launch{.address = *address, .path = plan.path};
        launch.start_patience = start_patience;
        launch.wait = plan.wait;
        launch.child.arguments = engine_words(*program, name, plan.folder, address->to_string());
        if (plan.echoes) {
            launch.child.arguments.emplace_back("--echo");
            // It speaks no HTTP: ask_once() then sends a line that reads as an answer when it comes
            // back.
            launch.path.clear();
        }
        launch.child.cpus = plan.cpus;
        return wrap(ServerProcess::start(std::move(launch)));
    };
    return subject;
}

OpponentPlan opponent_plan(const ServerPlan& plan) {
    return {.folder = plan.folder,
            .path = plan.path,
            .workers = plan.cpus.empty() ? 1 : static_cast<unsigned>(plan.cpus.size()),
            .cpus = plan.cpus,
            // Twice as many: in a load that closes, old connections end while new ones come.
            .connections_max = std::max<std::size_t>(20'000, plan.connections * 2),
            .connections = static_cast<std::size_t>(plan.connections),
            .closes = plan.closes,
            .wait = plan.wait};
}

RunSubject opponent_subject(const Opponent& opponent, const std::vector<unsigned>& cpus) {
    RunSubject subject;
    const bool is_floor = opponent.name.starts_with("floor");
    subject.facts = {.name = std::string(opponent.name),
                     .kind = is_floor ? report::SubjectKind::floor : report::SubjectKind::opponent,
                     .what = std::string(opponent.what)};
    subject.serves_files = opponent.serves_files;
    // The floor sends one answer for each read, however many requests it brought.
    subject.pipelines = !is_floor;
    subject.answer_bytes_max = opponent.answer_bytes_max;
    if (const auto absent = why_absent(opponent)) {
        subject.facts.absent = *absent;
        return subject;
    }
    subject.facts.version = opponent_version(opponent);
    subject.facts.command = describe_launch(
        opponent, opponent_plan({.folder = "SITE", .path = "/tiny.txt", .cpus = cpus}));
    subject.start = [&opponent](const ServerPlan& plan) {
        return wrap(start_opponent(opponent, opponent_plan(plan)));
    };
    return subject;
}

}  // namespace

std::vector<RunSubject> find_subjects(const std::vector<std::string>& names,
                                      const std::string& own_version,
                                      const std::vector<unsigned>& cpus) {
    const auto is_wanted = [&names](std::string_view name) {
        // The floor runs always, because without it no figure could be given as a multiple.
        return names.empty() || name == floor_name || std::ranges::find(names, name) != names.end();
    };
    std::vector<RunSubject> found;
    for (const auto& engine : engine::engines()) {
        if (is_wanted(engine.name)) found.push_back(engine_subject(engine, own_version));
    }
    for (const Opponent& opponent : opponents()) {
        if (is_wanted(opponent.name)) found.push_back(opponent_subject(opponent, cpus));
    }
    return found;
}

std::vector<std::string_view> subject_names() {
    std::vector<std::string_view> names;
    for (const auto& engine : engine::engines()) names.push_back(engine.name);
    for (const Opponent& opponent : opponents()) names.push_back(opponent.name);
    return names;
}

}  // namespace tiderace::lab::run
