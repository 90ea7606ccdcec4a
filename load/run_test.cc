#include "load/run.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "load/server_watch.h"
#include "load/team.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/listener.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::load {
namespace {

// Answers each end of a head with the same five bytes.
class HelloServer final : public net::SessionFactory, private net::Session {
  public:
    HelloServer() {
        loop_ = std::move(*core::EventLoop::create({}));
        server_ = std::make_unique<net::TcpServer>(*loop_, *this, net::TcpServerOptions{});
        auto listener = net::open_listener(loop_->kernel(), core::Address::loopback(0), {});
        url_ = "http://" + net::local_address(loop_->kernel(), *listener).to_string() + "/";
        server_->listen(std::move(*listener));
        thread_ = std::thread([this] { loop_->run(); });
    }
    ~HelloServer() {
        loop_->request_stop();
        thread_.join();
        server_.reset();
    }
    const std::string& url() const { return url_; }

  private:
    net::Session& make_session(net::Connection&) override { return *this; }
    std::size_t on_data(net::Connection& connection, ByteView data) override {
        std::size_t used = 0;
        for (std::size_t end; (end = data.find("\r\n\r\n", used)) != data.npos; used = end + 4) {
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        }
        return used;
    }
    void on_close(net::Connection&, net::CloseReason) override {}

    std::unique_ptr<core::EventLoop> loop_;
    std::unique_ptr<net::TcpServer> server_;
    std::string url_;
    std::thread thread_;
};

std::vector<int> children() {
    std::vector<int> found;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "children");
        for (int pid = 0; file >> pid;) found.push_back(pid);
    }
    return found;
}

// Does something to the run once answers have come, or ends it.
class Watching final : public LoadAudience {
  public:
    explicit Watching(std::function<void()> act = {}, bool ends = false)
        : act_(std::move(act)), ends_(ends) {}
    void on_progress(const LoadProgress& progress, Duration) override {
        if (progress.answers > 0 && act_) std::exchange(act_, {})();
        answered_ = progress.answers > 0;
    }
    bool wants_end() override { return ends_ && answered_; }

  private:
    std::function<void()> act_;
    bool ends_;
    bool answered_ = false;
};

TEST(LoadRun, IsACall) {
    HelloServer server;
    Watching watching;  // a short run may end before the first report
    const LoadOutcome outcome =
        run_load({.url = server.url(), .connections = 3, .requests = 30}, &watching);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.complaint, "");
    EXPECT_EQ(outcome.report.tally.answers, 30U);
    EXPECT_EQ(outcome.report.tally.reference.length, 5U);
    EXPECT_FALSE(outcome.report.interrupted);
}

TEST(LoadRun, SaysWhatIsWrongWithoutRunning) {
    EXPECT_EQ(run_load({.url = "ftp://x"}).status, 2);
    EXPECT_EQ(run_load({.url = "http://192.0.2.1/"}).status, 2);
    const LoadOutcome outcome = run_load({.url = "https://127.0.0.1:1/", .ca = "/nowhere.pem"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_FALSE(outcome.complaint.empty());
    const LoadOutcome engine = run_load({.url = "http://127.0.0.1:1/", .engine = "steam"});
    EXPECT_EQ(engine.status, 1);
    EXPECT_NE(engine.complaint.find("steam"), std::string::npos);
}

// root has no such limit.
void forbid_threads() {
    rlimit none{};
    none.rlim_cur = none.rlim_max = 1;
    ::setrlimit(RLIMIT_NPROC, &none);
    if (::getuid() == 0 && ::setuid(54'321) != 0) std::_Exit(2);
}

// In a process of its own, for which the limit is for good.
TEST(LoadRun, AMachineWithoutThreadsIsAComplaint) {
    EXPECT_EXIT(
        {
            forbid_threads();
            const LoadOutcome outcome =
                run_load({.url = "http://127.0.0.1:1/", .connections = 4, .threads = 4});
            std::fputs(outcome.complaint.c_str(), stderr);
            std::_Exit(outcome.status);
        },
        ::testing::ExitedWithCode(1), "start loop 1 of 4: .*no further thread is allowed");
}

Duration own_cpu_time() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return Duration(1s) * used.tv_sec + Duration(used.tv_nsec);
}

// Uses the CPU while the connections are being opened, as a server does that has many to accept.
class Burning final : public LoadAudience {
  public:
    static constexpr Duration burned = 500ms;

    void on_progress(const LoadProgress& progress, Duration) override {
        looks_after_ += burned_ && progress.answers > 0;
        if (burned_ || progress.opened >= 300) return;
        for (const Duration before = own_cpu_time(); own_cpu_time() - before < burned;) {
        }
        burned_ = true;
    }
    bool wants_end() override { return looks_after_ >= 2; }
    bool has_burned() const { return burned_; }

  private:
    bool burned_ = false;
    int looks_after_ = 0;
};

// Neither the server's nor the load's: the time counts from the first request, and CPU time from
// before it would be charged to each answer.
TEST(LoadRun, CpuTimeOfTheOpeningIsInNoFigure) {
    HelloServer server;
    // Another try where all were open at the first look.
    for (bool burned = false; !burned;) {
        Burning burning;
        const LoadOutcome outcome = run_load({.url = server.url(),
                                              .connections = 300,
                                              .duration = 5s,
                                              .rate = 100,
                                              .threads = 1,
                                              .server_pid = static_cast<std::uint64_t>(::getpid())},
                                             &burning);
        burned = burning.has_burned();
        if (!burned) continue;
        const LoadReport& report = outcome.report;
        ASSERT_TRUE(report.server);
        EXPECT_LT(report.server->cpu, Burning::burned);
        EXPECT_LE(report.busiest_loop, 1);
    }
}

TEST(LoadRun, EndsWhenItsAudienceWantsIt) {
    HelloServer server;
    Watching watching({}, true);
    const LoadOutcome outcome =
        run_load({.url = server.url(), .connections = 2, .duration = 60s}, &watching);
    EXPECT_TRUE(outcome.report.interrupted);
    EXPECT_LT(outcome.report.elapsed, 60s);
    EXPECT_GT(outcome.report.tally.answers, 0U);
}

TEST(LoadRun, ProcessesShareTheLoad) {
    HelloServer server;
    const LoadOutcome outcome =
        run_load({.url = server.url(), .connections = 7, .requests = 100, .processes = 3});
    EXPECT_EQ(outcome.status, 0) << outcome.complaint;
    EXPECT_EQ(outcome.report.tally.answers, 100U);
    EXPECT_EQ(outcome.report.tally.connections, 7U);
    EXPECT_EQ(outcome.report.tally.open_max, 7U);
    EXPECT_EQ(outcome.report.processes, 3U);
    EXPECT_EQ(outcome.report.answers_before_server, 0U) << "no connections were gathered first";
    EXPECT_GT(outcome.report.own_cpu, Duration::zero());
    EXPECT_TRUE(children().empty());
}

TEST(LoadRun, ProcessesEndWhenTheAudienceWantsIt) {
    HelloServer server;
    Watching watching({}, true);
    const LoadOutcome outcome = run_load(
        {.url = server.url(), .connections = 4, .duration = 60s, .processes = 2}, &watching);
    EXPECT_TRUE(outcome.report.interrupted);
    EXPECT_EQ(outcome.report.lost, 0U);
    EXPECT_GT(outcome.report.tally.answers, 0U);
    EXPECT_TRUE(children().empty());
}

TEST(LoadRun, ADeadProcessIsReported) {
    HelloServer server;
    Watching watching([] { ::kill(children().front(), SIGKILL); });
    const LoadOutcome outcome = run_load(
        {.url = server.url(), .connections = 4, .duration = 600ms, .processes = 2}, &watching);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.report.lost, 1U);
    EXPECT_GT(outcome.report.tally.answers, 0U) << "the other one's";
    EXPECT_NE(load_table(outcome.report).find("1 of 2 processes of the load died"),
              std::string::npos);
}

// The parent dies without a word, as by SIGKILL: its processes end by themselves.
TEST(LoadRun, ProcessesDoNotOutliveTheirParent) {
    HelloServer server;
    std::array<int, 2> told{};
    ASSERT_EQ(::pipe(told.data()), 0);
    const pid_t parent = ::fork();
    if (parent == 0) {
        ::close(told[0]);  // the children keep the writing end: it ends with the last of them
        Watching watching([] { ::kill(::getpid(), SIGKILL); });
        run_load({.url = server.url(), .connections = 4, .duration = 60s, .processes = 2},
                 &watching);
        ::_exit(0);
    }
    ::close(told[1]);
    int status = 0;
    ASSERT_EQ(::waitpid(parent, &status, 0), parent);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    char nothing = 0;
    EXPECT_EQ(::read(told[0], &nothing, 1), 0) << "waits until they are gone";
    ::close(told[0]);
}

TEST(LoadRun, ALatencyWindowReachesProcesses) {
    HelloServer server;
    auto plan = plan_load({.url = server.url(), .connections = 2, .duration = 1h, .processes = 2});
    ASSERT_TRUE(plan);
    auto team = start_processes(*plan, whole_of(*plan), 1, 2);
    ASSERT_TRUE(team);
    const auto has_begun = [](const LoadProgress& now) { return now.answers > 0 || now.done; };
    while (!has_begun((*team)->progress())) std::this_thread::yield();
    (*team)->set_latency_window(LatencyWindow::closed);
    (*team)->stop();
    const auto sum = (*team)->finish();
    EXPECT_EQ(sum->lost, 0U);
    EXPECT_GT(sum->tally.answers, 0U);
    EXPECT_EQ(sum->tally.latency.count(), 0U);
}

}  // namespace
}  // namespace tiderace::load
