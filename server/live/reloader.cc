#include "server/live/reloader.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "tiderace/log/logger.h"

namespace tiderace::server {
namespace {

constexpr Duration post_again = 10ms;
constexpr Duration look_every = 500ms;

// A mailbox that is full belongs to a loop that is overwhelmed. From a thread that may wait.
void post_surely(core::EventLoop& loop, const std::function<void()>& task) {
    while (!loop.post([task] { task(); })) std::this_thread::sleep_for(post_again);
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
        if (!reloader_->is_tidy_ && !reloader_->running_ && reloader_->generations_alive() == 1) {
            reloader_->tidy();
        }
        if (!reloader_->is_tidy_) arm();
    }

    Reloader* reloader_;
};

Reloader::Reloader(Parts parts)
    : parts_(std::move(parts)), alive_{parts_.now}, look_(std::make_unique<Look>(*this)) {}

Reloader::~Reloader() = default;

void Reloader::request(Done done) {
    waiting_.push_back(std::move(done));
    if (!running_) start();
}

void Reloader::start() {
    running_ = true;
    answering_ = std::exchange(waiting_, {});
    made_ = {};
    if (stopping_) {
        made_.problems = "the server is stopping\n";
        return end(false);
    }
    refusal_.clear();
    const bool submitted = pool_.submit([this] {
        made_ = read_and_make();
        post_surely(loop(), [this] { prepare_all(); });
    });
    if (submitted) return;
    made_.problems = "no thread could be had to read the configuration\n";
    end(false);
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
    if (!made_.next) return end(false);
    awaited_ = parts_.workers.size();
    for (Worker* const worker : parts_.workers) {
        on_loop_of(*worker, [this, worker, next = made_.next->generation] {
            Result<> done;
            try {
                done = worker->prepare(next);
            } catch (const std::exception& fault) {
                done = fail(Error(0, "prepare", "a loop", fault.what()));
            }
            on_loop_of(*parts_.workers.front(), [this, done] { prepared(done); });
        });
    }
}

// A task of this loop runs at once: it would wait for itself where its mailbox is full.
void Reloader::on_loop_of(Worker& worker, std::function<void()> task) {
    if (worker.loop().on_loop_thread()) return task();
    post_surely(worker.loop(), task);
}

void Reloader::prepared(const Result<>& one) {
    // Each loop has the same to say.
    if (!one && refusal_.empty()) refusal_ = one.error().message();
    if (--awaited_ == 0) finish_preparing();
}

void Reloader::finish_preparing() {
    if (refusal_.empty() && stopping_) refusal_ = "the server is stopping";
    if (refusal_.empty()) {
        if (const auto settled = made_.next->settle(); !settled) {
            refusal_ = settled.error().message();
        }
    }
    if (refusal_.empty()) return publish_all();
    made_.problems += std::exchange(refusal_, {}) + "\n";
    made_.next->dropped();
    for (Worker* const worker : parts_.workers) {
        on_loop_of(*worker, [worker] { worker->drop(); });
    }
    end(false);
}

void Reloader::publish_all() {
    parts_.now = made_.next->generation;
    alive_.push_back(parts_.now);
    awaited_ = parts_.workers.size();
    for (Worker* const worker : parts_.workers) {
        on_loop_of(*worker, [this, worker] {
            worker->publish();
            on_loop_of(*parts_.workers.front(), [this] {
                if (--awaited_ == 0) published();
            });
        });
    }
}

void Reloader::published() {
    made_.next->published();
    is_tidy_ = false;
    look_->arm();
    end(true);
}

void Reloader::tidy() {
    running_ = true;
    awaited_ = parts_.workers.size();
    const auto logs =
        std::make_shared<const std::vector<std::string>>(access_logs(parts_.now->sites));
    for (Worker* const worker : parts_.workers) {
        on_loop_of(*worker, [this, worker, logs] {
            worker->forget_logs_but(*logs);
            on_loop_of(*parts_.workers.front(), [this] {
                if (--awaited_ > 0) return;
                parts_.tidy(*parts_.now);
                is_tidy_ = true;
                running_ = false;
                if (!waiting_.empty()) start();
            });
        });
    }
}

void Reloader::end(bool done) {
    say(done);
    last_ = Last{loop().unix_now(), done, made_.problems};
    running_ = false;
    for (Done& each : std::exchange(answering_, {})) {
        if (each) each(done, made_.problems);
    }
    made_ = {};
    if (!waiting_.empty() && !running_) start();
}

void Reloader::say(bool done) {
    log::Logger* const log = loop().log();
    if (log == nullptr) return;
    std::string_view rest = made_.problems;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (!line.empty()) done ? log->warning("config", line) : log->error("config", line);
    }
    if (done) {
        log->info("config", "the configuration was read again",
                  log::field("generation", parts_.now->number),
                  log::field("sites", parts_.now->sites.size()));
    } else {
        log->error("config", "the configuration was refused: all is served as before");
    }
}

std::size_t Reloader::generations_alive() {
    std::erase_if(alive_, [](const auto& each) { return each.expired(); });
    return alive_.size();
}

}  // namespace tiderace::server
