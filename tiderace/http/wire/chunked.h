// Internal. Chunked: the transfer coding of bodies whose length is not known beforehand (RFC 9112,
// 7.1).
//
//   for (ChunkedDecoder::Step step = decoder.step(bytes);; step = decoder.step(bytes)) {
//       bytes.remove_prefix(step.used);
//       …data, trailer: use them and go on; need_more: keep `bytes`, come back with more; else end
//   }
//
//   size_start -> size -> [extensions] -> line_feed --size > 0--> data -> data_cr -> data_lf --+
//       ^                                     |                                                |
//       |                                     +--size 0--> trailers --empty line--> done       |
//       +--------------------------------------------------------------------------------------+
//
//   extensions: before_semicolon -> name_start -> name [-> value_start -> value or quoted] …
//   any -> refused
//
// Owner    The connection that reads the body; one decoder for each body.
// Thread   Any; a decoder belongs to one thread at a time.
// Errors   The peer's faults are a Refusal, the same however the bytes were split; after one, and
//          after done, every step gives the same again.
// Limits   ChunkLimits. The length of the body is counted by the caller.
// Memory   24 bytes, no buffer. Data and trailers are views into what was given.
// Keywords: chunked, trailers, Transfer-Encoding, chunk extensions
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/refusal.h"

namespace tiderace::http::wire {

struct ChunkLimits {
    std::uint32_t extension_bytes_max = 16_KiB;  // in one body, all chunks together; 400
    std::uint32_t trailer_bytes_max = 8_KiB;     // the whole trailer section; 431
};

class ChunkedDecoder {
  public:
    enum class Status : std::uint8_t {
        need_more,  // all is used but an unfinished trailer line, which must come again whole
        data,       // `data` is the next piece of the body, never empty
        trailer,    // `trailer` is one field of the trailer section
        done,       // the body ended; what was not used belongs to the next request
        refused     // `refusal` says why
    };

    struct Step {
        Status status = Status::need_more;
        Refusal refusal = Refusal::none;
        std::size_t used = 0;  // of the bytes given, also when data or trailer point into them
        ByteView data;
        // Never one that frames or routes (Content-Length, Transfer-Encoding, Host: bad_trailer).
        // Keep trailers apart from the head: they came after every decision that rests on it.
        Field trailer;
    };

    // Goes on up to the next piece of data, trailer, or end.
    Step step(ByteView bytes, const ChunkLimits& limits = {});
    // Bytes of the present chunk that have not arrived yet.
    std::uint64_t left_of_chunk() const { return state_ == State::data ? size_ : 0; }

  private:
    //   size_start -> size [before_semicolon, name_start … after_quoted] -> line_feed
    //       ^                                                              |   |
    //       '---- data_lf <- data_cr <- data <--- size above 0 ------------'   | 0
    //                                                   done <- trailers <-----'
    //   A character that cannot follow: refused, for good.
    enum class State : std::uint8_t {
        size_start,
        size,
        before_semicolon,
        name_start,
        name,
        after_name,
        value_start,
        value,
        quoted,
        quoted_pair,
        after_quoted,
        line_feed,
        data,
        data_cr,
        data_lf,
        trailers,
        done,
        refused
    };

    Refusal take(char c, std::uint32_t extension_bytes_max);
    Refusal take_size(char c);
    Refusal take_extension(char c);
    Refusal end_of_part(char c);
    Refusal end_of_line(char c);
    Refusal expect(char wanted, char c, State next);
    Refusal skip_ows_or(char c, bool fits, State next);
    Step step_data(ByteView bytes, std::size_t at);
    Step step_trailer(ByteView bytes, std::size_t at, std::uint32_t bytes_max);
    Step refuse(Refusal refusal, std::size_t used);

    std::uint64_t size_ = 0;  // of the chunk while its line is read, then what is left of it
    std::uint32_t extension_bytes_ = 0;
    std::uint32_t trailer_bytes_ = 0;
    State state_ = State::size_start;
    Refusal refusal_ = Refusal::none;
    std::uint8_t digits_ = 0;
};

inline constexpr std::size_t chunk_head_bytes_max = 18;  // 16 digits, CR LF

// "1f4\r\n" to `out`, which holds chunk_head_bytes_max; returns the bytes written. size > 0: the
// chunk of size 0 is the last one.
std::size_t format_chunk_head(std::uint64_t size, char* out);

inline constexpr ByteView chunk_end = "\r\n";        // after the data of each chunk
inline constexpr ByteView last_chunk = "0\r\n\r\n";  // without trailers

}  // namespace tiderace::http::wire
