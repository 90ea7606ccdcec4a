// Internal. H2 request: a field block to the same RequestHead that HTTP/1 fills (RFC 9113, section
// 8).
//
//   H2Headers::block -> HpackDecoder -> parse_h2_request -> RequestHead, and the verdict on it
//
// As strict as HTTP/1 about characters, hosts and targets, and about all that section 8 calls
// malformed: order, number and names of pseudo fields, upper case, fields that speak of a
// connection, `te` other than trailers, spaces round values, an authority that is not Host's.
//
// The head looks as if the request had come in HTTP/1.1: ":authority" is target_authority(), and
// Host as well where the client sent none; crumbs of a cookie are one field.
//
// Owner    The views of the head point into the arena and into constants.
// Thread   Any; a pure function of decoder state and block.
// Errors   compression_error ends the connection (COMPRESSION_ERROR). refused is a stream error
//          (PROTOCOL_ERROR), or its status_of() as an answer: 431 and the like are no malformed
//          requests and should be answered.
// Limits   H2RequestLimits, and RequestHead::fields_capacity.
// Memory   None but the arena: h2_arena_bytes().
// Keywords: pseudo-headers, :authority, :path, 431, 414
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"
#include "tiderace/http/wire/host.h"
#include "tiderace/http/wire/refusal.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http::wire {

struct H2RequestLimits {
    std::size_t list_bytes_max =
        HeadLimits{}.head_bytes_max;  // our SETTINGS_MAX_HEADER_LIST_SIZE; 431
    std::size_t target_bytes_max = HeadLimits{}.request_line_bytes_max;  // ":path"; 414
    std::size_t fields_max = HeadLimits{}.fields_max;  // cookie crumbs count as one; 431
    bool extended_connect = false;  // our SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441)
};

inline constexpr std::size_t h2_crumbs_max = 256;  // cookie fields in one request; 431

struct H2RequestParse {
    enum class Status : std::uint8_t { complete, refused, compression_error };

    Status status = Status::complete;
    Refusal refusal = Refusal::none;  // unless complete or compression_error
    bool expect_continue = false;
    std::optional<std::uint64_t> content_length;
    ByteView scheme;             // ":scheme"; "" with an ordinary CONNECT
    ByteView protocol;           // ":protocol" of an extended CONNECT: "websocket"
    std::size_t arena_used = 0;  // bytes from its start that the head's views need

    bool malformed() const;  // refused for a reason of RFC 9113, 8.1.1: PROTOCOL_ERROR
};

// How large an arena must be for these limits.
std::size_t h2_arena_bytes(const H2RequestLimits& limits, const HpackDecoder& decoder);

// Reads the block to its end whatever is wrong with it. With an extended CONNECT the method is
// CONNECT and the target is ":path", in origin form; `protocol` tells it from an ordinary one.
// `hosts` only saves time.
H2RequestParse parse_h2_request(HpackDecoder& decoder, ByteView block, std::span<char> arena,
                                const H2RequestLimits& limits, RequestHead& head,
                                HostMemo* hosts = nullptr);

// A second block on the same stream: fields only (RFC 9113, 8.1). head.fields() are the trailers;
// the rest of `head` says nothing.
H2RequestParse parse_h2_trailers(HpackDecoder& decoder, ByteView block, std::span<char> arena,
                                 const H2RequestLimits& limits, RequestHead& head);

// Counts DATA against content-length (RFC 9113, 8.1.1). Padding does not count.
class H2BodyLength {
  public:
    explicit H2BodyLength(std::optional<std::uint64_t> announced = {})
        : announced_(announced.value_or(unknown)) {}

    // False when more came than was announced: PROTOCOL_ERROR for the stream.
    [[nodiscard]] bool add(std::size_t bytes) {
        received_ += bytes;
        return received_ <= announced_;
    }
    // At END_STREAM: false when less came than was announced.
    [[nodiscard]] bool complete() const { return announced_ == unknown || received_ == announced_; }
    std::uint64_t received() const { return received_; }

  private:
    static constexpr std::uint64_t unknown = ~std::uint64_t{0};

    std::uint64_t announced_;
    std::uint64_t received_ = 0;
};

}  // namespace tiderace::http::wire
