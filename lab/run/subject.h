// Subjects: everything that can be put under the lab's load, our engines and the opponents, behind
// one way to start and to end it.
//
// Thread   The run's; one that stays (core/child_process.h).
// Errors   Absent: a reason in half a sentence. Does not start: a Result with its output.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/report/results.h"
#include "lab/server_process.h"
#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/address.h"

namespace tiderace::lab::run {

// A server that runs; its destructor ends it and all that it started.
class RunningServer {
  public:
    virtual ~RunningServer() = default;
    virtual core::Address address() const = 0;
    virtual std::vector<int> pids() const = 0;
    // How it ended, if it has, and its last output.
    virtual std::optional<std::string> ended() = 0;
};

struct ServerPlan {
    std::string folder;
    std::string path = "/";  // the request's path
    std::vector<unsigned> cpus;
    std::uint64_t connections = 0;
    bool closes = false;
    bool echoes = false;
    Wait wait = {};  // while it starts; empty: cannot be interrupted
};

struct RunSubject {
    report::Subject facts;     // name, kind, what, version, command; absent
    bool serves_files = true;  // false: one fixed answer, of one file
    bool pipelines = true;     // false: it answers once what comes at once
    bool echoes = false;       // it can do without HTTP
    std::uint64_t answer_bytes_max = UINT64_MAX;
    std::function<Result<std::unique_ptr<RunningServer>>(const ServerPlan&)> start;
};

// The named ones, or all, absent or not, in the order of the report; the floor is
// always among them. Installed ones report their versions. `cpus`: of the server.
std::vector<RunSubject> find_subjects(const std::vector<std::string>& names,
                                      const std::string& own_version,
                                      const std::vector<unsigned>& cpus);
// The names only, without looking whether they are here.
std::vector<std::string_view> subject_names();

}  // namespace tiderace::lab::run
