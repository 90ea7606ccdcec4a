// Internal. permessage-deflate (RFC 7692): what is agreed on, and the two streams that do it, over
// zlib.
//
//   server: agree_on_deflate(head, ours) -> terms; format_deflate_terms(terms) into the answer
//   client: deflate_offer(ours) into the request; accept_deflate_answer(value, ours) -> terms
//
// Without context takeover a message stands alone, so that one stream serves every socket of a loop
// and an idle socket costs none. With it each side keeps a window: 44 KiB to read, up to 264 KiB to
// write, for each socket.
//
// Thread   One at a time.
// Errors   Offers that cannot be met are declined, never guessed at. A peer's bad stream is an
//          Outcome. A lack of memory is std::bad_alloc.
// Limits   What a message may inflate to is the caller's number, and is kept to the byte. Work is
//          linear in bytes received plus bytes produced: one call of zlib for every 16 KiB that is
//          produced and for every block that calls itself the last one, of which the smallest has
//          two bytes; between blocks nothing is copied or allocated. Such blocks cost 10 ns a byte,
//          5 ms for 512 KiB, where text takes 7 ns a byte (bench/results/2026-11-26-bounds.md).
// Keywords: permessage-deflate, compression
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http::wire {

// Names are the standard's: "server" and "client" name the side that compresses.
struct DeflateTerms {
    bool server_no_context_takeover = true;
    bool client_no_context_takeover = true;
    std::uint8_t server_max_window_bits = 15;  // 9 to 15: zlib cannot write 8
    std::uint8_t client_max_window_bits = 15;  // 8 to 15

    bool stands_alone() const { return server_no_context_takeover && client_no_context_takeover; }
    bool operator==(const DeflateTerms&) const = default;
};

// The terms that we accept.
struct DeflateWishes {
    bool server_context_takeover = false;  // a window kept by the server's compressor, per socket
    bool client_context_takeover = false;  // … and by its decompressor
    std::uint8_t server_max_window_bits = 15;
    std::uint8_t client_max_window_bits = 15;  // asked for where the client says it can
};

// The first offer in Sec-WebSocket-Extensions that can be met. nullopt: none is there, or none can.
std::optional<DeflateTerms> agree_on_deflate(const RequestHead& head, const DeflateWishes& ours);
// A server may only limit the client's window where the client said that it can.
std::string format_deflate_terms(const DeflateTerms& terms);

// What a client offers.
std::string deflate_offer(const DeflateWishes& ours);
// The server's answer to that offer. nullopt: it is not what was offered, so the handshake fails.
std::optional<DeflateTerms> accept_deflate_answer(ByteView extensions, const DeflateWishes& ours);

// Compresses messages.
class WebSocketDeflater {
  public:
    // `window_bits` 9 to 15; `level` 1 to 9.
    WebSocketDeflater(int window_bits, int level);
    ~WebSocketDeflater();
    WebSocketDeflater(const WebSocketDeflater&) = delete;
    WebSocketDeflater& operator=(const WebSocketDeflater&) = delete;

    // Appends one message's compressed payload to `out`. `keep_context`: the next one may refer to
    // it.
    void compress(ByteView message, bool keep_context, std::string& out);

  private:
    struct Stream;
    void write(ByteView message, std::string& out);

    std::unique_ptr<Stream> stream_;
};

// Takes them apart.
class WebSocketInflater {
  public:
    enum class Outcome : std::uint8_t { whole, malformed, too_large };

    explicit WebSocketInflater(int window_bits = 15);
    ~WebSocketInflater();
    WebSocketInflater(const WebSocketInflater&) = delete;
    WebSocketInflater& operator=(const WebSocketInflater&) = delete;

    // Appends the message to `out`, at most `bytes_max` of it.
    Outcome decompress(ByteView payload, bool keep_context, std::size_t bytes_max,
                       std::string& out);
    // Calls of zlib so far: what the bound on work is tested with.
    std::uint64_t calls() const { return calls_; }

  private:
    struct Stream;
    Outcome run(ByteView input, std::size_t bytes_max, std::string& out);
    bool begin_next_stream();

    std::unique_ptr<Stream> stream_;
    std::uint64_t calls_ = 0;
};

}  // namespace tiderace::http::wire
