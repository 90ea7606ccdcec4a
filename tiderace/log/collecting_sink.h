// CollectingSink: keeps lines in memory, for tests of programs that log; and an example of a sink.
//
// Owner    The stream's, as any sink; what it collected lives on in the shared Lines.
// Thread   Lines: any.
// Memory   All it was given: not for production.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/log/sink.h"

namespace tiderace::log {

class CollectingSink final : public Sink {
  public:
    class Lines {
      public:
        std::vector<std::string> all() const {
            const std::lock_guard lock(mutex_);
            return lines_;
        }
        // Blocks until there are `count`.
        std::vector<std::string> wait_for(std::size_t count) const {
            std::unique_lock lock(mutex_);
            grown_.wait(lock, [&] { return lines_.size() >= count; });
            return lines_;
        }
        void add(std::string line) {
            const std::lock_guard lock(mutex_);
            lines_.push_back(std::move(line));
            grown_.notify_all();
        }

      private:
        mutable std::mutex mutex_;
        mutable std::condition_variable grown_;
        std::vector<std::string> lines_;  // without their \n
    };

    explicit CollectingSink(std::shared_ptr<Lines> lines) : lines_(std::move(lines)) {}

    Written write(ByteView bytes) override {
        for (ByteView rest = bytes; !rest.empty();) {
            const std::size_t length = rest.find('\n');
            lines_->add(std::string(rest.substr(0, length)));
            rest.remove_prefix(length + 1);
        }
        return {bytes.size(), std::nullopt};
    }

  private:
    std::shared_ptr<Lines> lines_;
};

}  // namespace tiderace::log
