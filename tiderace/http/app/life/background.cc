#include "tiderace/http/app/life/background.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"

namespace tiderace::http::app_parts {

class BackgroundTasks::One final : private task::Root, private core::Timer {
  public:
    One(BackgroundTasks& tasks, const Background& what) : tasks_(&tasks), what_(&what) {
        if (what.schedule) next_.emplace(*what.schedule);
    }
    // The frame refers to members of this class, which would end before Root does.
    ~One() override { end_frame(); }

    bool over() const { return over_; }

    void begin() { next_ && !over_ ? rest_until_due() : run(); }

    void run() {
        if (over_) return;  // it drains already
        log::Logger* const log = loop().log();
        std::optional<task::Task<>> task;
        started_ = loop().now();
        // A failure to start is not tried again: it is the program's (a state that is missing), and
        // the same each time.
        const bool made = core::contain(log, "http", "a background task",
                                        [&] { task = what_->start(*tasks_->states_); });
        if (task) return start(*tasks_->runner_, std::move(*task));
        over_ = true;
        if (made && log != nullptr) {
            log->error("http", "a background task takes a state that the App does not have");
        }
    }

    void drain(Instant deadline) {
        draining_ = true;
        const Duration grace = what_->options.grace;
        if (over_) return;
        // It rests between two runs, or gets no grace.
        if (!alive() || grace <= Duration::zero()) return end();
        loop().arm(*this, std::min(deadline, moment_after(loop().now(), grace)));
    }

  private:
    core::EventLoop& loop() const { return tasks_->runner_->loop(); }

    void end() {
        cancel();
        if (armed()) loop().cancel(*this);
        over_ = true;
        tasks_->one_is_over();
    }

    void rest_until_due() {
        next_->plan(loop().now(), loop().unix_now());
        wait();
    }
    void wait() {
        const Duration left = next_->wait(loop().now(), loop().unix_now());
        if (left <= Duration::zero()) return run();
        loop().arm(*this, moment_after(loop().now(), left));
    }

    void log_failure(const std::exception_ptr& failure) const {
        log::Logger* const log = loop().log();
        if (what_->name.empty() || log == nullptr) return task::log_failure(log, failure);
        // Each failure is a line: jobs are few, and the next run may be a day away.
        std::string why = "not a std::exception";
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            why = error.what();
        } catch (...) {
        }
        log->error("http", "a job failed; it runs again when it is due",
                   log::field("job", what_->name), log::field("what", why));
    }

    void on_done(std::exception_ptr failure) override {
        const BackgroundOptions& options = what_->options;
        if (failure) log_failure(failure);
        if (next_ && !draining_) return rest_until_due();
        // A task that returns has done its work. Only one that throws is started again.
        if (!failure || draining_ || options.restart <= Duration::zero()) return end();
        // It ran well for long enough, so its next failure is a new one.
        if (loop().now() - started_ >= options.restart_max) rest_ = Duration::zero();
        const Duration longest = std::max(options.restart, options.restart_max);
        // Compared before it is doubled, which would overflow where the longest is "never".
        rest_ = rest_ < longest / 2 ? std::max(options.restart, 2 * rest_) : longest;
        loop().arm(*this, moment_after(loop().now(), rest_));
    }

    // It has rested, or its grace is over.
    void on_expired() override {
        if (draining_) return end();
        next_ ? wait() : run();
    }

    BackgroundTasks* tasks_;
    const Background* what_;
    std::optional<NextRun> next_;  // of a job
    Instant started_{};
    Duration rest_{};
    bool draining_ = false;
    bool over_ = false;
};

BackgroundTasks::BackgroundTasks(task::Runner& runner, const States& states,
                                 const std::vector<Background>& all, bool first_loop)
    : runner_(&runner), states_(&states) {
    for (const Background& one : all) {
        if (first_loop || one.options.each_loop) all_.push_back(std::make_unique<One>(*this, one));
    }
    // At the end of the turn, once the AppLoop around it is complete.
    if (!all_.empty()) runner.loop().at_turn_end(*this);
}

BackgroundTasks::~BackgroundTasks() {
    runner_->loop().forget_turn_end(*this);
}

void BackgroundTasks::on_turn_end() {
    for (const auto& one : all_) one->begin();
}

void BackgroundTasks::drain(Instant deadline, unique_function<void()> done) {
    for (const auto& one : all_) one->drain(deadline);
    drained_ = std::move(done);
    one_is_over();
}

void BackgroundTasks::one_is_over() {
    const bool all_over = std::ranges::all_of(all_, [](const auto& one) { return one->over(); });
    if (all_over && drained_) std::exchange(drained_, {})();
}

}  // namespace tiderace::http::app_parts
