#include "tiderace/testing/h2_client.h"

#include <array>
#include <cstdlib>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"

namespace tiderace::testing {

using http::wire::h2_frame_bytes_min;
using http::wire::h2_frame_header_bytes;
using http::wire::h2_preface;
using http::wire::H2Error;
using http::wire::H2FrameHeader;
using http::wire::H2FrameType;
using http::wire::H2Setting;
using http::wire::HpackDecoder;
namespace h2_flag = http::wire::h2_flag;

std::string H2Client::Answer::header(std::string_view name) const {
    for (const auto& [each, value] : fields) {
        if (each == name) return value;
    }
    return "";
}

H2Client::H2Client(Peer& peer, std::vector<H2Setting> first, bool with_preface) : peer_(&peer) {
    if (!with_preface) return;
    say(h2_preface);
    settings(first);
}

void H2Client::say(std::string_view bytes) {
    holding_ ? void(held_.append(bytes)) : peer_->say(bytes);
}

void H2Client::say_all() {
    holding_ = false;
    peer_->say(std::exchange(held_, {}));
}

std::uint32_t H2Client::get(std::string_view path, const Fields& more) {
    return request("GET", path, more, true);
}

std::uint32_t H2Client::request(std::string_view method, std::string_view path, const Fields& more,
                                bool end_stream) {
    Fields fields{{":method", std::string(method)},
                  {":scheme", "http"},
                  {":path", std::string(path)},
                  {":authority", "a"}};
    fields.insert(fields.end(), more.begin(), more.end());
    const std::uint32_t stream = std::exchange(next_stream_, next_stream_ + 2);
    headers(stream, fields, end_stream);
    return stream;
}

// Literal fields without indexing, new names, no Huffman: 0x00, length, name, length, value.
std::string H2Client::block(const Fields& fields) {
    std::string block;
    const auto append = [&block](std::string_view text) {
        if (text.size() < 127) {
            block += static_cast<char>(text.size());
        } else {
            block += '\x7f';
            std::size_t rest = text.size() - 127;
            for (; rest >= 128; rest /= 128) block += static_cast<char>(rest % 128 + 128);
            block += static_cast<char>(rest);
        }
        block += text;
    };
    for (const auto& [name, value] : fields) {
        block += '\0';
        append(name);
        append(value);
    }
    return block;
}

void H2Client::connect_websocket(std::uint32_t stream, std::string_view path) {
    headers(stream,
            {{":method", "CONNECT"},
             {":scheme", "http"},
             {":path", std::string(path)},
             {":authority", "a"},
             {":protocol", "websocket"}},
            false);
}

void H2Client::headers(std::uint32_t stream, const Fields& fields, bool end_stream) {
    std::string rest = block(fields);
    skip(stream);
    H2FrameType type = H2FrameType::headers;
    std::uint8_t flags = end_stream ? h2_flag::end_stream : 0;
    do {
        const std::string part = rest.substr(0, h2_frame_bytes_min);
        rest.erase(0, part.size());
        if (rest.empty()) flags |= h2_flag::end_headers;
        frame(type, flags, stream, part);
        type = H2FrameType::continuation;
        flags = 0;
    } while (!rest.empty());
}

void H2Client::data(std::uint32_t stream, std::string_view bytes, bool end_stream) {
    do {
        const std::string_view part = bytes.substr(0, h2_frame_bytes_min);
        bytes.remove_prefix(part.size());
        const bool end = end_stream && bytes.empty();
        frame(H2FrameType::data, end ? h2_flag::end_stream : std::uint8_t{0}, stream, part);
    } while (!bytes.empty());
}

void H2Client::frame(H2FrameType type, std::uint8_t flags, std::uint32_t stream,
                     std::string_view payload) {
    std::array<char, h2_frame_header_bytes> header;
    http::wire::write_h2_frame_header(
        header, {static_cast<std::uint32_t>(payload.size()), type, flags, stream});
    say(std::string(header.data(), header.size()).append(payload));
}

void H2Client::window_update(std::uint32_t stream, std::uint32_t increment) {
    std::array<char, http::wire::h2_window_update_bytes> out;
    say({out.data(), http::wire::write_h2_window_update(out, stream, increment)});
}

void H2Client::reset(std::uint32_t stream, H2Error error) {
    std::array<char, http::wire::h2_rst_stream_bytes> out;
    say({out.data(), http::wire::write_h2_rst_stream(out, stream, error)});
}

void H2Client::settings(const std::vector<H2Setting>& settings) {
    std::array<char, 256> out;
    say({out.data(), http::wire::write_h2_settings(out, settings)});
}

void H2Client::ping(std::string_view eight_bytes, bool ack) {
    frame(H2FrameType::ping, ack ? h2_flag::ack : std::uint8_t{0}, 0, eight_bytes);
}

const H2Client::Answer& H2Client::answer(std::uint32_t stream) {
    listen();
    return answers_[stream];
}

const std::vector<std::uint32_t>& H2Client::data_order() {
    listen();
    return data_order_;
}

const std::vector<H2Client::Goaway>& H2Client::goaways() {
    listen();
    return goaways_;
}

std::optional<H2Error> H2Client::goaway() {
    listen();
    if (goaways_.empty()) return {};
    return goaways_.back().error;
}

std::uint64_t H2Client::given_back(std::uint32_t stream) {
    listen();
    return given_back_[stream];
}

void H2Client::listen() {
    for (;;) {
        const std::string_view rest = std::string_view(peer_->heard()).substr(heard_);
        if (rest.size() < h2_frame_header_bytes) return;
        const H2FrameHeader header = http::wire::read_h2_frame_header(rest);
        if (rest.size() < h2_frame_header_bytes + header.length) return;
        heard_ += h2_frame_header_bytes + header.length;
        hear(header, rest.substr(h2_frame_header_bytes, header.length));
    }
}

void H2Client::hear(const H2FrameHeader& header, std::string_view payload) {
    const auto number = [payload](std::size_t at) {
        std::uint32_t value = 0;
        for (const char c : payload.substr(at, 4))
            value = value << 8 | static_cast<unsigned char>(c);
        return value;
    };
    Answer& answer = answers_[header.stream];
    switch (header.type) {
        case H2FrameType::data:
            answer.body += payload;
            ++answer.frames;
            if (!payload.empty()) data_order_.push_back(header.stream);
            answer.ended = answer.ended || header.has(h2_flag::end_stream);
            break;
        case H2FrameType::headers:
        case H2FrameType::continuation:
            block_ += payload;
            answer.ended = answer.ended ||
                           (header.type == H2FrameType::headers && header.has(h2_flag::end_stream));
            if (header.has(h2_flag::end_headers)) hear_head(answer, std::exchange(block_, {}));
            break;
        case H2FrameType::rst_stream:
            answer.reset = static_cast<H2Error>(number(0));
            ++resets_;
            break;
        case H2FrameType::settings:
            if (header.has(h2_flag::ack)) ++settings_acks_;
            break;
        case H2FrameType::ping:
            (header.has(h2_flag::ack) ? pongs_ : pings_).emplace_back(payload);
            break;
        case H2FrameType::goaway:
            goaways_.push_back({number(0), static_cast<H2Error>(number(4))});
            break;
        case H2FrameType::window_update:
            given_back_[header.stream] += number(0);
            break;
        default:
            break;
    }
}

void H2Client::hear_head(Answer& answer, std::string_view block) {
    constexpr std::size_t list_bytes_max = 64_KiB;
    std::string arena(decoder_.arena_bytes(list_bytes_max), '\0');
    // Every block, of every stream, in the order they came: each one changes the table for the
    // next.
    auto fields = decoder_.read(block, arena, list_bytes_max);
    while (fields.next() == HpackDecoder::Status::field) {
        const http::wire::HpackField& field = fields.field();
        if (field.pseudo == http::wire::PseudoField::status) {
            answer.status = std::atoi(std::string(field.value).c_str());
            answer.heads.push_back(answer.status);
        } else {
            answer.fields.emplace_back(field.name, field.value);
        }
    }
    TR_CHECK(fields.status() == HpackDecoder::Status::end, "the server's field block is broken");
}

}  // namespace tiderace::testing
