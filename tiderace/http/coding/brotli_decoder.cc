#include "tiderace/http/coding/content_decoder.h"

#if TIDERACE_HAVE_BROTLI
#include <brotli/decode.h>

#include <cstdlib>
#include <limits>
#endif

namespace tiderace::http::coding {

#if TIDERACE_HAVE_BROTLI
namespace {

// Brotli reports the size of nothing that it allocates, so each block begins with it.
class CountedMemory {
  public:
    static void* take(void* self, std::size_t bytes) {
        if (bytes > std::numeric_limits<std::size_t>::max() - prefix_bytes) return nullptr;
        auto* const block = static_cast<std::byte*>(std::malloc(prefix_bytes + bytes));
        if (block == nullptr) return nullptr;
        *reinterpret_cast<std::size_t*>(block) = bytes;
        static_cast<CountedMemory*>(self)->bytes_ += bytes;
        return block + prefix_bytes;
    }
    static void give_back(void* self, void* memory) {
        if (memory == nullptr) return;
        std::byte* const block = static_cast<std::byte*>(memory) - prefix_bytes;
        static_cast<CountedMemory*>(self)->bytes_ -= *reinterpret_cast<std::size_t*>(block);
        std::free(block);
    }
    std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t prefix_bytes = alignof(std::max_align_t);
    static_assert(prefix_bytes >= sizeof(std::size_t));

    std::size_t bytes_ = 0;
};

class BrotliDecoder final : public ContentDecoder {
  public:
    ~BrotliDecoder() override {
        if (state_ != nullptr) BrotliDecoderDestroyInstance(state_);
    }
    bool ready() const { return state_ != nullptr; }

    Step step(ByteView in, std::span<char> out) override {
        if (failed_) return {.failed = true};
        auto next_in = reinterpret_cast<const std::uint8_t*>(in.data());
        auto next_out = reinterpret_cast<std::uint8_t*>(out.data());
        std::size_t in_left = in.size();
        std::size_t out_left = out.size();
        const auto result = BrotliDecoderDecompressStream(state_, &in_left, &next_in, &out_left,
                                                          &next_out, nullptr);
        // Unlike gzip and zstd, a stream of Brotli ends once: bytes behind it are a fault.
        failed_ = result == BROTLI_DECODER_RESULT_ERROR ||
                  (result == BROTLI_DECODER_RESULT_SUCCESS && in_left > 0);
        return {in.size() - in_left, out.size() - out_left, failed_};
    }
    bool ended() const override { return BrotliDecoderIsFinished(state_) != 0; }
    std::size_t held_bytes() const override { return memory_.bytes(); }

  private:
    CountedMemory memory_;  // outlives the state
    BrotliDecoderState* state_ =
        BrotliDecoderCreateInstance(CountedMemory::take, CountedMemory::give_back, &memory_);
    bool failed_ = false;
};

}  // namespace

std::unique_ptr<ContentDecoder> make_brotli_decoder() {
    auto decoder = std::make_unique<BrotliDecoder>();
    if (!decoder->ready()) return nullptr;
    return decoder;
}
#else
std::unique_ptr<ContentDecoder> make_brotli_decoder() {
    return nullptr;
}
#endif

}  // namespace tiderace::http::coding
