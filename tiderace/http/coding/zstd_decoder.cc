#include "tiderace/http/coding/content_decoder.h"

#if TIDERACE_HAVE_ZSTD
#include <zstd.h>
#endif

namespace tiderace::http::coding {

#if TIDERACE_HAVE_ZSTD
namespace {

class ZstdDecoder final : public ContentDecoder {
  public:
    ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }
    bool begin() {
        constexpr int window_log_max = 23;  // RFC 9659: 8 MiB for the content coding
        return context_ != nullptr &&
               !ZSTD_isError(ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, window_log_max));
    }

    // Frames may follow one another (RFC 8878, 3).
    Step step(ByteView in, std::span<char> out) override {
        if (failed_) return {.failed = true};
        if (in.empty() && ended_) return {};  // a call after the end begins the next frame
        ZSTD_inBuffer from{in.data(), in.size(), 0};
        ZSTD_outBuffer to{out.data(), out.size(), 0};
        const std::size_t left = ZSTD_decompressStream(context_, &to, &from);
        failed_ = ZSTD_isError(left) != 0;
        ended_ = left == 0;
        return {from.pos, to.pos, failed_};
    }
    bool ended() const override { return ended_; }
    std::size_t held_bytes() const override { return ZSTD_sizeof_DCtx(context_); }

  private:
    ZSTD_DCtx* context_ = ZSTD_createDCtx();
    bool ended_ = false;
    bool failed_ = false;
};

}  // namespace

std::unique_ptr<ContentDecoder> make_zstd_decoder() {
    auto decoder = std::make_unique<ZstdDecoder>();
    if (!decoder->begin()) return nullptr;
    return decoder;
}
#else
std::unique_ptr<ContentDecoder> make_zstd_decoder() {
    return nullptr;
}
#endif

}  // namespace tiderace::http::coding
