// CgiRun: one program of Cgi with its pipes.
//
//   place -> started -> head -> body -> output at its end, and ended -----> retired
//                 \-- on_over() --> TERM -> (patience) -> KILL -> ended --/
//
// An answer is complete when the output is at its end and the program has ended by itself. A
// program that is killed by a signal leaves a broken answer, although its output ended. When it has
// ended, the processes that it left behind are killed; the bytes in the pipe by then are the last.
// One that closes its output and works on completes its answer and may work until the deadline.
//
// Owner    Cgi.
// Thread   The loop's.
// Keywords: CGI, SIGKILL, time-out
#pragma once

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/watch.h"
#include "tiderace/http/cgi/cgi.h"
#include "tiderace/http/cgi/error_lines.h"
#include "tiderace/http/wire/cgi/meta_variables.h"

namespace tiderace::http::cgi {

class CgiRun final : public ProgramCall,
                     public ListHook,
                     private ProgramPlaces::Waiter,
                     private core::Watch::Receiver {
  public:
    // `path`: the request's path without the prefix.
    CgiRun(Cgi& cgi, std::string path, std::string_view name, ProgramFolder::Opened opened,
           wire::cgi::MetaVariables variables);
    ~CgiRun() override;

    // While it waits it holds no descriptor.
    void close_files();

  private:
    static constexpr std::string_view too_many_wait = "too many wait for a program";

    struct Reaping final : core::Timer {
        explicit Reaping(CgiRun& r) : run(&r) {}
        void on_expired() override;
        CgiRun* run;
    };
    enum class Read : std::uint8_t { some, nothing_now, end };

    void on_ready_to_start() override;
    void on_granted() override { let_in(); }
    void on_displaced() override { refuse(too_many_wait); }
    void start() override;
    void on_body() override;
    void want_output() override;
    State pull_output(core::BlockPool& blocks, core::SendQueue& out,
                      std::size_t bytes_wanted) override;
    void on_over() override;

    void start_program();
    void watch_all();
    void on_ready(core::Watch& watch, core::Interest ready) override;
    void take_ready(core::Watch& watch);
    template <typename Step>
    void contain(Step&& step);
    void write_body();
    void read_head();
    void drop_output();
    void read_errors();
    void on_ended();
    void on_reaping();
    void linger();
    void end_output();
    State fail_by_signal();
    void judge_end();
    void end_now();
    Read read_into(char* to, std::size_t bytes, std::size_t& got);
    void retire();

    Cgi* cgi_;
    std::string path_;
    ProgramFolder::Opened opened_;
    wire::cgi::MetaVariables variables_;
    std::optional<Program> program_;
    std::optional<core::ChildExit> exit_;
    core::Watch input_;
    core::Watch output_;
    core::Watch errors_;
    core::Watch end_;
    Reaping reaping_{*this};
    ErrorLines error_lines_;
    std::string leftover_;     // of the body, read with the head
    Instant lingers_until_{};  // after its answer it works on
    bool has_place_ = false;
    bool output_ended_ = false;
    bool settled_ = false;  // it goes on after its output ended
    bool terminated_ = false;
};

}  // namespace tiderace::http::cgi
