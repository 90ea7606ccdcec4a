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

// A mailbox that is full belongs to a loop that is overwhelmed. From a thread that may wait.
void post_surely(core::EventLoop& loop, const std::function<void()>& task) {
    while (!loop.post([task] { task(); })) std::this_thread::sleep_for(post_again);
}

}  // namespace

Reloader::Reloader(Parts parts) : parts_(std::move(parts)), alive_{parts_.now} {}

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
        auto generation = parts_.make(std::move(*reading.wanted), *parts_.now);
        if (generation) {
            made.generation = std::move(*generation);
        } else {
            made.problems += generation.error();
        }
    } catch (const std::exception& fault) {
        made.generation.reset();
        made.problems += std::string("reading it failed: ") + fault.what() + "\n";
    }
    return made;
}

void Reloader::prepare_all() {
    if (made_.generation == nullptr || stopping_) return end(false);
    awaited_ = parts_.workers.size();
    for (Worker* const worker : parts_.workers) {
        const bool posted = worker->loop().post([this, worker, next = made_.generation] {
            Result<> done;
            try {
                done = worker->prepare(next);
            } catch (const std::exception& fault) {
                done = fail(Error(0, "prepare", "a loop", fault.what()));
            }
            post_surely(loop(), [this, done] { prepared(done); });
        });
        if (!posted) prepared(fail(Error(0, "prepare", "a loop", "it is overwhelmed")));
    }
}

void Reloader::prepared(const Result<>& one) {
    if (!one) {
        const std::string problem = one.error().message() + "\n";
        // Each loop has the same to say.
        if (!made_.problems.contains(problem)) made_.problems += problem;
        made_.generation.reset();
    }
    if (--awaited_ == 0) finish_preparing();
}

void Reloader::finish_preparing() {
    if (made_.generation != nullptr && !stopping_) return publish_all();
    for (Worker* const worker : parts_.workers) {
        // Otherwise the next preparation drops it.
        static_cast<void>(worker->loop().post([worker] { worker->drop(); }));
    }
    end(false);
}

void Reloader::publish_all() {
    parts_.now = made_.generation;
    alive_.push_back(parts_.now);
    awaited_ = parts_.workers.size();
    for (Worker* const worker : parts_.workers) {
        post_surely(worker->loop(), [this, worker] {
            worker->publish();
            post_surely(loop(), [this] {
                if (--awaited_ == 0) end(true);
            });
        });
    }
}

void Reloader::end(bool done) {
    say(done);
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
