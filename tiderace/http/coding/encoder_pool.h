// EncoderPool: the encoders of one loop. A body borrows one while it compresses, and returns it
// for the next.
//
// Owner    The program holds a Ref, one pool per loop; each loan holds another.
// Thread   The loop's.
// Errors   An empty loan: too many are out, the coding is not built in, or there is no memory. Send
//          the plain bytes then.
// Limits   EncoderPoolLimits.
// Memory   loan_bytes_max, and kept_max × 6 encoders, each at most encoder_bytes_max(purpose).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tiderace/base/loop_count.h"
#include "tiderace/core/shared.h"
#include "tiderace/http/coding/content_encoder.h"

namespace tiderace::http::coding {

struct EncoderPoolLimits {
    std::size_t loans_max = 128;  // answers being compressed at one time; more go out plain
    std::size_t kept_max = 2;     // idle ones of each coding and purpose
    // A loan counts as encoder_bytes_max of its purpose: 51 answers, or 102 streams of events.
    std::size_t loan_bytes_max = 64_MiB;
};

class EncoderPool final : public core::Shared {
  public:
    class Loan {
      public:
        Loan() = default;
        Loan(Loan&&) noexcept = default;
        Loan& operator=(Loan&& other) noexcept {
            give_back();
            pool_ = std::move(other.pool_);
            encoder_ = std::move(other.encoder_);
            place_ = other.place_;
            return *this;
        }
        ~Loan() { give_back(); }

        explicit operator bool() const { return encoder_ != nullptr; }
        ContentEncoder* operator->() const { return encoder_.get(); }
        ContentEncoder& operator*() const { return *encoder_; }
        void give_back();
        // Adds compressed bytes to bytes_made().
        void count(std::size_t bytes);

      private:
        friend class EncoderPool;
        core::Ref<EncoderPool> pool_;
        std::unique_ptr<ContentEncoder> encoder_;
        std::size_t place_ = 0;
    };

    explicit EncoderPool(const EncoderPoolLimits& limits = {}) : limits_(limits) {}

    // Reset and ready for a stream of `bytes`, where that is known.
    Loan borrow(wire::ContentCoding coding, Purpose purpose, std::optional<std::uint64_t> bytes);

    std::size_t loans() const { return loans_; }
    std::size_t loan_bytes() const { return loan_bytes_; }
    std::size_t kept() const;
    // How many were made in all; the others were used again.
    std::uint64_t made() const { return made_; }
    // Compressed bytes; any thread may ask.
    std::uint64_t bytes_made(wire::ContentCoding coding) const;

  private:
    static constexpr std::size_t codings = 3;

    EncoderPoolLimits limits_;
    std::array<std::vector<std::unique_ptr<ContentEncoder>>, codings * purposes> idle_;
    std::size_t loans_ = 0;
    std::size_t loan_bytes_ = 0;
    std::uint64_t made_ = 0;
    std::array<LoopCount, codings> bytes_made_{};
};

}  // namespace tiderace::http::coding
