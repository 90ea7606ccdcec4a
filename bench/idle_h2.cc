// idle_h2 PORT COUNT PATH BYTES: opens COUNT connections of HTTP/2 over TLS 1.3, asks for PATH once
// on each, looks whether the answer is 200 with BYTES bytes, and holds them. Says "held COUNT".
// Then, for every line "again STEP" on its input, it asks on every STEP-th once more and says
// "answered N". Ends when its input does.
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "bench/tls_peer.h"

namespace tiderace::bench {
namespace {

enum class FrameType : unsigned char {
    data = 0,
    headers = 1,
    rst_stream = 3,
    settings = 4,
    ping = 6,
    goaway = 7
};
constexpr unsigned char end_stream = 0x1;
constexpr unsigned char ack = 0x1;
constexpr unsigned char end_headers = 0x4;
constexpr unsigned char padded = 0x8;
constexpr std::size_t frame_head_bytes = 9;

std::string frame(FrameType type, unsigned char flags, std::uint32_t stream,
                  std::string_view payload) {
    std::string bytes;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift);
    bytes += static_cast<char>(type);
    bytes += static_cast<char>(flags);
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
    return bytes.append(payload);
}

// An HPACK string without Huffman coding; shorter than 127 bytes.
std::string literal(std::string_view text) {
    return std::string(1, static_cast<char>(text.size())).append(text);
}

std::string request(std::uint32_t stream, std::string_view path) {
    // :method GET and :scheme https from the static table; :path and :authority not indexed.
    std::string block("\x82\x87\x04", 3);
    block.append(literal(path)).append("\x01").append(literal("localhost"));
    return frame(FrameType::headers, end_stream | end_headers, stream, block);
}

bool says_200(std::string_view block) {
    while (!block.empty() && (block[0] & 0xe0) == 0x20) block.remove_prefix(1);  // table size
    return !block.empty() && block[0] == '\x88';
}

// Reads frames until the stream ends. The bytes of its body.
std::size_t read_answer(TlsPeer& peer, std::uint32_t stream) {
    std::size_t body_bytes = 0;
    for (;;) {
        const std::string head = peer.receive(frame_head_bytes);
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
        const std::size_t size = std::size_t{byte(0)} << 16 | std::size_t{byte(1)} << 8 | byte(2);
        const auto type = static_cast<FrameType>(byte(3));
        const unsigned char flags = byte(4);
        const std::string payload = peer.receive(size);
        if (type == FrameType::goaway || type == FrameType::rst_stream) {
            give_up("the server refuses");
        }
        if (type == FrameType::settings && (flags & ack) == 0) {
            peer.send(frame(FrameType::settings, ack, 0, {}));
        }
        if (type == FrameType::ping && (flags & ack) == 0) {
            peer.send(frame(FrameType::ping, ack, 0, payload));
        }
        if (type != FrameType::headers && type != FrameType::data) continue;
        if (byte(8) != (stream & 0xff) || (flags & padded) != 0) give_up("not what was asked for");
        if (type == FrameType::headers && !says_200(payload)) give_up("the status is not 200");
        if (type == FrameType::data) body_bytes += size;
        if ((flags & end_stream) != 0) return body_bytes;
    }
}

void ask(TlsPeer& peer, std::uint32_t stream, std::string_view path, std::size_t bytes) {
    peer.send(request(stream, path));
    const std::size_t got = read_answer(peer, stream);
    if (got != bytes) give_up(std::to_string(got) + " bytes, not " + std::to_string(bytes));
}

void hold(std::uint16_t port, std::size_t count, std::string_view path, std::size_t bytes) {
    SSL_CTX* context = client_context();
    std::vector<TlsPeer> peers;
    peers.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        TlsPeer& peer = peers.emplace_back(context, port, "h2");
        peer.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        peer.send(frame(FrameType::settings, 0, 0, {}));
        ask(peer, 1, path, bytes);
    }
    std::cout << "held " << peers.size() << std::endl;
    std::string word;
    std::size_t step = 0;
    for (std::uint32_t stream = 3; std::cin >> word >> step && word == "again"; stream += 2) {
        std::size_t answered = 0;
        for (std::size_t i = 0; i < peers.size(); i += step, ++answered) {
            ask(peers[i], stream, path, bytes);
        }
        std::cout << "answered " << answered << std::endl;
    }
}

}  // namespace
}  // namespace tiderace::bench

int main(int argc, char** argv) {
    if (argc != 5) tiderace::bench::give_up("usage: idle_h2 PORT COUNT PATH BYTES");
    tiderace::bench::hold(static_cast<std::uint16_t>(std::atoi(argv[1])),
                          static_cast<std::size_t>(std::atol(argv[2])), argv[3],
                          static_cast<std::size_t>(std::atol(argv[4])));
    return 0;
}
