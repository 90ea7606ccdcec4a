// ContentEncoder: bytes in, bytes of one content coding out; gzip, br and zstd look alike.
//
//   encoder->reset(bytes);                              a new stream
//   step(piece, room, Until::taken)    …                as long as there is input
//   step({}, room, Until::flushed)     …                all that was given can be decoded by now
//   step({}, room, Until::finished)    …                the end; each again until `done`
//
// Owner    Its creator; EncoderPool keeps idle ones.
// Thread   One at a time.
// Errors   Data cannot be wrong. A lack of memory is `failed`; after it only reset() helps.
// Limits   By Purpose: window and level are chosen so that an encoder holds at most
//          encoder_bytes_max(purpose); a file's length must be given.
// Memory   memory_bytes(); kept over reset(), so that the next stream allocates nothing.
// Keywords: gzip, brotli, zstd, compression, Content-Encoding
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::http::coding {

enum class Purpose : std::uint8_t {
    answer,  // on the loop, while the client waits: fast
    events,  // a stream that stays open and is flushed often: small
    file,    // in the background, once for many answers: thorough
};
inline constexpr std::size_t purposes = 3;

constexpr std::size_t encoder_bytes_max(Purpose purpose) {
    return purpose == Purpose::answer ? 1280_KiB : purpose == Purpose::events ? 640_KiB : 16_MiB;
}

class ContentEncoder {
  public:
    // How far a step is to go; `done` reports that it got there.
    enum class Until : std::uint8_t { taken, flushed, finished };
    struct Step {
        std::size_t used = 0;
        std::size_t made = 0;
        bool done = false;
        bool failed = false;
    };

    virtual ~ContentEncoder() = default;
    // Begins a new stream, whatever became of the one before. `bytes`: its length, if known. False:
    // there is no memory for it.
    virtual bool reset(std::optional<std::uint64_t> bytes) = 0;
    // `out` is not empty. Once it was called with flushed or finished, again with the same until it
    // is done.
    virtual Step step(ByteView in, std::span<char> out, Until until) = 0;
    virtual std::size_t memory_bytes() const = 0;
};

// The codings whose libraries were there when this was built.
wire::AvailableCodings built_in_codings();

// nullptr: not built in, or no memory. Not for identity.
std::unique_ptr<ContentEncoder> make_encoder(wire::ContentCoding coding, Purpose purpose);

// Library, version and levels: two programs with the same recipe make the same bytes of the same
// file. "" for what is not built in.
ByteView recipe_of(wire::ContentCoding coding);

// The coding's name and a digest of its recipe, "gzip-3fa1b20c": what sets an entity tag apart.
ByteView tag_suffix_of(wire::ContentCoding coding);

}  // namespace tiderace::http::coding
