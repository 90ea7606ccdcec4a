// WebSocket frames: whole, cut in two and byte by byte give the same result; compressed messages
// are inflated within their bound, and text is judged as by the slow reader.
//
// The first byte chooses: bit 0 from a server, bit 1 compression, bit 2 tight limits.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/utf8.h"
#include "tiderace/http/wire/websocket/deflate.h"
#include "tiderace/http/wire/websocket/frame.h"

namespace tiderace::http::wire {
namespace {

using Kind = WebSocketReader::Step::Kind;

struct Read {
    std::string events;   // of whole messages and control frames, in order
    std::string message;  // of one that is not whole
    WebSocketFault fault = WebSocketFault::none;
    std::size_t used = 0;
    bool operator==(const Read&) const = default;
};

WebSocketReaderOptions options_of(unsigned choice) {
    WebSocketReaderOptions options{.masked = (choice & 1) == 0, .compression = (choice & 2) != 0};
    if ((choice & 4) != 0) {
        options.message_bytes_max = 50;
        options.frame_bytes_max = 30;
    }
    return options;
}

// Gives it bytes[0, end), of which `read.used` were used before.
void feed(WebSocketReader& reader, const WebSocketReaderOptions& options, ByteView bytes,
          std::size_t end, Read& read) {
    while (read.fault == WebSocketFault::none) {
        const std::string piece(bytes.substr(read.used, end - read.used));
        const WebSocketReader::Step step = reader.next(piece);
        if (step.kind == Kind::need_more) return;
        if (step.kind == Kind::fault) {
            TR_CHECK(step.fault != WebSocketFault::none && step.used == 0);
            TR_CHECK(may_be_sent(close_code_for(step.fault)));
            read.fault = step.fault;
            return;
        }
        TR_CHECK(step.used >= step.payload.size() && step.used <= piece.size());
        TR_CHECK(options.masked || step.mask == WebSocketMask{});
        read.used += step.used;
        std::string payload(step.payload.size(), '\0');
        apply_websocket_mask(step.payload, step.mask, payload.data());
        if (step.kind == Kind::control) {
            TR_CHECK(is_control(step.opcode) && payload.size() <= websocket_control_bytes_max);
            read.events += 'c' + std::to_string(static_cast<int>(step.opcode)) + payload + '\n';
            continue;
        }
        TR_CHECK(step.first == read.message.empty());
        if (step.first) read.message = step.compressed ? "z" : "m";
        read.message += payload;
        TR_CHECK(step.compressed || read.message.size() <= options.message_bytes_max + 1);
        if (step.last) {
            read.events += std::exchange(read.message, {}) + '\n';
        }
        TR_CHECK(reader.inside_message() == !step.last);
    }
}

Read read_in_pieces(ByteView bytes, unsigned choice, std::size_t piece_bytes) {
    const WebSocketReaderOptions options = options_of(choice);
    WebSocketReader reader(options);
    Read read;
    for (std::size_t end = 0; end < bytes.size();) {
        end += std::min(piece_bytes, bytes.size() - end);
        feed(reader, options, bytes, end, read);
    }
    return read;
}

Read read_in_two(ByteView bytes, unsigned choice, std::size_t cut) {
    const WebSocketReaderOptions options = options_of(choice);
    WebSocketReader reader(options);
    Read read;
    feed(reader, options, bytes, cut, read);
    feed(reader, options, bytes, bytes.size(), read);
    return read;
}

bool is_utf8_slowly(ByteView bytes) {
    while (!bytes.empty()) {
        const Utf8Char character = first_utf8_char(bytes);
        if (!character.valid) return false;
        bytes.remove_prefix(character.size);
    }
    return true;
}

// Treats the bytes as a compressed message; the inflated result makes a round trip.
void inflate(ByteView bytes) {
    constexpr std::size_t bytes_max = 10'000;
    using Outcome = WebSocketInflater::Outcome;
    WebSocketInflater inflater;
    for (const bool keep : {true, false}) {
        std::string out = "kept";
        const Outcome outcome = inflater.decompress(bytes, keep, bytes_max, out);
        TR_CHECK(out.starts_with("kept") && out.size() <= 4 + bytes_max + 1);
        if (outcome != Outcome::whole) continue;
        const std::string message = out.substr(4);
        std::string again;
        std::string back;
        WebSocketDeflater(9, 1).compress(message, false, again);
        TR_CHECK(WebSocketInflater(9).decompress(again, false, bytes_max, back) == Outcome::whole);
        TR_CHECK(back == message);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    if (size < 2) return 0;
    const unsigned choice = input[0];
    const ByteView bytes(reinterpret_cast<const char*>(input) + 1,
                         std::min<std::size_t>(size - 1, 1'024));
    const Read whole = read_in_pieces(bytes, choice, bytes.size());
    TR_CHECK(read_in_pieces(bytes, choice, 1) == whole);
    TR_CHECK(read_in_pieces(bytes, choice, 5) == whole);
    for (std::size_t cut = 0; cut <= bytes.size(); cut += 1 + bytes.size() / 64) {
        TR_CHECK(read_in_two(bytes, choice, cut) == whole);
    }
    TR_CHECK(is_utf8(bytes) == is_utf8_slowly(bytes));
    const WebSocketClose close = parse_websocket_close(bytes);
    TR_CHECK((close.fault == WebSocketFault::none) ==
             (may_be_sent(close.code) && is_utf8(close.reason)));
    inflate(bytes);
    return 0;
}

}  // namespace tiderace::http::wire
