#include "tiderace/http/h2/answer_head.h"

#include <algorithm>
#include <array>

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/response_head.h"

namespace tiderace::http {
namespace {

using wire::h2_frame_header_bytes;
using wire::H2FrameType;

ByteView render(wire::HpackEncoder& encoder, const Response& response, const H2AnswerHead& head,
                std::span<char> room) {
    wire::HpackEncoder::Block block(encoder, room);
    block.status(response.status());
    // Rendered fields use no dynamic table, so the same bytes serve every connection.
    block.rendered(head.standing_fields);
    if (response.block() != nullptr) block.rendered(response.block()->hpack());
    for (const ResponseField& field : response.fields()) {
        // RFC 9113, 8.2.2: fields of the connection are malformed in HTTP/2.
        if (is_h2_connection_field(field.id)) continue;
        if (field.id != wire::FieldName::other) {
            block.field(field.id, field.value);
        } else if (!equals_ignoring_case(field.name, "Proxy-Connection")) {
            block.field(field.name, field.value);
        }
    }
    // Last, as it is the field that differs from answer to answer.
    if (head.content_length) {
        block.number(wire::FieldName::content_length, *head.content_length);
    }
    return block.finish();
}

// The block in frames of at most `frame_bytes_max`: HEADERS, then CONTINUATION, with no other frame
// in between (RFC 9113, 6.10).
void append_frames(core::BlockPool& blocks, core::SendQueue& queue, ByteView block,
                   const H2AnswerHead& head) {
    H2FrameType type = H2FrameType::headers;
    std::uint8_t flags = head.end_stream ? wire::h2_flag::end_stream : 0;
    do {
        const ByteView part = block.substr(0, head.frame_bytes_max);
        block.remove_prefix(part.size());
        if (block.empty()) flags |= wire::h2_flag::end_headers;
        std::array<char, h2_frame_header_bytes> header;
        wire::write_h2_frame_header(
            header, {static_cast<std::uint32_t>(part.size()), type, flags, head.stream});
        queue.append(blocks, {header.data(), header.size()});
        queue.append(blocks, part);
        type = H2FrameType::continuation;
        flags = 0;
    } while (!block.empty());
}

// written: also if it can never be written. too_little_room: in the queue's last block.
enum class InPlace : std::uint8_t { written, too_little_room };

InPlace write_in_place(core::BlockPool& blocks, core::SendQueue& queue, wire::HpackEncoder& encoder,
                       const Response& response, const H2AnswerHead& head) {
    // Rendered where it is sent from, which saves a copy.
    const std::span<char> room =
        queue.reserve(blocks, h2_frame_header_bytes + head.frame_bytes_max);
    const ByteView block =
        render(encoder, response, head, room.subspan(std::min(room.size(), h2_frame_header_bytes)));
    if (block.empty()) {
        // The reserved block is given back, or stays for the next answer.
        queue.commit(0);
        return InPlace::too_little_room;
    }
    std::uint8_t flags = wire::h2_flag::end_headers;
    if (head.end_stream) flags |= wire::h2_flag::end_stream;
    wire::write_h2_frame_header(
        room, {static_cast<std::uint32_t>(block.size()), H2FrameType::headers, flags, head.stream});
    queue.commit(h2_frame_header_bytes + block.size());
    return InPlace::written;
}

}  // namespace

// Skips fields that the connection writes itself, to avoid sending them twice.
bool is_h2_connection_field(wire::FieldName name) {
    return wire::is_framing(name) || name == wire::FieldName::upgrade ||
           name == wire::FieldName::te;
}

bool write_h2_answer_head(core::BlockPool& blocks, core::SendQueue& queue,
                          wire::HpackEncoder& encoder, const Response& response,
                          const H2AnswerHead& head) {
    if (write_in_place(blocks, queue, encoder, response, head) == InPlace::written) return true;
    // Too large for the rest of the block: rendered aside, and cut into frames.
    std::array<char, wire::response_head_bytes_max> beside;
    const ByteView block = render(encoder, response, head, beside);
    if (block.empty()) return false;
    // A fault of the encoder: a field that cannot be sent, or more than response_head_bytes_max.
    append_frames(blocks, queue, block, head);
    return true;
}

bool write_h2_status(core::BlockPool& blocks, core::SendQueue& queue, wire::HpackEncoder& encoder,
                     std::uint32_t stream, int status) {
    std::array<char, 64> room;
    wire::HpackEncoder::Block block(encoder, room);
    block.status(status);
    const ByteView bytes = block.finish();
    if (bytes.empty()) return false;
    append_frames(blocks, queue, bytes, {.stream = stream});
    return true;
}

}  // namespace tiderace::http
