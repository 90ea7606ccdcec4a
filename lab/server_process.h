// ServerProcess: a web server as a child process, from its first answer to its end.
//
//   choose_address() -> a config that names it -> start(): runs, and has answered one request
//
// Owner    The caller. Its destructor ends the process and all of its children.
// Thread   One at a time; one that stays (core/child_process.h explains why).
// Errors   start() fails when the program is not there, ends, answers with an error status, or does
//          not answer in time; the message ends with its last output.
// Memory   Its config lives in a temporary folder that is gone once it has answered, so that
//          nothing is left behind even by a parent that is killed.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/core/child_process.h"
#include "tiderace/core/kernel.h"

namespace tiderace::lab {

// Waits that long; true: a stop was requested meanwhile.
using Wait = std::function<bool(Duration)>;

struct ServerLaunch {
    // "{folder}" in the arguments and the environment is where the files are.
    core::ChildOptions child;
    // Name and text; "{folder}" is also replaced in a text.
    std::vector<std::pair<std::string, std::string>> files;
    core::Address address;
    std::string path = "/";  // of the first request, answered with 200; "": an echo
    Duration start_patience = 20s;
    Wait wait = {};  // between two looks whether it answers; nothing: it just sleeps
};

class ServerProcess final {
  public:
    static Result<ServerProcess> start(ServerLaunch launch);

    const core::Address& address() const { return address_; }
    // It and all processes of its group, in order (Linux; elsewhere it alone).
    std::vector<int> pids() const;
    // How it ended, if it has.
    std::optional<core::ChildExit> exit() { return child_.exit(); }
    // TERM, then KILL.
    core::ChildExit end(Duration patience = 5s) { return child_.end(patience); }
    // The end of what it wrote to its output and errors, in one line: at most 500 bytes.
    std::string last_words() const;

  private:
    ServerProcess(core::ChildProcess child, core::Descriptor words, const core::Address& address)
        : words_(std::move(words)), child_(std::move(child)), address_(address) {}

    core::Descriptor words_;  // the file they are in, which has no name any more
    core::ChildProcess child_;
    core::Address address_;
};

// 127.0.0.1 with a port that is free now.
Result<core::Address> choose_address();
// The status of the answer to one GET, or nothing.
std::optional<int> ask_once(const core::Address& address, std::string_view path, Duration patience,
                            const Wait& wait = {});

}  // namespace tiderace::lab
