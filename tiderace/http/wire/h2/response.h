// H2 response: a field block of a server to a status and fields (RFC 9113, section 8).
//
//   H2Headers::block -> HpackDecoder -> H2ResponseJudge -> take(name, value), and the verdict
//
// Refused, as malformed (8.1.1): no status or two, a status that is no number or 101, another
// pseudo-field, one after a field, upper case, fields that speak of a connection, characters that
// no field may hold, lengths that differ; in trailers, also every pseudo-field.
//
// Owner    What is given to `take` points into the arena and into constants.
// Thread   Any; a pure function of decoder state and block.
// Errors   compression_error ends the connection (COMPRESSION_ERROR). malformed is a stream error
//          (PROTOCOL_ERROR), too_large one of ours (CANCEL). What `take` got before is void.
// Limits   H2ResponseLimits.
// Memory   None but the arena: HpackDecoder::arena_bytes(list_bytes_max).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"

namespace tiderace::http::wire {

struct H2ResponseLimits {
    std::size_t list_bytes_max = 64_KiB;  // our SETTINGS_MAX_HEADER_LIST_SIZE
};

struct H2ResponseParse {
    enum class Status : std::uint8_t { complete, malformed, too_large, compression_error };

    Status status = Status::complete;
    std::uint16_t code = 0;  // 100 to 999; 0: trailers
    std::optional<std::uint64_t> content_length;

    bool interim() const { return code >= 100 && code < 200; }
};

enum class H2ResponsePart : std::uint8_t { head, trailers };

// The verdict on one block, field by field.
class H2ResponseJudge {
  public:
    explicit H2ResponseJudge(H2ResponsePart part) : part_(part) {}

    // True: it is a field of the answer. False: the status, or a fault.
    bool take(const HpackField& field);
    H2ResponseParse end(HpackDecoder::Status status) const;

  private:
    void take_status(ByteView value);
    void take_length(ByteView value);

    H2ResponsePart part_;
    bool malformed_ = false;
    bool fields_began_ = false;
    H2ResponseParse parse_;
};

// Reads the block to its end whatever is wrong with it.
template <typename Take>
H2ResponseParse parse_h2_response(HpackDecoder& decoder, ByteView block, std::span<char> arena,
                                  const H2ResponseLimits& limits, H2ResponsePart part,
                                  Take&& take) {
    HpackDecoder::Block fields = decoder.read(block, arena, limits.list_bytes_max);
    H2ResponseJudge judge(part);
    const HpackDecoder::Status status = fields.for_each([&](const HpackField& field) {
        if (judge.take(field)) take(field.name, field.value);
    });
    return judge.end(status);
}

}  // namespace tiderace::http::wire
