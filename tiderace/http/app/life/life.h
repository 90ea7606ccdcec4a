// Internal. Life: what all loops of an App know of it while it serves: whether it drains; how that
// begins. Each App has one as a state, which stays where it is when the App is moved or mounted:
//
//   app.background([](const Life& life, Mails& mails) -> Task<> {
//       while (!life.draining()) co_await mails.send_next();
//   });
//
//   idle --attach()--> serving --drain(), begin()--> draining --detach()--> idle
//
// Owner    The App.
// Thread   Any.
// Keywords: graceful shutdown, drain, readiness, health check
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "tiderace/base/language.h"
#include "tiderace/log/level.h"

namespace tiderace::http::app_parts {

class Life final {
  public:
    bool draining() const {
        return outer_ != nullptr ? outer_->draining() : draining_.load(std::memory_order_relaxed);
    }
    // The App is mounted: from now on this one reports that App's life. Before anything serves.
    void join(std::shared_ptr<Life> outer) { outer_ = std::move(outer); }
    // Once; of an App that does not serve yet it is remembered.
    void drain() const;

    // The server's. `stop` begins to drain, on any thread.
    void attach(std::function<void()> stop);
    // A signal began it.
    void begin();
    void detach();

    // The level of the server's log, on all loops.
    void set_log_level(log::Level level) {
        outer_ != nullptr ? outer_->set_log_level(level) : log_level_.store(level);
    }
    const std::atomic<log::Level>& log_level() const { return log_level_; }

    // True for one loop, until it gives that back: it runs what runs once in a process.
    bool claim_first_loop() { return !first_loop_.exchange(true); }
    void release_first_loop() { first_loop_ = false; }

  private:
    std::shared_ptr<Life> outer_;  // nullptr: not mounted
    mutable std::mutex lock_;      // stop_ is called and replaced under it
    std::function<void()> stop_;
    mutable std::atomic<bool> draining_ = false;
    std::atomic<bool> first_loop_ = false;
    std::atomic<log::Level> log_level_ = log::Level::info;
};

}  // namespace tiderace::http::app_parts

namespace tiderace::http {
using app_parts::Life;
}
