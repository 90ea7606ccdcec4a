#include "tiderace/http/coding/encoders.h"

#if TIDERACE_HAVE_BROTLI

#include <brotli/encode.h>

#include <algorithm>
#include <array>
#include <string>

#include "tiderace/http/coding/encoder_memory.h"

namespace tiderace::http::coding {
namespace {

struct Setting {
    unsigned quality;
    unsigned window_bits;
};

// Quality 11 takes a second for a megabyte, quality 10 half of that and quality 9 40 MB of memory.
constexpr std::uint64_t most_thorough_bytes_max = 256_KiB;
constexpr std::uint64_t thorough_bytes_max = 1_MiB;

Setting setting_of(Purpose purpose, std::optional<std::uint64_t> bytes) {
    switch (purpose) {
        case Purpose::answer:
            return {3, 16};
        case Purpose::events:
            return {2, 12};
        case Purpose::file:
            break;
    }
    if (bytes && *bytes <= most_thorough_bytes_max) return {11, 17};
    if (bytes && *bytes <= thorough_bytes_max) return {10, 18};
    return {7, 19};
}

// By ContentEncoder::Until.
constexpr std::array operations{BROTLI_OPERATION_PROCESS, BROTLI_OPERATION_FLUSH,
                                BROTLI_OPERATION_FINISH};

void* take(void* memory, std::size_t bytes) {
    return static_cast<EncoderMemory*>(memory)->take(bytes);
}

void give_back(void* memory, void* block) {
    static_cast<EncoderMemory*>(memory)->give_back(block);
}

class BrotliEncoder final : public ContentEncoder {
  public:
    explicit BrotliEncoder(Purpose purpose) : purpose_(purpose) {}
    ~BrotliEncoder() override { BrotliEncoderDestroyInstance(state_); }

    // The library cannot restart a state, so a new one is made; memory_ hands the old memory out
    // again.
    bool reset(std::optional<std::uint64_t> bytes) override {
        BrotliEncoderDestroyInstance(state_);
        state_ = BrotliEncoderCreateInstance(take, give_back, &memory_);
        if (state_ == nullptr) return false;
        const Setting setting = setting_of(purpose_, bytes);
        // The parameter has 32 bits, and 1 GiB is as good a hint as any larger size.
        constexpr std::uint64_t hint_max = 1U << 30;
        return BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY, setting.quality) &&
               BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN, setting.window_bits) &&
               BrotliEncoderSetParameter(
                   state_, BROTLI_PARAM_SIZE_HINT,
                   static_cast<std::uint32_t>(std::min(bytes.value_or(0), hint_max)));
    }

    Step step(ByteView in, std::span<char> out, Until until) override {
        auto next_in = reinterpret_cast<const std::uint8_t*>(in.data());
        auto next_out = reinterpret_cast<std::uint8_t*>(out.data());
        std::size_t in_left = in.size();
        std::size_t out_left = out.size();
        const bool good =
            BrotliEncoderCompressStream(state_, operations[static_cast<std::size_t>(until)],
                                        &in_left, &next_in, &out_left, &next_out, nullptr);
        Step step{.used = in.size() - in_left, .made = out.size() - out_left, .failed = !good};
        if (!good) return step;
        if (until == Until::finished) {
            step.done = BrotliEncoderIsFinished(state_);
        } else {
            step.done =
                in_left == 0 && (until == Until::taken || !BrotliEncoderHasMoreOutput(state_));
        }
        return step;
    }

    std::size_t memory_bytes() const override { return sizeof *this + memory_.bytes(); }

  private:
    EncoderMemory memory_;
    Purpose purpose_;
    BrotliEncoderState* state_ = nullptr;
};

}  // namespace

std::unique_ptr<ContentEncoder> make_brotli_encoder(Purpose purpose) {
    return std::make_unique<BrotliEncoder>(purpose);
}

ByteView brotli_release() {
    static const std::string version = [] {
        const std::uint32_t packed = BrotliEncoderVersion();
        return std::to_string(packed >> 24) + "." + std::to_string((packed >> 12) & 0xFFF) + "." +
               std::to_string(packed & 0xFFF);
    }();
    return version;
}

}  // namespace tiderace::http::coding

#else

namespace tiderace::http::coding {

std::unique_ptr<ContentEncoder> make_brotli_encoder(Purpose) {
    return nullptr;
}

ByteView brotli_release() {
    return {};
}

}  // namespace tiderace::http::coding

#endif
