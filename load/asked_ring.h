// AskedRing: the due times of the requests under way on one connection, oldest first.
//
// Thread   Its connection's.
// Limits   As many as it was made for.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tiderace/base/units.h"

namespace tiderace::load {

class AskedRing {
  public:
    explicit AskedRing(std::size_t most) : intended_(most) {}

    std::size_t size() const { return size_; }
    std::size_t room() const { return intended_.size() - size_; }
    void push(Instant intended) {
        const std::size_t at = first_ + size_;
        intended_[at < intended_.size() ? at : at - intended_.size()] = intended;
        ++size_;
    }
    Instant pop() {
        const Instant intended = intended_[first_];
        first_ = first_ + 1 == intended_.size() ? 0 : first_ + 1;
        --size_;
        return intended;
    }
    // Returns how many there were.
    std::size_t clear() {
        first_ = 0;
        return std::exchange(size_, 0);
    }

  private:
    std::vector<Instant> intended_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace tiderace::load
