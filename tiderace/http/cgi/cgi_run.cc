#include "tiderace/http/cgi/cgi_run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"

namespace tiderace::http::cgi {
namespace {

constexpr std::size_t read_bytes = 16_KiB;
// A bound for one turn, so that a flood of dropped output does not hold up the loop.
constexpr int reads_a_turn = 8;
// From the end of the output to the program's own end, which decides whether it was killed.
constexpr Duration settling = 100ms;
// Where the system does not report the end of a program.
constexpr Duration look_every = 20ms;

// The status for a failed start: 503 for a lack of resources, else 502.
int status_of(int error) {
    switch (error) {
        case EAGAIN:
        case ENOMEM:
        case EMFILE:
        case ENFILE:
            return 503;
        default:
            return 502;
    }
}

}  // namespace

CgiRun::CgiRun(Cgi& cgi, std::string path, std::string_view name, ProgramFolder::Opened opened,
               wire::cgi::MetaVariables variables)
    : ProgramCall(*cgi.loop_, cgi.room_, name),
      Waiter(cgi.options_.places, *cgi.loop_),
      cgi_(&cgi),
      path_(std::move(path)),
      opened_(std::move(opened)),
      variables_(std::move(variables)),
      input_(*cgi.loop_, *this),
      output_(*cgi.loop_, *this),
      errors_(*cgi.loop_, *this),
      end_(*cgi.loop_, *this),
      error_lines_(cgi.loop_->log(), ProgramCall::name()) {}

CgiRun::~CgiRun() {
    if (program_) program_->process.end(Duration::zero());
    if (has_place_) give_back();
}

// --- the start ---------------------------------------------------------------------------------

void CgiRun::on_ready_to_start() {
    if (content_length()) variables_.add("CONTENT_LENGTH", *content_length());
    switch (ask(client())) {
        case Outcome::now:
            return let_in();
        case Outcome::later:
            return;
        case Outcome::full:
            return refuse(too_many_wait);
    }
}

void CgiRun::close_files() {
    opened_.program.reset();
    opened_.folder.reset();
}

void CgiRun::start() {
    has_place_ = true;
    // A run that had to wait gave its descriptors back (close_files), so the script is looked up
    // again.
    if (!opened_.program) {
        opened_ = cgi_->folder_.find(path_, cgi_->options_.arguments_by_ampersand);
    }
    if (opened_.found != ProgramFolder::Found::program) {
        return fail(status_of(opened_.error), "it is gone, or cannot be opened");
    }
    start_program();
    close_files();
}

void CgiRun::start_program() {
    // The program runs in its own folder, where this name leads to it.
    const std::string file = "." + opened_.script.substr(opened_.script.rfind('/'));
    std::vector<std::string> words{file};
    words.insert(words.end(), opened_.arguments.begin(), opened_.arguments.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::vector<char*> environment = variables_.environment();
    ProgramStart start;
    start.program = opened_.program.get();
    start.folder = opened_.folder ? opened_.folder.get() : cgi_->folder_.descriptor();
    start.name = name().c_str();
    start.is_script = opened_.is_script;
    start.arguments = arguments.data();
    start.environment = environment.data();
    start.limits = cgi_->options_.limits;
    Result<Program> program = Program::start(start);
    if (!program) return fail(status_of(program.error().code()), program.error().message());
    program_.emplace(std::move(*program));
    watch_all();
}

void CgiRun::watch_all() {
    const core::Interest readable{.readable = true};
    bool watched = output_.watch(program_->output.get(), readable).has_value() &&
                   errors_.watch(program_->errors.get(), readable).has_value();
    if (watched && program_->process.end_descriptor() >= 0) {
        watched = end_.watch(program_->process.end_descriptor(), readable).has_value();
    } else if (watched) {
        loop().arm(reaping_, loop().now() + look_every);
    }
    if (!watched) return fail(503, "its pipes cannot be watched");
    write_body();
}

void CgiRun::on_ready(core::Watch& watch, core::Interest) {
    contain([&] { take_ready(watch); });
}

void CgiRun::Reaping::on_expired() {
    run->contain([this] { run->on_reaping(); });
}

// The program's side calls us, and learns nothing of an exception. Output that was read may be lost
// then, so that the answer cannot be completed.
template <typename Step>
void CgiRun::contain(Step&& step) {
    if (!core::contain(log(), "cgi", "the answer of a program", std::forward<Step>(step))) {
        fail(503, "no memory is left");
    }
}

void CgiRun::take_ready(core::Watch& watch) {
    if (&watch == &errors_) return read_errors();
    if (&watch == &end_) return on_ended();
    if (&watch == &input_) return write_body();
    if (!head_complete()) return read_head();
    if (drops_output()) return drop_output();
    // No more readiness until the client has taken what there is: pull_output() watches it again.
    static_cast<void>(output_.change({}));
    output_ready();
}

// --- its input ---------------------------------------------------------------------------------

void CgiRun::on_body() {
    if (program_ && input_.descriptor() < 0) write_body();
}

void CgiRun::write_body() {
    if (!program_ || !program_->input) return;
    while (!pending().empty()) {
        const ByteView bytes = pending();
        const ssize_t sent = ::write(program_->input.get(), bytes.data(), bytes.size());
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN) {
            // Watched from the first full pipe on: a body that fits into the pipe is never watched.
            if (input_.descriptor() >= 0) return;
            if (input_.watch(program_->input.get(), {.writable = true})) return;
            // A program takes the end of its input for the end of the body.
            return fail(503, "its pipes cannot be watched");
        }
        if (sent < 0) {  // it takes no more, which is its right
            input_.release();
            program_->input.reset();
            return drop_body();
        }
        take_pending(static_cast<std::size_t>(sent));
    }
    input_.release();
    if (body_ended()) program_->input.reset();
}

// --- its output --------------------------------------------------------------------------------

CgiRun::Read CgiRun::read_into(char* to, std::size_t bytes, std::size_t& got) {
    for (;;) {
        const ssize_t count = ::read(program_->output.get(), to, bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) {
            // After its end nothing more comes, even if a process that escaped holds the pipe.
            return exit_ ? Read::end : Read::nothing_now;
        }
        if (count <= 0) return Read::end;
        got = static_cast<std::size_t>(count);
        return Read::some;
    }
}

void CgiRun::read_head() {
    char buffer[read_bytes];
    std::size_t got = 0;
    switch (read_into(buffer, sizeof buffer, got)) {
        case Read::nothing_now:
            return;
        case Read::end:
            end_output();
            return judge_end();
        case Read::some:
            break;
    }
    const ByteView bytes(buffer, got);
    const std::size_t used = take_head(bytes);
    if (over() || !head_complete()) return;
    leftover_ = bytes.substr(used);
    answer(leftover_.size());
}

void CgiRun::want_output() {
    leftover_.clear();
    if (!over()) static_cast<void>(output_.change({.readable = true}));
}

CgiRun::State CgiRun::pull_output(core::BlockPool& blocks, core::SendQueue& out,
                                  std::size_t bytes_wanted) {
    std::size_t appended = leftover_.size();
    out.append(blocks, leftover_);
    leftover_ = {};
    while (!output_ended_ && appended < bytes_wanted) {
        const std::span<char> room = out.reserve(blocks, bytes_wanted - appended);
        std::size_t got = 0;
        const Read read = read_into(room.data(), room.size(), got);
        out.commit(got);
        appended += got;
        if (read == Read::nothing_now) {
            static_cast<void>(output_.change({.readable = true}));
            return State::wait;
        }
        if (read == Read::end) end_output();
    }
    if (!output_ended_) return State::more;
    if (!exit_) return settled_ ? State::end : State::wait;
    return exit_->by_signal ? fail_by_signal() : State::end;
}

void CgiRun::drop_output() {
    char buffer[read_bytes];
    for (int i = 0; i < reads_a_turn && !output_ended_; ++i) {
        std::size_t got = 0;
        switch (read_into(buffer, sizeof buffer, got)) {
            case Read::nothing_now:
                return;
            case Read::end:
                end_output();
                return judge_end();
            case Read::some:
                break;  // dropped output is no progress: a program that writes for ever is ended
        }
    }
}

void CgiRun::end_output() {
    output_ended_ = true;
    output_.release();
    program_->output.reset();
    if (!exit_) exit_ = program_->process.exit();
    // An answer is whole only when the program was not killed; it ends about now.
    if (!exit_) loop().arm(reaping_, loop().now() + settling);
    read_errors();
}

CgiRun::State CgiRun::fail_by_signal() {
    fail(502, "it " + exit_->text());
    return State::failed;
}

// Output and program are at their end, or the program was given the time to be.
void CgiRun::judge_end() {
    if (over() || (!exit_ && !settled_)) return;
    if (exit_ && exit_->by_signal) return static_cast<void>(fail_by_signal());
    if (!head_complete()) return fail_without_head();
    drops_output() ? finish() : output_ready();
}

void CgiRun::read_errors() {
    if (!program_ || !program_->errors) return;
    char buffer[read_bytes];
    for (int i = 0; i < reads_a_turn; ++i) {
        const ssize_t got = ::read(program_->errors.get(), buffer, sizeof buffer);
        if (got > 0) {
            error_lines_.feed(ByteView(buffer, static_cast<std::size_t>(got)));
            continue;
        }
        // The watch reports again what is left.
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        errors_.release();
        program_->errors.reset();
        return error_lines_.end();
    }
}

// --- its end -----------------------------------------------------------------------------------

void CgiRun::on_ended() {
    if (exit_) return;
    exit_ = program_->process.exit();
    if (!exit_) return;
    end_.release();
    // It was ended, or worked on behind its answer.
    if (over()) return retire();
    // The pipe may still hold output: read until it is empty.
    while (!over() && !head_complete() && !output_ended_) read_head();
    if (over()) return;
    if (drops_output() && !output_ended_) end_output();
    if (output_ended_) return judge_end();
    static_cast<void>(output_.change({}));
    output_ready();
}

void CgiRun::on_reaping() {
    on_ended();
    if (exit_) return;
    if (over()) return loop().now() < lingers_until_ ? linger() : end_now();
    if (output_ended_) {
        settled_ = true;
        judge_end();
    }
    if (!over()) loop().arm(reaping_, loop().now() + look_every);
}

// Closing our ends notifies a program that still runs: SIGPIPE on its output, the end of its input.
void CgiRun::on_over() {
    cancel();
    input_.release();
    output_.release();
    if (!program_) return retire();
    program_->input.reset();
    program_->output.reset();
    read_errors();
    if (!exit_) exit_ = program_->process.exit();
    if (exit_) return retire();
    if (!settled_) return end_now();
    const Duration timeout = cgi_->options_.rules.timeout;
    lingers_until_ =
        timeout > Duration::zero() ? moment_after(loop().now(), timeout) : Instant::max();
    linger();
}

// Where end_ does not report its end, we look for it.
void CgiRun::linger() {
    const Instant look = program_->process.end_descriptor() >= 0
                             ? Instant::max()
                             : moment_after(loop().now(), look_every);
    loop().arm(reaping_, std::min(lingers_until_, look));
}

// TERM, then KILL; end_ reports what comes of it, or looking does.
void CgiRun::end_now() {
    const bool again = std::exchange(terminated_, true);
    program_->process.signal(again ? SIGKILL : SIGTERM);
    loop().arm(reaping_, moment_after(loop().now(), again ? look_every : cgi_->options_.patience));
}

void CgiRun::retire() {
    read_errors();
    errors_.release();
    end_.release();
    loop().cancel(reaping_);
    if (std::exchange(has_place_, false)) give_back();
    cgi_->retire(*this);
}

}  // namespace tiderace::http::cgi
