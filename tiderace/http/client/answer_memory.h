// Internal. AnswerMemory: one bound for what the answers of a client take together while they are
// received: bodies that are read whole, and decoders. AnswerShare: one answer's part of it.
//
// Each answer has bounds of its own, and the connections are counted, but servers that answer many
// requests at once with the most that is allowed would take the product.
//
// Owner    The memory: the client and the shares. A share: the task that reads, or its stream.
// Thread   The loop's.
// Limits   bytes_max. A decoder is counted once it has allocated, so it may pass the bound by its
//          window before its answer fails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tiderace/core/shared.h"

namespace tiderace::http {

class AnswerMemory final : public core::Shared {
  public:
    explicit AnswerMemory(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    std::size_t bytes_max() const { return bytes_max_; }
    // Now, and at most so far.
    std::size_t taken() const { return taken_; }
    std::size_t taken_most() const { return taken_most_; }
    // Answers that failed for lack of it.
    std::uint64_t refused() const { return refused_; }

  private:
    friend class AnswerShare;

    [[nodiscard]] bool take(std::size_t bytes) {
        if (bytes > bytes_max_ - taken_) {
            ++refused_;
            return false;
        }
        taken_ += bytes;
        taken_most_ = std::max(taken_most_, taken_);
        return true;
    }

    std::size_t bytes_max_;
    std::size_t taken_ = 0;
    std::size_t taken_most_ = 0;
    std::uint64_t refused_ = 0;
};

class AnswerShare final {
  public:
    explicit AnswerShare(core::Ref<AnswerMemory> memory) : memory_(std::move(memory)) {}
    ~AnswerShare() { memory_->taken_ -= bytes_; }
    AnswerShare(const AnswerShare&) = delete;
    AnswerShare& operator=(const AnswerShare&) = delete;

    std::size_t bytes() const { return bytes_; }
    // False: there is not so much left; the share stays as it was, and its answer fails.
    [[nodiscard]] bool resize(std::size_t bytes) {
        if (bytes > bytes_ && !memory_->take(bytes - bytes_)) return false;
        if (bytes < bytes_) memory_->taken_ -= bytes_ - bytes;
        bytes_ = bytes;
        return true;
    }

  private:
    core::Ref<AnswerMemory> memory_;
    std::size_t bytes_ = 0;
};

}  // namespace tiderace::http
