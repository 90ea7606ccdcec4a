// Reloader: takes another reading of the configuration while the one before is served.
//
//   request() -> a thread: read, check, open   -> each loop: Worker::prepare()
//                     |                                |
//                     '---- any problem: nothing changes, and every problem is reported
//                                                      |
//                                                      '-> each loop: Worker::publish()
//
// One reading at a time. Requests that come meanwhile are answered by the next one. Whatever is
// thrown on the way, each request is answered, and another reading can follow.
//
// Owner    Assembly; it ends before the workers.
// Thread   The first loop's, unless a member says otherwise.
// Errors   Problems as a text for people, a line each, to whoever asked and to the log.
// Keywords: SIGHUP, graceful reload
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/live/generation.h"
#include "server/root_files.h"
#include "server/worker.h"
#include "tiderace/base/result.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/base/units.h"
#include "tiderace/core/worker_pool.h"

namespace tiderace::server {

// One reading of the configuration.
struct Reading {
    std::optional<Wanted> wanted;  // nullopt: it has errors
    std::string problems;          // and warnings, as lines
};

// Whether the helper of a server that gave up root's rights opens this in its place.
using OpensAsRoot = std::function<bool(const std::string& path, RootFiles::Use use)>;
// A configuration that can be read again. Both on one thread.
struct ReadAgain {
    std::function<Reading(const OpensAsRoot& opens)> read = {};
    // Whether its files were changed since they were read, and that is done.
    std::function<bool()> has_changed = {};

    explicit operator bool() const { return read != nullptr; }
};

class Reloader final {
  public:
    // `text` has the problems and, as its last line, what came of it.
    using Done = unique_function<void(bool done, const std::string& text)>;
    // The result of the thread that reads. Everything else runs on the first loop, where a refused
    // one ends, with what it opened.
    struct Next {
        std::shared_ptr<const Generation> generation;
        // When all loops can serve it: the last that may fail.
        std::function<Result<>()> settle = [] { return Result<>(); };
        std::function<void()> published = [] {};
    };
    struct Parts {
        std::function<Reading()> read;                             // on a thread of its own
        std::function<bool()> has_changed = [] { return false; };  // on the same
        // The same. All that is wrong, as lines.
        std::function<std::expected<Next, std::string>(Wanted, const Generation& before)> make;
        // Once nothing but this generation is left, and no loop knows other logs.
        std::function<void(const Generation& only)> tidy = [](const Generation&) {};
        std::vector<Worker*> workers;
        std::shared_ptr<const Generation> now;
    };

    struct Last {
        UnixSeconds at = 0;
        bool done = false;
        std::string problems = {};
    };

    explicit Reloader(Parts parts);
    // Waits for a reading that is under way.
    ~Reloader();

    void request(Done done = {});
    // From now on nothing is taken.
    void stop() { stopping_ = true; }
    // What new requests are served by.
    const Generation& now() const { return *parts_.now; }
    struct Counts {
        std::uint64_t done = 0;
        std::uint64_t refused = 0;
        UnixSeconds done_at = 0;  // the start, before there is one
    };
    const Counts& counts() const { return counts_; }
    // nullopt: none was requested yet.
    const std::optional<Last>& last() const { return last_; }
    // This generation and earlier ones with open requests.
    std::size_t generations_alive();

  private:
    struct Made {
        std::optional<Next> next;  // nullopt: refused
        std::string problems;
    };
    // Looks whether the generations before have ended, and the files have changed.
    class Look;
    using Step = std::function<Result<>(Worker&)>;
    using Then = void (Reloader::*)();

    core::EventLoop& loop() { return parts_.workers.front()->loop(); }
    void start();
    Made read_and_make() const;
    void prepare_all();
    void prepared();
    void refuse();
    void published();
    void tidy();
    void tidied();
    void look_at_files();
    void on_each_loop(Step step, Then then);
    void run_step(std::size_t worker) noexcept;
    void stepped();
    // Adds what `call` returns or throws to the problems.
    bool succeeds(const std::function<Result<>()>& call);
    void end_refused() { end(false, "the configuration was refused: all is served as before"); }
    void end(bool done, std::string_view outcome);
    void say(bool done, std::string_view outcome);
    void start_next();

    Parts parts_;
    std::vector<Done> waiting_;
    std::vector<Done> answering_;  // by the reading under way
    bool running_ = false;
    bool stopping_ = false;
    Made made_;
    Counts counts_;
    std::optional<Last> last_;
    Step step_;  // that each loop takes
    Then then_ = nullptr;
    std::vector<Result<>> stepped_;  // by loop
    std::size_t awaited_ = 0;        // loops
    std::vector<std::weak_ptr<const Generation>> alive_;
    bool is_tidy_ = true;
    bool looking_ = false;  // at the files
    std::unique_ptr<Look> look_;
    core::WorkerPool pool_{1, 2};
};

}  // namespace tiderace::server
