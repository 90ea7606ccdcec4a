#include "tiderace/http/coding/encoders.h"

#include <array>

#if TIDERACE_HAVE_ZSTD

#include <zstd.h>

namespace tiderace::http::coding {
namespace {

struct Setting {
    int level;
    int window_bits;
    int table_bits = 0;  // 0: as the level has them
};

// Level 18 takes a third of a second for a megabyte.
constexpr std::uint64_t thorough_bytes_max = 1_MiB;

Setting setting_of(Purpose purpose, std::optional<std::uint64_t> bytes) {
    switch (purpose) {
        case Purpose::answer:
            return {3, 17, 15};
        case Purpose::events:
            return {1, 12};
        case Purpose::file:
            break;
    }
    // Browsers refuse windows above 8 MiB (RFC 9659); the bytes of the window are also held here.
    if (bytes && *bytes <= thorough_bytes_max) return {18, 19};
    return {12, 20};
}

// By ContentEncoder::Until.
constexpr std::array directives{ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};

class ZstdEncoder final : public ContentEncoder {
  public:
    ZstdEncoder(Purpose purpose, ZSTD_CCtx* context) : purpose_(purpose), context_(context) {}
    ~ZstdEncoder() override { ZSTD_freeCCtx(context_); }

    bool reset(std::optional<std::uint64_t> bytes) override {
        const Setting setting = setting_of(purpose_, bytes);
        const auto set = [&](ZSTD_cParameter parameter, int value) {
            return !ZSTD_isError(ZSTD_CCtx_setParameter(context_, parameter, value));
        };
        // A promised length would make the context as large as its level wants, so we promise one
        // only for files, whose length is known.
        return !ZSTD_isError(ZSTD_CCtx_reset(context_, ZSTD_reset_session_and_parameters)) &&
               set(ZSTD_c_compressionLevel, setting.level) &&
               set(ZSTD_c_windowLog, setting.window_bits) &&
               set(ZSTD_c_hashLog, setting.table_bits) &&
               set(ZSTD_c_chainLog, setting.table_bits) &&
               (purpose_ != Purpose::file || !bytes ||
                !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(context_, *bytes)));
    }

    Step step(ByteView in, std::span<char> out, Until until) override {
        ZSTD_inBuffer from{in.data(), in.size(), 0};
        ZSTD_outBuffer to{out.data(), out.size(), 0};
        const std::size_t left =
            ZSTD_compressStream2(context_, &to, &from, directives[static_cast<std::size_t>(until)]);
        Step step{.used = from.pos, .made = to.pos, .failed = ZSTD_isError(left) != 0};
        step.done = !step.failed && step.used == in.size() && (until == Until::taken || left == 0);
        return step;
    }

    std::size_t memory_bytes() const override { return sizeof *this + ZSTD_sizeof_CCtx(context_); }

  private:
    Purpose purpose_;
    ZSTD_CCtx* context_;
};

}  // namespace

std::unique_ptr<ContentEncoder> make_zstd_encoder(Purpose purpose) {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    return context != nullptr ? std::make_unique<ZstdEncoder>(purpose, context) : nullptr;
}

ByteView zstd_release() {
    return ZSTD_versionString();
}

}  // namespace tiderace::http::coding

#else

namespace tiderace::http::coding {

std::unique_ptr<ContentEncoder> make_zstd_encoder(Purpose) {
    return nullptr;
}

ByteView zstd_release() {
    return {};
}

}  // namespace tiderace::http::coding

#endif
