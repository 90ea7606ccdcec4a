#include "load/load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "load/figures.h"
#include "load/progress_line.h"
#include "load/run.h"
#include "tiderace/core/signals.h"

namespace tiderace::load {
namespace {

int complain(const std::string& sentence, int status) {
    std::fprintf(stderr, "tiderace: %s\n", sentence.c_str());
    return status;
}

// A report that was not written is a failure, whatever the run came to.
int print(const std::string& text, int status) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    // EPIPE: the reader, such as `head`, has seen enough.
    if ((written && std::fflush(stdout) == 0) || errno == EPIPE) return status;
    return complain("cannot write to standard output: " + describe_errno(errno), 1);
}

// A person before a terminal: one line of progress, and Ctrl-C.
class Person final : public LoadAudience {
  public:
    Person(core::Signals& signals, bool quiet)
        : signals_(&signals), line_(stderr), shows_(!quiet && line_.on_terminal()) {}

    void on_progress(const LoadProgress& now, Duration elapsed) override {
        const double since_shown = std::chrono::duration<double>(elapsed - shown_at_).count();
        // Five times a second can still be read, and costs the run nothing.
        if (!shows_ || since_shown < 0.2) return;
        const double a_second = static_cast<double>(now.answers - shown_answers_) / since_shown;
        const std::int64_t open = std::max<std::int64_t>(0, now.open);
        line_.show(printed("  %.1f s   %s answers   %s/s   %s open   %s errors",
                           in_seconds(elapsed), with_commas(now.answers).c_str(),
                           with_commas(static_cast<std::uint64_t>(a_second)).c_str(),
                           with_commas(static_cast<std::uint64_t>(open)).c_str(),
                           with_commas(now.errors + now.connect_errors).c_str()));
        shown_at_ = elapsed;
        shown_answers_ = now.answers;
    }
    // All that have come: a second Ctrl-C is no other wish, and must not stay in the descriptor.
    bool wants_end() override {
        while (signals_->next()) ended_ = true;
        return ended_;
    }
    int descriptor() const override { return signals_->descriptor(); }

    void take_line_away() {
        if (shows_) line_.clear();
    }

  private:
    core::Signals* signals_;
    ProgressLine line_;
    bool shows_;
    bool ended_ = false;
    Duration shown_at_ = Duration::zero();
    std::uint64_t shown_answers_ = 0;
};

}  // namespace

int run_command(const LoadOptions& options) {
    // Before the threads: they inherit the blocked signals.
    auto signals = core::Signals::open(std::array{SIGINT, SIGTERM});
    if (!signals) return complain(signals.error().message(), 1);
    Person person(*signals, options.json);
    const LoadOutcome outcome = run_load(options, &person);
    // Before anything is printed, or the report would begin behind the progress line.
    person.take_line_away();
    if (!outcome.complaint.empty()) return complain(outcome.complaint, outcome.status);
    // One sentence instead of a table of zeros. JSON has it among its notes, beside the zeros.
    if (!options.json && !outcome.report.cause.empty()) {
        return complain(outcome.report.cause, outcome.status);
    }
    return print(options.json ? load_json(outcome.report) : load_table(outcome.report),
                 outcome.status);
}

}  // namespace tiderace::load
