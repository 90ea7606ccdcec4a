// Reloader: takes another reading of the configuration while the one before is served.
//
//   request() -> a thread: read, check, open   -> each loop: Worker::prepare()
//                     |                                |
//                     '---- anything is wrong: all stays as it was, and every problem is said
//                                                      |
//                                                      '-> each loop: Worker::publish()
//
// One reading at a time. Requests that come meanwhile are answered by the next one.
//
// Owner    Assembly; it ends before the workers.
// Thread   The first loop's. What is not, says so.
// Errors   Problems as a text for people, a line each, to whoever asked and to the log.
// Keywords: SIGHUP, graceful reload
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/live/generation.h"
#include "server/worker.h"
#include "tiderace/base/result.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/worker_pool.h"

namespace tiderace::server {

// One reading of the configuration.
struct Reading {
    std::optional<Wanted> wanted;  // nullopt: it has errors
    std::string problems;          // and warnings, as lines
};

class Reloader final {
  public:
    using Done = unique_function<void(bool done, const std::string& problems)>;
    struct Parts {
        std::function<Reading()> read;  // on a thread of its own
        // The same. All that is wrong, as lines.
        using Next = std::expected<std::shared_ptr<const Generation>, std::string>;
        std::function<Next(Wanted, const Generation& before)> make;
        std::vector<Worker*> workers;
        std::shared_ptr<const Generation> now;
    };

    explicit Reloader(Parts parts);
    // Waits for a reading that is under way.
    ~Reloader();

    void request(Done done = {});
    // From now on nothing is taken.
    void stop() { stopping_ = true; }
    // What new requests are served by.
    const Generation& now() const { return *parts_.now; }
    // Those that still have requests, and this one.
    std::size_t generations_alive();

  private:
    // What a thread has made of the configuration.
    struct Made {
        std::shared_ptr<const Generation> generation;  // nullptr: refused
        std::string problems;
    };

    core::EventLoop& loop() { return parts_.workers.front()->loop(); }
    void start();
    Made read_and_make() const;
    void prepare_all();
    void prepared(const Result<>& one);
    void finish_preparing();
    void publish_all();
    void end(bool done);
    void say(bool done);

    Parts parts_;
    std::vector<Done> waiting_;
    std::vector<Done> answering_;  // by the reading under way
    bool running_ = false;
    bool stopping_ = false;
    Made made_;
    std::size_t awaited_ = 0;  // loops
    std::vector<std::weak_ptr<const Generation>> alive_;
    core::WorkerPool pool_{1, 2};
};

}  // namespace tiderace::server
