// Cgi: answers requests by running programs of a folder (CGI/1.1, RFC 3875).
//
//   GET /cgi-bin/hello.sh/a?x=1   ->  DIR/hello.sh, PATH_INFO=/a, QUERY_STRING=x=1
//
// A program gets the request's body on its standard input and writes head and body of its answer to
// its standard output, as they come, with back-pressure both ways; what it writes to its standard
// error is logged. It is alone in a process group, which is ended as a whole when the program ends,
// its client goes away, or a limit is passed: SIGTERM and, after `patience`, SIGKILL.
//
// Owner    The program; one per loop. The loops share CgiOptions::places.
// Thread   The loop's. Starting a program holds it up until the program is loaded, about 0.5 ms.
// Errors   404: no such program. 403: not executable. 502: it died, or its head is malformed. 503:
//          no place. 504: it does nothing for too long. All but the first two are logged.
// Limits   CgiOptions.
// Not done A query without "=" is not given as arguments (RFC 3875, section 4.4): it has made
//          programs take options from clients.
// Keywords: CGI, RFC 3875
#pragma once

#include <memory>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/http/cgi/program.h"
#include "tiderace/http/cgi/program_call.h"
#include "tiderace/http/cgi/program_folder.h"
#include "tiderace/http/cgi/program_places.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/site_loop.h"

namespace tiderace::http::cgi {

struct CgiOptions {
    std::string prefix = "/cgi-bin";  // no '/' at its end; "" for all paths
    std::string folder;
    std::string document_root = {};  // for PATH_TRANSLATED; "": not sent
    CallRules rules = {};
    ProgramLimits limits = {};
    Duration patience = 2s;  // from SIGTERM to SIGKILL
    // How many may run and wait, of all loops; nullptr: 32 and 256 for this one.
    std::shared_ptr<ProgramPlaces> places = {};
    bool arguments_by_ampersand = false;  // "/cgi-bin/add&1&2" runs `add 1 2`
    std::string server_software = MessageOptions{}.server_name;
};

class CgiRun;

class Cgi final : public Handler, private core::TurnEnd {
  public:
    static Result<std::unique_ptr<Cgi>> create(core::EventLoop& loop, CgiOptions options);
    // Kills what still runs.
    ~Cgi() override;

    // Whether the path lies below the prefix.
    bool answers(ByteView path) const;
    const std::string& prefix() const { return options_.prefix; }
    void handle(Exchange& exchange) override;

    std::size_t running() const { return calls_; }

  private:
    friend class CgiRun;

    Cgi(core::EventLoop& loop, CgiOptions options, ProgramFolder folder);
    void on_turn_end() override;
    void retire(CgiRun& run);

    core::EventLoop* loop_;
    CgiOptions options_;
    ProgramFolder folder_;
    CallRoom room_;
    IntrusiveList<CgiRun> runs_;     // owned
    IntrusiveList<CgiRun> retired_;  // owned; ended when no call of theirs is on the stack
    std::size_t calls_ = 0;
};

}  // namespace tiderace::http::cgi
