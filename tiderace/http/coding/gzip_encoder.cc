#include "tiderace/http/coding/encoders.h"

#if TIDERACE_HAVE_ZLIB

#include <zlib.h>

#include <algorithm>
#include <array>

#include "tiderace/http/coding/encoder_memory.h"

namespace tiderace::http::coding {
namespace {

struct Setting {
    int level;
    int window_bits;
    int memory_level;
};

Setting setting_of(Purpose purpose) {
    switch (purpose) {
        case Purpose::answer:
            return {5, 15, 8};
        case Purpose::events:
            return {5, 12, 5};
        case Purpose::file:
            break;
    }
    return {9, 15, 9};
}

constexpr std::array flushes{Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};  // by ContentEncoder::Until

void* take(void* memory, unsigned count, unsigned bytes) {
    return static_cast<EncoderMemory*>(memory)->take(std::size_t{count} * bytes);
}

void give_back(void* memory, void* block) {
    static_cast<EncoderMemory*>(memory)->give_back(block);
}

class GzipEncoder final : public ContentEncoder {
  public:
    explicit GzipEncoder(Purpose purpose) : setting_(setting_of(purpose)) {
        stream_.zalloc = take;
        stream_.zfree = give_back;
        stream_.opaque = &memory_;
    }
    ~GzipEncoder() override {
        if (made_) deflateEnd(&stream_);
    }

    bool reset(std::optional<std::uint64_t>) override {
        if (made_) return deflateReset(&stream_) == Z_OK;
        constexpr int with_gzip_header = 16;
        made_ = deflateInit2(&stream_, setting_.level, Z_DEFLATED,
                             setting_.window_bits + with_gzip_header, setting_.memory_level,
                             Z_DEFAULT_STRATEGY) == Z_OK;
        return made_;
    }

    Step step(ByteView in, std::span<char> out, Until until) override {
        constexpr std::size_t at_once_max = 1U << 30;  // zlib counts in 32 bits
        const bool all = in.size() <= at_once_max;
        const std::size_t given = std::min(in.size(), at_once_max);
        const std::size_t room = std::min(out.size(), at_once_max);
        // An empty view may have no address, which zlib takes for a fault.
        static char nothing = 0;
        stream_.next_in =
            reinterpret_cast<Bytef*>(given > 0 ? const_cast<char*>(in.data()) : &nothing);
        stream_.avail_in = static_cast<uInt>(given);
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(room);
        // A piece that is cut must not be flushed or finished before its last part.
        const int result =
            deflate(&stream_, all ? flushes[static_cast<std::size_t>(until)] : Z_NO_FLUSH);
        Step step{.used = given - stream_.avail_in, .made = room - stream_.avail_out};
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
            step.failed = true;
        } else if (until == Until::finished) {
            step.done = result == Z_STREAM_END;
        } else {
            step.done = step.used == in.size() && (until == Until::taken || stream_.avail_out != 0);
        }
        return step;
    }

    std::size_t memory_bytes() const override { return sizeof *this + memory_.bytes(); }

  private:
    EncoderMemory memory_;
    Setting setting_;
    z_stream stream_{};
    bool made_ = false;
};

}  // namespace

std::unique_ptr<ContentEncoder> make_gzip_encoder(Purpose purpose) {
    return std::make_unique<GzipEncoder>(purpose);
}

ByteView zlib_release() {
    return zlibVersion();
}

}  // namespace tiderace::http::coding

#else

namespace tiderace::http::coding {

std::unique_ptr<ContentEncoder> make_gzip_encoder(Purpose) {
    return nullptr;
}

ByteView zlib_release() {
    return {};
}

}  // namespace tiderace::http::coding

#endif
