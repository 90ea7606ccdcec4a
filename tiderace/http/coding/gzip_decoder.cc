#include "tiderace/http/coding/content_decoder.h"

#if TIDERACE_HAVE_ZLIB
#include <zlib.h>
#endif

namespace tiderace::http::coding {

#if TIDERACE_HAVE_ZLIB
namespace {

class GzipDecoder final : public ContentDecoder {
  public:
    ~GzipDecoder() override {
        if (ready_) inflateEnd(&stream_);
    }
    bool begin() {
        // zlib: the largest window, and 16 for gzip without zlib's own format.
        constexpr int gzip_alone = 15 + 16;
        ready_ = inflateInit2(&stream_, gzip_alone) == Z_OK;
        return ready_;
    }

    Step step(ByteView in, std::span<char> out) override {
        if (failed_) return {.failed = true};
        if (in.empty() && ended_) return {};
        // Members may follow one another (RFC 1952, 2.2).
        if (ended_ && inflateReset(&stream_) != Z_OK) return {.failed = true};
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
        stream_.avail_in = static_cast<uInt>(in.size());
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out.size());
        const int result = inflate(&stream_, Z_SYNC_FLUSH);
        ended_ = result == Z_STREAM_END;
        // Z_BUF_ERROR means only that input or room is lacking.
        failed_ = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
        return {in.size() - stream_.avail_in, out.size() - stream_.avail_out, failed_};
    }
    bool ended() const override { return ended_; }
    // The window of 32 KiB, and zlib's state and tables (zconf.h: "about 7 kilobytes").
    std::size_t held_bytes() const override { return 40_KiB; }

  private:
    z_stream stream_{};
    bool ready_ = false;
    bool ended_ = false;
    bool failed_ = false;
};

}  // namespace

std::unique_ptr<ContentDecoder> make_gzip_decoder() {
    auto decoder = std::make_unique<GzipDecoder>();
    if (!decoder->begin()) return nullptr;
    return decoder;
}
#else
std::unique_ptr<ContentDecoder> make_gzip_decoder() {
    return nullptr;
}
#endif

}  // namespace tiderace::http::coding
