#include "tiderace/testing/content_decoder.h"

#if TIDERACE_HAVE_ZLIB
#include <zlib.h>
#endif
#if TIDERACE_HAVE_BROTLI
#include <brotli/decode.h>
#endif
#if TIDERACE_HAVE_ZSTD
#include <zstd.h>
#endif

namespace tiderace::testing {
namespace {

constexpr std::size_t room_bytes = 64 * 1024;

#if TIDERACE_HAVE_ZLIB
class GzipDecoder final : public ContentDecoder {
  public:
    // 16: a gzip head, and no other.
    GzipDecoder() { inflateInit2(&stream_, 15 + 16); }
    ~GzipDecoder() override { inflateEnd(&stream_); }

    std::string decode(ByteView bytes) override {
        std::string text;
        std::string room(room_bytes, '\0');
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
        stream_.avail_in = static_cast<uInt>(bytes.size());
        while (!broken_ && !ended_) {
            stream_.next_out = reinterpret_cast<Bytef*>(room.data());
            stream_.avail_out = static_cast<uInt>(room.size());
            const int result = inflate(&stream_, Z_SYNC_FLUSH);
            ended_ = result == Z_STREAM_END;
            // Z_BUF_ERROR means that no byte moved, which is not a fault of the input.
            broken_ = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
            text.append(room, 0, room.size() - stream_.avail_out);
            // Room is left: all that the bytes so far give is out.
            if (stream_.avail_out != 0) break;
        }
        // Bytes behind the end belong to nothing.
        broken_ = broken_ || stream_.avail_in != 0;
        return text;
    }
    bool ended() const override { return ended_; }
    bool broken() const override { return broken_; }

  private:
    z_stream stream_{};
    bool ended_ = false;
    bool broken_ = false;
};
#endif

#if TIDERACE_HAVE_BROTLI
class BrotliDecoder final : public ContentDecoder {
  public:
    ~BrotliDecoder() override { BrotliDecoderDestroyInstance(state_); }

    std::string decode(ByteView bytes) override {
        std::string text;
        std::string room(room_bytes, '\0');
        auto next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
        std::size_t in_left = bytes.size();
        for (;;) {
            auto next_out = reinterpret_cast<std::uint8_t*>(room.data());
            std::size_t out_left = room.size();
            const auto result = BrotliDecoderDecompressStream(state_, &in_left, &next_in, &out_left,
                                                              &next_out, nullptr);
            text.append(room, 0, room.size() - out_left);
            broken_ = broken_ || result == BROTLI_DECODER_RESULT_ERROR;
            if (result != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) break;
        }
        broken_ = broken_ || in_left != 0;
        return text;
    }
    bool ended() const override { return BrotliDecoderIsFinished(state_); }
    bool broken() const override { return broken_; }

  private:
    BrotliDecoderState* state_ = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
    bool broken_ = false;
};
#endif

#if TIDERACE_HAVE_ZSTD
class ZstdDecoder final : public ContentDecoder {
  public:
    ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

    std::string decode(ByteView bytes) override {
        std::string text;
        std::string room(room_bytes, '\0');
        if (bytes.empty()) return text;
        ZSTD_inBuffer from{bytes.data(), bytes.size(), 0};
        for (;;) {
            ZSTD_outBuffer to{room.data(), room.size(), 0};
            const std::size_t left = ZSTD_decompressStream(context_, &to, &from);
            text.append(room, 0, to.pos);
            broken_ = broken_ || ZSTD_isError(left);
            ended_ = left == 0;
            // Asked again after the end it would speak of the next frame.
            const bool more = from.pos < from.size || (to.pos == to.size && !ended_);
            if (broken_ || !more) break;
        }
        return text;
    }
    bool ended() const override { return ended_; }
    bool broken() const override { return broken_; }

  private:
    ZSTD_DCtx* context_ = ZSTD_createDCtx();
    bool ended_ = false;
    bool broken_ = false;
};
#endif

}  // namespace

std::unique_ptr<ContentDecoder> make_decoder(http::wire::ContentCoding coding) {
    switch (coding) {
#if TIDERACE_HAVE_ZLIB
        case http::wire::ContentCoding::gzip:
            return std::make_unique<GzipDecoder>();
#endif
#if TIDERACE_HAVE_BROTLI
        case http::wire::ContentCoding::br:
            return std::make_unique<BrotliDecoder>();
#endif
#if TIDERACE_HAVE_ZSTD
        case http::wire::ContentCoding::zstd:
            return std::make_unique<ZstdDecoder>();
#endif
        default:
            return nullptr;
    }
}

std::string decode_all(http::wire::ContentCoding coding, ByteView bytes) {
    const auto decoder = make_decoder(coding);
    if (decoder == nullptr) return "(not built in)";
    std::string text = decoder->decode(bytes);
    return decoder->ended() && !decoder->broken() ? text : "(broken)";
}

}  // namespace tiderace::testing
