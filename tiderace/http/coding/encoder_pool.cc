#include "tiderace/http/coding/encoder_pool.h"

#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::http::coding {

namespace {

// The maximum memory of an encoder at this place of the pool.
std::size_t bytes_of(std::size_t place) {
    return encoder_bytes_max(static_cast<Purpose>(place % purposes));
}

}  // namespace

void EncoderPool::Loan::give_back() {
    if (encoder_ == nullptr) return;
    EncoderPool& pool = *pool_;
    --pool.loans_;
    pool.loan_bytes_ -= bytes_of(place_);
    auto& idle = pool.idle_[place_];
    if (idle.size() < pool.limits_.kept_max) idle.push_back(std::move(encoder_));
    encoder_.reset();
    pool_ = {};
}

void EncoderPool::Loan::count(std::size_t bytes) {
    pool_->bytes_made_[place_ / purposes] += bytes;
}

std::uint64_t EncoderPool::bytes_made(wire::ContentCoding coding) const {
    return bytes_made_[static_cast<std::size_t>(coding) - 1];
}

EncoderPool::Loan EncoderPool::borrow(wire::ContentCoding coding, Purpose purpose,
                                      std::optional<std::uint64_t> bytes) {
    TR_CHECK(coding != wire::ContentCoding::identity);
    Loan loan;
    const std::size_t place =
        (static_cast<std::size_t>(coding) - 1) * purposes + static_cast<std::size_t>(purpose);
    // The answer then goes out plain. Bytes are counted by the most that an encoder may take,
    // because it grows after it was lent.
    if (loans_ >= limits_.loans_max || loan_bytes_ + bytes_of(place) > limits_.loan_bytes_max) {
        return loan;
    }
    std::unique_ptr<ContentEncoder> encoder;
    if (auto& idle = idle_[place]; !idle.empty()) {
        encoder = std::move(idle.back());
        idle.pop_back();
    } else {
        encoder = make_encoder(coding, purpose);
        made_ += encoder != nullptr;
    }
    if (encoder == nullptr || !encoder->reset(bytes)) return loan;
    ++loans_;
    loan_bytes_ += bytes_of(place);
    loan.pool_ = core::Ref<EncoderPool>(this);
    loan.encoder_ = std::move(encoder);
    loan.place_ = place;
    return loan;
}

std::size_t EncoderPool::kept() const {
    std::size_t count = 0;
    for (const auto& idle : idle_) count += idle.size();
    return count;
}

}  // namespace tiderace::http::coding
