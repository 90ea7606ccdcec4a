// Several processes: descriptors are limited for each. They are forked before any loop or thread of
// the load is there, begin together, and hold the reading end of one pipe: when it ends (the parent
// says stop, or is gone, however it went) they stop in order.
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <new>
#include <utility>

#include "load/team.h"
#include "tiderace/core/child_process.h"

namespace tiderace::load {
namespace {

constexpr int poll_interval_ms = 20;
constexpr Duration patience = 5s;  // with a child after its stop was requested

//   parent                                       each child
//   fork, fork, …  ----------------------------> ready = true, then reads its byte
//   all are ready: a byte for each into the pipe  -> threads; shows its progress, again and again
//   progress(): the sum of what they show
//   stop(): closes the pipe  ------------------->  its end: the threads stop
//   finish(): waits, SIGKILL after `patience`  <-  sum, then the mark that it is final; exits
//
// A child's report to its parent, in shared memory.
struct Place {
    // Until it shows that it gathers connections: where none does, figures are of the whole run.
    Place() { shown.show({.asking = true}); }

    ShownProgress shown;
    std::atomic<bool> ready = false;
    std::atomic<LatencyWindow> window = LatencyWindow::none;  // the parent's wish
    LoadSum sum;
};

// Memory that children share with their parent.
class Places {
  public:
    explicit Places(std::size_t count) : count_(count) {
        at_ = ::mmap(nullptr, count * sizeof(Place), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at_ == MAP_FAILED) return;
        // Before the fork, because atomics have to exist when both sides use them.
        for (std::size_t i = 0; i < count; ++i) ::new (&(*this)[i]) Place();
    }
    ~Places() {
        if (at_ != MAP_FAILED) ::munmap(at_, count_ * sizeof(Place));
    }
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;

    bool made() const { return at_ != MAP_FAILED; }
    std::size_t size() const { return count_; }
    Place& operator[](std::size_t i) { return static_cast<Place*>(at_)[i]; }

  private:
    std::size_t count_;
    void* at_;
};

bool parent_says_stop(int pipe, int wait_ms) {
    pollfd end{pipe, 0, 0};  // only its end counts: the others' bytes may still be in it
    return ::poll(&end, 1, wait_ms) > 0;
}

// A byte for each child begins the run; the end of the pipe ends it.
[[noreturn]] void be_child(const LoadPlan& plan, const LoadWorker::Share& share,
                           std::size_t threads, Place& place, int pipe) {
    std::signal(SIGINT, SIG_IGN);  // the parent's request to stop
    // The parent has blocked both; a child reads no signals and must stay killable.
    std::signal(SIGTERM, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    place.ready = true;
    char go = 0;
    // The end of the pipe in place of a byte: the parent gave up before the run began.
    if (::read(pipe, &go, 1) != 1) ::_exit(0);
    auto team = start_threads(plan, share, threads);
    // Without a word: the parent reports the process as lost, and has found before the fork what no
    // worker can set up (run_load()).
    if (!team) ::_exit(1);
    bool stopping = false;
    for (LoadProgress now; !(now = (*team)->progress()).done;) {
        place.shown.show(now);
        // The pipe has ended, so poll() on it would return at once, again and again.
        if (stopping) {
            ::poll(nullptr, 0, poll_interval_ms);
        } else {
            stopping = parent_says_stop(pipe, poll_interval_ms);
        }
        // In this order, so that what was requested before the stop holds.
        (*team)->set_latency_window(place.window);
        if (stopping) (*team)->stop();
    }
    // Written before finish() marks the figures as final: that mark is what the parent looks for.
    place.sum = *(*team)->finish();
    place.shown.show((*team)->progress());
    place.shown.finish();
    ::_exit(0);
}

class LoadProcesses final : public LoadTeam {
  public:
    explicit LoadProcesses(std::size_t count) : places_(count) {}
    ~LoadProcesses() override {
        stop();
        reap(true);
    }

    Result<> start(const LoadPlan& plan, const LoadWorker::Share& share, std::size_t threads);
    LoadProgress progress() override;
    void stop() override { pipe_.reset(); }
    void set_latency_window(LatencyWindow to) override {
        for (std::size_t i = 0; i < places_.size(); ++i) places_[i].window = to;
    }
    std::unique_ptr<LoadSum> finish() override;

  private:
    struct Child {
        pid_t pid = -1;  // -1: it ended
        bool lost = false;
    };

    void reap(bool wait);

    Places places_;
    std::vector<Child> children_;
    core::Descriptor pipe_;  // the writing end
};

Result<> LoadProcesses::start(const LoadPlan& plan, const LoadWorker::Share& share,
                              std::size_t threads) {
    if (!places_.made()) return fail(Error::last("share memory among", "the load's processes"));
    auto pipe = core::Pipe::open();
    if (!pipe) return fail(pipe.error());
    pipe_ = std::move(pipe->writing);
    // Buffered output would be written once by each child.
    std::fflush(nullptr);
    for (std::size_t i = 0; i < places_.size(); ++i) {
        // No thread and no loop exists yet, so that the child's memory is whole: a lock that
        // another thread held at the fork would be held in the child for ever.
        const pid_t pid = ::fork();
        if (pid == 0) {
            // This copy of the writing end would hide the parent's end from all children.
            pipe_.reset();
            be_child(plan, share_of(share, i, places_.size()), threads, places_[i],
                     pipe->reading.get());
        }
        if (pid < 0) return fail(Error::last("start", "a process of the load"));
        children_.push_back({.pid = pid});
    }
    // All together.
    for (std::size_t i = 0; i < places_.size(); ++i) {
        while (!places_[i].ready && children_[i].pid > 0) {
            ::poll(nullptr, 0, 1);
            reap(false);
        }
    }
    const std::string go(places_.size(), 'g');
    const ssize_t said = ::write(pipe_.get(), go.data(), go.size());
    if (said != static_cast<ssize_t>(go.size())) {
        return fail(Error::last("begin", "the load's processes"));
    }
    return {};
}

// With `wait`, `patience` is for all of them together, because all were stopped at the same time.
void LoadProcesses::reap(bool wait) {
    int waited_ms = 0;
    for (std::size_t i = 0; i < children_.size();) {
        Child& child = children_[i];
        int status = 0;
        const pid_t ended = child.pid > 0 ? ::waitpid(child.pid, &status, WNOHANG) : 0;
        if (child.pid > 0 && ended != 0) {
            // Whatever its status: without its last figures it is lost.
            child.lost = !places_[i].shown.read().done;
            child.pid = -1;
        }
        if (child.pid > 0 && wait) {
            // Told to stop, it ends soon; if it does not, it is ended.
            ::poll(nullptr, 0, poll_interval_ms);
            waited_ms += poll_interval_ms;
            if (waited_ms > patience / 1ms) ::kill(child.pid, SIGKILL);
            continue;
        }
        ++i;
    }
}

LoadProgress LoadProcesses::progress() {
    reap(false);
    LoadProgress sum{.asking = true, .done = true};  // until one is found that is not
    for (std::size_t i = 0; i < children_.size(); ++i) {
        LoadProgress one = places_[i].shown.read();
        if (children_[i].pid < 0) {
            one.asking = one.done = true;
            // The kernel closed them with the process; the last figure that it showed still counts
            // them.
            one.open = 0;
        }
        sum.add(one);
    }
    return sum;
}

std::unique_ptr<LoadSum> LoadProcesses::finish() {
    stop();
    reap(true);
    auto sum = std::make_unique<LoadSum>();
    for (std::size_t i = 0; i < children_.size(); ++i) {
        if (children_[i].lost) {
            ++sum->lost;
        } else {
            sum->merge(places_[i].sum);
        }
    }
    return sum;
}

}  // namespace

Result<std::unique_ptr<LoadTeam>> start_processes(const LoadPlan& plan,
                                                  const LoadWorker::Share& share,
                                                  std::size_t threads, std::size_t processes) {
    auto team = std::make_unique<LoadProcesses>(processes);
    if (auto started = team->start(plan, share, threads); !started) return fail(started.error());
    return team;
}

}  // namespace tiderace::load
