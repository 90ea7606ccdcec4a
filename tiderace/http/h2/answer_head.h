// H2 answer head: the status and fields of a Response as HEADERS and CONTINUATION frames, written
// straight into the queue that leaves (RFC 9113, sections 6.2 and 8.3.2).
//
// Thread   The loop's.
// Errors   A field that cannot be sent makes it false, and nothing is written: answer 500 instead.
// Limits   wire::response_head_bytes_max of block, whatever a handler adds.
// Memory   The queue's block. On the stack, for a head that is larger than what is left of it.
#pragma once

#include <cstdint>
#include <optional>

#include "tiderace/base/bytes.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/http/response.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"

namespace tiderace::http {

struct H2AnswerHead {
    std::uint32_t stream = 0;
    bool end_stream = false;
    std::optional<std::uint64_t> content_length = {};
    ByteView standing_fields = {};  // rendered: Server and Date
    // Every peer accepts these; larger ones would hold up the other streams.
    std::uint32_t frame_bytes_max = 16'384;
};

bool write_h2_answer_head(core::BlockPool& blocks, core::SendQueue& queue,
                          wire::HpackEncoder& encoder, const Response& response,
                          const H2AnswerHead& head);

// A head of nothing but a status: 100.
bool write_h2_status(core::BlockPool& blocks, core::SendQueue& queue, wire::HpackEncoder& encoder,
                     std::uint32_t stream, int status);

// Fields that belong to the connection, whatever a handler sets: they are left out. HTTP/2 forbids
// every field about a connection, too (RFC 9113, 8.2.2).
bool is_h2_connection_field(wire::FieldName name);

}  // namespace tiderace::http
