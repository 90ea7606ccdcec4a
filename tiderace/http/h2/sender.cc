#include "tiderace/http/h2/sender.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/frame_writer.h"

namespace tiderace::http {
namespace {

// The header of the frame at the front of the queue. It is in memory, and may span two blocks.
wire::H2FrameHeader front_frame(const core::SendQueue& queue) {
    std::array<iovec, wire::h2_frame_header_bytes> pieces;
    const std::size_t count = queue.gather(pieces);
    std::array<char, wire::h2_frame_header_bytes> header{};
    std::size_t have = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t part = std::min(pieces[i].iov_len, header.size() - have);
        std::memcpy(header.data() + have, pieces[i].iov_base, part);
        have += part;
    }
    TR_CHECK(have == header.size(), "the queue holds whole frames");
    return wire::read_h2_frame_header({header.data(), header.size()});
}

}  // namespace

// --- frames ----------------------------------------------------------------------------------

void H2Sender::write(ByteView frame) {
    if (is_over()) return;
    queued_ += frame.size();
    connection_->write(frame);
}

void H2Sender::window_update(std::uint32_t stream, std::uint32_t increment) {
    if (increment == 0) return;
    std::array<char, wire::h2_window_update_bytes> frame;
    write({frame.data(), wire::write_h2_window_update(frame, stream, increment)});
}

void H2Sender::reset(std::uint32_t stream, wire::H2Error error) {
    std::array<char, wire::h2_rst_stream_bytes> frame;
    write({frame.data(), wire::write_h2_rst_stream(frame, stream, error)});
}

void H2Sender::ping(const wire::H2PingData& data, bool ack) {
    std::array<char, wire::h2_ping_bytes> frame;
    write({frame.data(), wire::write_h2_ping(frame, data, ack)});
}

void H2Sender::acknowledge_settings() {
    std::array<char, wire::h2_settings_ack_bytes> ack;
    write({ack.data(), wire::write_h2_settings_ack(ack)});
}

void H2Sender::go_away(std::uint32_t last_stream, wire::H2Error error) {
    std::array<char, wire::h2_goaway_bytes> frame;
    write({frame.data(), wire::write_h2_goaway(frame, last_stream, error)});
}

// --- data ------------------------------------------------------------------------------------

void H2Sender::queued_data(std::size_t bytes) {
    data_sent_ += bytes;
    queued_ += wire::h2_frame_header_bytes + bytes;
}

void H2Sender::queued_file(std::uint32_t stream, std::uint32_t bytes) {
    // Most connections never send from a file that is not in memory.
    if (file_frames_ == nullptr) file_frames_ = std::make_unique<H2FileFrames>();
    file_frames_->add({.end = queued_, .bytes = bytes, .stream = stream}, queue_begin());
}

// Only if no other stream waits: it must not overtake the scheduler's order.
bool H2Sender::may_send_at_once(const wire::H2SendWindow& stream_window, std::size_t bytes) {
    return bytes <= data_bytes_max && bytes <= stream_window.available() &&
           bytes <= window_.available() && scheduler_.empty() &&
           connection_->queue_bytes() <= connection_->limits().queue_bytes_high;
}

// H2FileFrames must know every queued frame that holds bytes of a file, because any may need
// repair.
bool H2Sender::is_full() const {
    return connection_->queue_bytes() >= queue_bytes_wanted ||
           (file_frames_ != nullptr && !file_frames_->has_room(queue_begin()));
}

// --- files that become shorter ---------------------------------------------------------------

// The frame's header has promised bytes that the file no longer has. The frame is completed with
// zeros, to keep the connection's framing whole, and the stream is reset behind it.
std::optional<H2Sender::Mended> H2Sender::mend_short_file() {
    if (is_over() || file_frames_ == nullptr) return std::nullopt;
    core::SendQueue& queue = connection_->queue();
    const std::uint64_t at = queue_begin();
    const H2FileFrames::Frame* const frame = file_frames_->find(at);
    if (frame == nullptr) return std::nullopt;
    Mended result{.stream = frame->stream};
    const std::uint64_t missing = frame->end - at;
    core::SendQueue mended;
    // Constant memory that no frame outlives: shared by the queue, not copied.
    static constexpr std::array<char, data_bytes_max> zeros{};
    mended.append_shared({zeros.data(), static_cast<std::size_t>(missing)}, {});
    queue.consume(missing);
    mended.append_queue(std::move(queue));
    queue = std::move(mended);
    drop_queued_data(result);
    return result;
}

// Removes the stream's other DATA from the queue, whose front is the rest of a frame.
void H2Sender::drop_queued_data(Mended& mended) {
    core::SendQueue& queue = connection_->queue();
    core::BlockPool& blocks = connection_->blocks();
    core::SendQueue kept;
    std::uint64_t at = queue_begin();
    std::uint64_t dropped = 0;
    std::uint32_t window = 0;
    std::uint64_t rest = file_frames_->find(at)->end - at;  // of the frame in front, which stays
    while (true) {
        kept.append_front(blocks, queue, rest);
        at += rest;
        file_frames_->move(at, at - dropped);
        if (queue.empty()) break;
        const wire::H2FrameHeader header = front_frame(queue);
        rest = wire::h2_frame_header_bytes + header.length;
        if (header.stream != mended.stream) continue;
        // Its HEADERS left before the frame in front. RST_STREAM and WINDOW_UPDATE stay, because
        // they are about the stream's end and the other direction.
        mended.was_reset = mended.was_reset || header.type == wire::H2FrameType::rst_stream;
        if (header.type != wire::H2FrameType::data) continue;
        queue.consume(rest);
        at += rest;
        file_frames_->move(at, 0);
        dropped += rest;
        window += header.length;
        rest = 0;
    }
    queue = std::move(kept);
    queued_ -= dropped;
    // These bytes were never sent, so the connection's window gets them back.
    mended.window_fits = window_.grow(window);
}

}  // namespace tiderace::http
