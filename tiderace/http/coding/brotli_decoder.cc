#include "tiderace/http/coding/content_decoder.h"

#if TIDERACE_HAVE_BROTLI
#include <brotli/decode.h>
#endif

namespace tiderace::http::coding {

#if TIDERACE_HAVE_BROTLI
namespace {

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

  private:
    BrotliDecoderState* state_ = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
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
