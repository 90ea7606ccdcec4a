#include "server/live/reloader.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "tiderace/core/contain.h"
#include "tiderace/core/startup_memory.h"
#include "tiderace/log/logger.h"

namespace tiderace::server {
namespace {

constexpr Duration post_again = 10ms;
constexpr Duration look_every = 500ms;
constexpr std::string_view stops = "the server is stopping\n";

// A mailbox that is full belongs to a loop that is overwhelmed. From a thread that may wait.
template <typename Task>
void post_surely(core::EventLoop& loop, Task task) {
    while (!loop.post(task)) std::this_thread::sleep_for(post_again);
}

}  // namespace

class Reloader::Look final : public core::Timer {
  public:
    explicit Look(Reloader& reloader) : reloader_(&reloader) {}
    ~Look() override { reloader_->loop().cancel(*this); }
    void arm() {
        core::EventLoop& loop = reloader_->loop();
        loop.assert_on_loop();
        loop.arm(*this, loop.now() + look_every);
    }

  private:
    void on_expired() override {
        const bool watches = reloader_->now().options.watch && !reloader_->stopping_;
        if (watches && !reloader_->running_) reloader_->look_at_files();
        if (!reloader_->is_tidy_ && !reloader_->running_ && reloader_->generations_alive() == 1) {
            reloader_->tidy();
        }
        if (!reloader_->is_tidy_ || watches) arm();
    }

    Reloader* reloader_;
};

Reloader::Reloader(Parts parts)
    : parts_(std::move(parts)),
      counts_{.done_at = loop().unix_now()},
      stepped_(parts_.workers.size()),
      alive_{parts_.now},
      look_(std::make_unique<Look>(*this)) {
    if (now().options.watch) look_->arm();
}

Reloader::~Reloader() = default;

void Reloader::request(Done done) {
    waiting_.push_back(std::move(done));
    start_next();
}

void Reloader::start_next() {
    if (!running_ && !waiting_.empty()) start();
}

void Reloader::start() {
    running_ = true;
    answering_ = std::exchange(waiting_, {});
    made_ = {};
    if (stopping_) {
        made_.problems = stops;
        return end_refused();
    }
    const bool submitted = pool_.submit([this] {
        made_ = read_and_make();
        post_surely(loop(), [this] { prepare_all(); });
    });
    if (submitted) return;
    made_.problems = "no thread could be had to read the configuration\n";
    end_refused();
}

Reloader::Made Reloader::read_and_make() const {
    Made made;
    try {
        Reading reading = parts_.read();
        made.problems = std::move(reading.problems);
        if (!reading.wanted) return made;
        auto next = parts_.make(std::move(*reading.wanted), *parts_.now);
        if (next) {
            made.next = std::move(*next);
        } else {
            made.problems += next.error();
        }
    } catch (const std::exception& fault) {
        made.problems += std::string("reading it failed: ") + fault.what() + "\n";
    }
    return made;
}

void Reloader::prepare_all() {
    if (!made_.next) return end_refused();
    on_each_loop([this](Worker& worker) { return worker.prepare(made_.next->generation); },
                 &Reloader::prepared);
}

void Reloader::prepared() {
    for (const Result<>& each : stepped_) {
        // Each loop has the same to say.
        if (!succeeds([&] { return each; })) return refuse();
    }
    if (stopping_) {
        made_.problems += stops;
        return refuse();
    }
    const bool settled = succeeds([this] {
        alive_.push_back(made_.next->generation);
        return made_.next->settle();
    });
    if (!settled) return refuse();
    parts_.now = made_.next->generation;
    const auto publish = [](Worker& worker) {
        worker.publish();
        return Result<>();
    };
    on_each_loop(publish, &Reloader::published);
}

void Reloader::refuse() {
    const auto drop = [](Worker& worker) {
        worker.drop();
        return Result<>();
    };
    on_each_loop(drop, &Reloader::end_refused);
}

void Reloader::published() {
    const bool listens = succeeds([this] {
        made_.next->published();
        return Result<>();
    });
    if (!listens) return end(false, "its sites are served, and not at all of its addresses");
    end(true, "the configuration was read again");
}

void Reloader::tidy() {
    running_ = true;
    const auto logs =
        std::make_shared<const std::vector<std::string>>(access_logs(parts_.now->sites));
    const auto forget = [logs](Worker& worker) {
        worker.forget_logs_but(*logs);
        return Result<>();
    };
    on_each_loop(forget, &Reloader::tidied);
}

void Reloader::tidied() {
    is_tidy_ = core::contain(loop().log(), "config", "the end of logs without a name",
                             [this] { parts_.tidy(*parts_.now); });
    // What a reading took lies between what stays: without this the heap would grow by each.
    pool_.submit([] { core::give_back_free_heap(); });
    running_ = false;
    start_next();
}

// On the thread of the readings, because the disk may have to be waited for.
void Reloader::look_at_files() {
    if (looking_) return;
    looking_ = pool_.submit([this] {
        bool changed = false;
        core::contain(nullptr, "config", "the look at the files",
                      [&] { changed = parts_.has_changed(); });
        post_surely(loop(), [this, changed] {
            looking_ = false;
            if (changed && !running_) request();
        });
    });
}

// A task of this loop runs at once: it would wait for itself where its mailbox is full.
void Reloader::on_each_loop(Step step, Then then) {
    step_ = std::move(step);
    then_ = then;
    awaited_ = parts_.workers.size();
    for (std::size_t i = parts_.workers.size(); i-- > 1;) {
        post_surely(parts_.workers[i]->loop(), [this, i] {
            run_step(i);
            post_surely(loop(), [this] { stepped(); });
        });
    }
    run_step(0);
    stepped();
}

void Reloader::run_step(std::size_t worker) noexcept {
    try {
        stepped_[worker] = step_(*parts_.workers[worker]);
    } catch (const std::bad_alloc&) {
        stepped_[worker] = fail(Error(ENOMEM, "prepare", "a loop"));
    } catch (const std::exception& fault) {
        stepped_[worker] = fail(Error(0, "prepare", "a loop", fault.what()));
    }
}

void Reloader::stepped() {
    if (--awaited_ == 0) (this->*then_)();
}

bool Reloader::succeeds(const std::function<Result<>()>& call) {
    try {
        const Result<> done = call();
        if (!done) made_.problems += done.error().message() + "\n";
        return done.has_value();
    } catch (const std::exception& fault) {
        made_.problems += std::string("it failed: ") + fault.what() + "\n";
        return false;
    }
}

// Logs that were opened for a file that was refused are closed as those are that have no name any
// more.
void Reloader::end(bool done, std::string_view outcome) {
    running_ = false;
    is_tidy_ = false;
    look_->arm();
    last_ = Last{loop().unix_now(), done};
    ++(done ? counts_.done : counts_.refused);
    if (done) counts_.done_at = last_->at;
    std::string text;
    core::contain(loop().log(), "config", "the report of a reload", [&] {
        say(done, outcome);
        last_->problems = made_.problems;
        text = made_.problems + std::string(outcome);
        text += done ? ": generation " + std::to_string(now().number) + "\n" : "\n";
    });
    made_ = {};
    for (Done& each : std::exchange(answering_, {})) {
        if (!each) continue;
        core::contain(loop().log(), "config", "the answer to a reload", [&] { each(done, text); });
    }
    start_next();
}

void Reloader::say(bool done, std::string_view outcome) {
    log::Logger* const log = loop().log();
    if (log == nullptr) return;
    std::string_view rest = made_.problems;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (!line.empty()) done ? log->warning("config", line) : log->error("config", line);
    }
    if (!done) return log->error("config", outcome);
    log->info("config", outcome, log::field("generation", parts_.now->number),
              log::field("sites", parts_.now->sites.size()));
}

std::size_t Reloader::generations_alive() {
    std::erase_if(alive_, [](const auto& each) { return each.expired(); });
    return alive_.size();
}

}  // namespace tiderace::server
