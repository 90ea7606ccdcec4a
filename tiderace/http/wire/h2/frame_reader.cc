#include "tiderace/http/wire/h2/frame_reader.h"

#include <algorithm>
#include <cstring>

#include "tiderace/http/wire/h2/big_endian.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/settings.h"

namespace tiderace::http::wire {
namespace {

using Status = H2FrameReader::Status;
using Step = H2FrameReader::Step;

Step need_more(std::size_t used = 0) {
    return {Status::need_more, used, H2UnknownFrame{}, {}};
}
Step give(const H2Frame& frame, std::size_t used) {
    return {Status::frame, used, frame, {}};
}
Step refuse(const H2Fault& fault, std::size_t used) {
    return {Status::fault, used, H2UnknownFrame{}, fault};
}

std::uint32_t read_u32(ByteView payload, std::size_t at) {
    return static_cast<std::uint32_t>(read_big_endian<4>(payload.data() + at));
}
std::uint32_t read_stream(ByteView payload, std::size_t at) {
    return read_u32(payload, at) & h2_stream_max;
}

// What a frame's header may be, by type (RFC 9113, section 6).
struct Rule {
    enum class On : std::uint8_t { stream, connection, both, nowhere };
    On on;
    std::uint32_t length_min;
    std::uint32_t length_max;
};
constexpr std::uint32_t any = h2_frame_bytes_max;
constexpr auto rules = std::to_array<Rule>({
    {Rule::On::stream, 0, any},      // DATA
    {Rule::On::stream, 0, any},      // HEADERS
    {Rule::On::stream, 5, 5},        // PRIORITY
    {Rule::On::stream, 4, 4},        // RST_STREAM
    {Rule::On::connection, 0, any},  // SETTINGS
    {Rule::On::nowhere, 0, any},     // PUSH_PROMISE: no client may
    {Rule::On::connection, 8, 8},    // PING
    {Rule::On::connection, 8, any},  // GOAWAY
    {Rule::On::both, 4, 4},          // WINDOW_UPDATE
    {Rule::On::stream, 0, any},      // CONTINUATION
});
constexpr Rule priority_update_rule = {Rule::On::connection, 4, any};

const Rule* rule_for(H2FrameType type) {
    const auto number = static_cast<std::size_t>(type);
    if (number < rules.size()) return &rules[number];
    return type == H2FrameType::priority_update ? &priority_update_rule : nullptr;
}

// `nowhere` equals neither, so it is refused on every stream.
bool in_right_place(Rule::On on, std::uint32_t stream) {
    if (on == Rule::On::both) return true;
    return on == (stream == 0 ? Rule::On::connection : Rule::On::stream);
}

// SETTINGS is a list of entries of 6 bytes, and its acknowledgement is empty (RFC 9113, 6.5).
H2Error judge_length(const Rule& rule, const H2FrameHeader& header) {
    const bool settings = header.type == H2FrameType::settings;
    const bool fits = header.length >= rule.length_min && header.length <= rule.length_max &&
                      (!settings || header.length % h2_setting_bytes == 0) &&
                      (!settings || !header.has(h2_flag::ack) || header.length == 0);
    return fits ? H2Error::no_error : H2Error::frame_size_error;
}

// The payload of DATA or HEADERS without its padding and its priority section.
struct Content {
    std::uint32_t begin = 0;
    std::uint32_t padding = 0;
    H2Error error = H2Error::no_error;
};

// `payload` holds at least the pad length, where the flag announces one.
Content find_content(const H2FrameHeader& header, ByteView payload, std::uint32_t section_bytes) {
    Content content;
    const bool padded = header.has(h2_flag::padded);
    content.begin = (padded ? 1 : 0) + section_bytes;
    // Too short for its own fields is a wrong size (4.2); more padding than payload is a wrong
    // protocol (6.1, 6.2).
    if (content.begin > header.length) return {0, 0, H2Error::frame_size_error};
    if (padded) content.padding = static_cast<unsigned char>(payload[0]);
    if (content.padding > header.length - content.begin) return {0, 0, H2Error::protocol_error};
    return content;
}

H2PingData ping_data(ByteView payload) {
    H2PingData data;
    std::memcpy(data.data(), payload.data(), data.size());
    return data;
}

}  // namespace

Step H2FrameReader::dead(H2Error error) {
    phase_ = Phase::dead;
    dead_ = error;
    return refuse(connection_fault(error), 0);
}

Step H2FrameReader::next(ByteView bytes) {
    // Its view was valid until this call. The buffer's memory is freed, not kept: few blocks come
    // in several frames.
    if (block_given_) {
        block_ = {};
        block_given_ = false;
    }
    switch (phase_) {
        case Phase::preface:
            return read_preface(bytes);
        case Phase::first_settings:
        case Phase::frames:
            return read_frame(bytes);
        case Phase::data:
            return read_data(bytes);
        case Phase::padding:
            return read_padding(bytes);
        case Phase::skip:
            return skip(bytes);
        case Phase::dead:
            break;
    }
    return refuse(connection_fault(dead_), 0);
}

Step H2FrameReader::read_preface(ByteView bytes) {
    // Compared as far as it came: a client of another protocol is refused at its first wrong byte.
    const ByteView expected = h2_preface.substr(preface_used_, bytes.size());
    if (bytes.substr(0, expected.size()) != expected) return dead(H2Error::protocol_error);
    preface_used_ = static_cast<std::uint8_t>(preface_used_ + expected.size());
    if (preface_used_ < h2_preface.size()) return need_more(expected.size());
    phase_ = Phase::first_settings;
    return go_on(bytes, expected.size());
}

// The next step, for which the first `used` bytes were used already.
Step H2FrameReader::go_on(ByteView bytes, std::size_t used) {
    Step step = next(bytes.substr(used));
    step.used += used;
    return step;
}

// Within a field block nothing but its CONTINUATION may come, on any stream (RFC 9113, 4.3):
// HPACK's state is the connection's, and half a block is no state.
H2Error H2FrameReader::judge_place(const H2FrameHeader& header) const {
    if (phase_ == Phase::first_settings) {
        // The preface ends with a SETTINGS frame, which may be empty (RFC 9113, 3.4).
        const bool first = header.type == H2FrameType::settings && !header.has(h2_flag::ack);
        return first ? H2Error::no_error : H2Error::protocol_error;
    }
    const bool continuation = header.type == H2FrameType::continuation;
    const bool in_place =
        in_field_block() ? continuation && header.stream == block_stream_ : !continuation;
    return in_place ? H2Error::no_error : H2Error::protocol_error;
}

// Every fault of the header alone, so that no payload is awaited in vain.
Step H2FrameReader::read_frame(ByteView bytes) {
    if (bytes.size() < h2_frame_header_bytes) return need_more();
    const H2FrameHeader header = read_h2_frame_header(bytes);
    if (const H2Error error = judge_place(header); error != H2Error::no_error) return dead(error);
    // The connection's end even for DATA, where a stream error would be allowed (4.2): the payload
    // is not to be read at all.
    if (header.length > limits_.frame_bytes_max) return dead(H2Error::frame_size_error);
    const Rule* rule = rule_for(header.type);
    if (rule == nullptr) {
        // Frames of unknown types are ignored, on any stream (RFC 9113, 5.5).
        begin_skip(header);
        return give(H2UnknownFrame{static_cast<std::uint8_t>(header.type)}, h2_frame_header_bytes);
    }
    if (!in_right_place(rule->on, header.stream)) return dead(H2Error::protocol_error);
    if (header.type == H2FrameType::priority_update && peer_ == H2Peer::server) {
        return dead(H2Error::protocol_error);  // RFC 9218, 7.1
    }
    if (const H2Error error = judge_length(*rule, header); error != H2Error::no_error) {
        if (header.type != H2FrameType::priority) return dead(error);
        begin_skip(header);  // RFC 9113, 6.3: the one length that only a stream suffers for
        return refuse(stream_fault(error, header.stream), h2_frame_header_bytes);
    }
    if (header.type == H2FrameType::data) return begin_data(header, bytes);
    if (bytes.size() - h2_frame_header_bytes < header.length) return need_more();
    phase_ = Phase::frames;
    const Step step = read_whole(header, bytes.substr(h2_frame_header_bytes, header.length));
    // A field block goes on in the next frame, which may be here already.
    return step.status == Status::need_more ? go_on(bytes, step.used) : step;
}

void H2FrameReader::begin_skip(const H2FrameHeader& header) {
    data_left_ = header.length;
    if (data_left_ > 0) phase_ = Phase::skip;
}

Step H2FrameReader::skip(ByteView bytes) {
    const auto piece = std::min<std::size_t>(data_left_, bytes.size());
    data_left_ -= static_cast<std::uint32_t>(piece);
    if (data_left_ > 0) return need_more(piece);
    phase_ = Phase::frames;
    return go_on(bytes, piece);
}

// Waits for the data's first byte, so that a frame's first piece is empty only if all of it is.
Step H2FrameReader::begin_data(const H2FrameHeader& header, ByteView bytes) {
    const ByteView payload = bytes.substr(h2_frame_header_bytes);
    if (payload.empty() && header.length > 0) return need_more();
    const Content content = find_content(header, payload, 0);
    if (content.error != H2Error::no_error) return dead(content.error);
    data_left_ = header.length - content.begin - content.padding;
    if (payload.size() == content.begin && data_left_ > 0) return need_more();
    padding_left_ = content.padding;
    data_stream_ = header.stream;
    end_stream_ = header.has(h2_flag::end_stream);

    // The pad length byte counts as padding: it takes room in the windows, as all of the payload
    // does.
    const std::size_t begin = h2_frame_header_bytes + content.begin;
    Step step = read_data(bytes.substr(begin));
    step.used += begin;
    H2Data& data = *std::get_if<H2Data>(&step.frame);
    data.frame_begins = true;
    data.flow_bytes = header.length;
    data.padding_bytes = content.begin + content.padding;
    return step;
}

// A piece of the data; with the last one, what is here of the padding.
Step H2FrameReader::read_data(ByteView bytes) {
    const auto piece = std::min<std::size_t>(data_left_, bytes.size());
    if (piece == 0 && data_left_ > 0) return need_more();
    data_left_ -= static_cast<std::uint32_t>(piece);
    std::size_t padding = 0;
    if (data_left_ == 0) padding = std::min<std::size_t>(padding_left_, bytes.size() - piece);
    padding_left_ -= static_cast<std::uint32_t>(padding);
    const bool ends = data_left_ == 0 && padding_left_ == 0;
    if (ends) {
        phase_ = Phase::frames;
    } else {
        phase_ = data_left_ > 0 ? Phase::data : Phase::padding;
    }
    return give(H2Data{.stream = data_stream_,
                       .bytes = bytes.substr(0, piece),
                       .flow_bytes = 0,
                       .padding_bytes = 0,
                       .frame_begins = false,
                       .end_stream = ends && end_stream_},
                piece + padding);
}

// Padding that did not come with the data. The end of the stream waits for it.
Step H2FrameReader::read_padding(ByteView bytes) {
    const auto piece = std::min<std::size_t>(padding_left_, bytes.size());
    if (piece < padding_left_) {
        padding_left_ -= static_cast<std::uint32_t>(piece);
        return need_more(piece);
    }
    if (!end_stream_) {
        phase_ = Phase::frames;
        return go_on(bytes, piece);
    }
    return read_data(bytes);
}

Step H2FrameReader::read_whole(const H2FrameHeader& header, ByteView payload) {
    const std::size_t used = h2_frame_header_bytes + header.length;
    const bool ack = header.has(h2_flag::ack);
    switch (header.type) {
        case H2FrameType::headers:
            return begin_block(header, payload);
        case H2FrameType::continuation:
            return continue_block(header, payload);
        case H2FrameType::priority:
            if (read_stream(payload, 0) == header.stream) {
                return refuse(stream_fault(H2Error::protocol_error, header.stream), used);
            }
            return give(H2PriorityFrame{header.stream}, used);
        case H2FrameType::rst_stream:
            return give(H2RstStream{header.stream, read_u32(payload, 0)}, used);
        case H2FrameType::settings:
            return give(H2SettingsFrame{ack, payload}, used);
        case H2FrameType::ping:
            return give(H2Ping{ack, ping_data(payload)}, used);
        case H2FrameType::goaway:
            return give(H2Goaway{read_stream(payload, 0), read_u32(payload, 4), payload.substr(8)},
                        used);
        case H2FrameType::window_update:
            return read_window_update(header, payload);
        default:  // priority_update: the others do not come here
            // An even number would be a push, and those we never promised (RFC 9218, 7.1).
            if (read_stream(payload, 0) % 2 == 0) return dead(H2Error::protocol_error);
            return give(H2PriorityUpdate{read_stream(payload, 0), payload.substr(4)}, used);
    }
}

Step H2FrameReader::read_window_update(const H2FrameHeader& header, ByteView payload) {
    const std::size_t used = h2_frame_header_bytes + header.length;
    const std::uint32_t increment = read_stream(payload, 0);
    // An increment of 0 is the fault of the stream that it is for (RFC 9113, 6.9).
    if (increment > 0) return give(H2WindowUpdate{header.stream, increment}, used);
    if (header.stream == 0) return dead(H2Error::protocol_error);
    return refuse(stream_fault(H2Error::protocol_error, header.stream), used);
}

Step H2FrameReader::begin_block(const H2FrameHeader& header, ByteView payload) {
    const bool priority = header.has(h2_flag::priority);
    const Content content = find_content(header, payload, priority ? 5 : 0);
    if (content.error != H2Error::no_error) return dead(content.error);
    const ByteView fragment =
        payload.substr(content.begin, payload.size() - content.begin - content.padding);
    // Not to be skipped: HPACK's table would differ from the peer's afterwards.
    if (fragment.size() > limits_.block_bytes_max) return dead(H2Error::enhance_your_calm);
    end_stream_ = header.has(h2_flag::end_stream);
    depends_on_itself_ = priority && read_stream(payload, content.begin - 5) == header.stream;
    continuations_ = 0;
    block_stream_ = header.stream;
    const std::size_t used = h2_frame_header_bytes + header.length;
    if (header.has(h2_flag::end_headers)) return emit_block(fragment, used);
    block_ = fragment;
    return need_more(used);
}

Step H2FrameReader::continue_block(const H2FrameHeader& header, ByteView payload) {
    // A block may be cut into frames without end, each of them empty ("CONTINUATION flood").
    if (++continuations_ > limits_.continuations_max ||
        payload.size() > limits_.block_bytes_max - block_.size()) {
        return dead(H2Error::enhance_your_calm);
    }
    block_ += payload;
    const std::size_t used = h2_frame_header_bytes + header.length;
    if (!header.has(h2_flag::end_headers)) return need_more(used);
    block_given_ = true;
    return emit_block(block_, used);
}

Step H2FrameReader::emit_block(ByteView block, std::size_t used) {
    const std::uint32_t stream = block_stream_;
    block_stream_ = 0;
    return give(H2Headers{.stream = stream,
                          .block = block,
                          .end_stream = end_stream_,
                          .depends_on_itself = depends_on_itself_,
                          .continuations = continuations_},
                used);
}

}  // namespace tiderace::http::wire
