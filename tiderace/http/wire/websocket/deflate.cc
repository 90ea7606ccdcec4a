#include "tiderace/http/wire/websocket/deflate.h"

#include <algorithm>
#include <new>
#include <utility>

#include <zlib.h>

#include "tiderace/base/check.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {

// --- negotiation -----------------------------------------------------------------------------

namespace {

constexpr ByteView extension_name = "permessage-deflate";

// The parameters of one element, as they stand there.
struct Parameters {
    bool server_no_context_takeover = false;
    bool client_no_context_takeover = false;
    std::optional<int> server_max_window_bits;
    std::optional<int> client_max_window_bits;
    bool client_window_named = false;  // with a value or, in an offer, without
};

struct Parameter {
    ByteView name;
    std::optional<ByteView> value;
};

// "name" or "name=value", the value perhaps in quotes. nullopt: of no such form.
std::optional<Parameter> parse_parameter(ByteView text) {
    const std::size_t equals = text.find('=');
    const ByteView name = trim_ows(text.substr(0, equals));
    if (!is_token(name)) return std::nullopt;
    if (equals == ByteView::npos) return Parameter{name, std::nullopt};
    ByteView value = trim_ows(text.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
    }
    // RFC 6455, 9.1: a quoted value must also be a token.
    if (!is_token(value)) return std::nullopt;
    return Parameter{name, value};
}

// 8 to 15, without a leading zero.
std::optional<int> parse_window_bits(ByteView text) {
    if (text.size() == 1 && (text[0] == '8' || text[0] == '9')) return text[0] - '0';
    if (text.size() == 2 && text[0] == '1' && text[1] >= '0' && text[1] <= '5') {
        return 10 + (text[1] - '0');
    }
    return std::nullopt;
}

bool take_flag(bool& flag, const Parameter& parameter) {
    return !parameter.value && !std::exchange(flag, true);
}

bool take_bits(std::optional<int>& bits, const Parameter& parameter) {
    if (bits || !parameter.value) return false;
    bits = parse_window_bits(*parameter.value);
    return bits.has_value();
}

// False: unknown, twice, or with a value that it may not have.
bool take_parameter(Parameters& all, const Parameter& parameter, bool is_offer) {
    if (parameter.name == "server_no_context_takeover") {
        return take_flag(all.server_no_context_takeover, parameter);
    }
    if (parameter.name == "client_no_context_takeover") {
        return take_flag(all.client_no_context_takeover, parameter);
    }
    if (parameter.name == "server_max_window_bits") {
        return take_bits(all.server_max_window_bits, parameter);
    }
    if (parameter.name == "client_max_window_bits") {
        if (std::exchange(all.client_window_named, true)) return false;
        return (is_offer && !parameter.value) || take_bits(all.client_max_window_bits, parameter);
    }
    return false;
}

// One element of the list, if it is this extension and well formed.
std::optional<Parameters> parse_element(ByteView element, bool is_offer) {
    Parameters all;
    bool at_name = true;
    while (true) {
        const std::size_t end = element.find(';');
        const ByteView part = trim_ows(element.substr(0, end));
        if (std::exchange(at_name, false)) {
            if (!equals_ignoring_case(part, extension_name)) return std::nullopt;
        } else {
            const auto parameter = parse_parameter(part);
            if (!parameter || !take_parameter(all, *parameter, is_offer)) return std::nullopt;
        }
        if (end == ByteView::npos) return all;
        element.remove_prefix(end + 1);
    }
}

// RFC 7692, 7.1: what a server makes of one offer.
std::optional<DeflateTerms> meet(const Parameters& offer, const DeflateWishes& ours) {
    DeflateTerms terms;
    terms.server_no_context_takeover =
        offer.server_no_context_takeover || !ours.server_context_takeover;
    terms.client_no_context_takeover =
        offer.client_no_context_takeover || !ours.client_context_takeover;
    const int server_bits =
        std::min(offer.server_max_window_bits.value_or(15), int{ours.server_max_window_bits});
    // zlib cannot write a window of 8 bits (RFC 7692, 7.1.2.1, allows to decline).
    if (server_bits < 9) return std::nullopt;
    terms.server_max_window_bits = static_cast<std::uint8_t>(server_bits);
    // Only a client that names the parameter may be given it (RFC 7692, 7.1.2.2).
    if (offer.client_window_named) {
        terms.client_max_window_bits = static_cast<std::uint8_t>(
            std::min(offer.client_max_window_bits.value_or(15), int{ours.client_max_window_bits}));
    }
    return terms;
}

void add_bits(std::string& text, std::string_view name, int bits) {
    if (bits == 15) return;
    text.append("; ").append(name).append("=").append(std::to_string(bits));
}

}  // namespace

std::optional<DeflateTerms> agree_on_deflate(const RequestHead& head, const DeflateWishes& ours) {
    for (const Field* field = head.find(FieldName::sec_websocket_extensions); field != nullptr;
         field = head.next(*field)) {
        ListReader list(field->value);
        while (list.next()) {
            const auto offer = parse_element(list.element(), true);
            if (!offer) continue;
            // The client lists its offers by preference, so the first that we can meet counts.
            if (const auto terms = meet(*offer, ours)) return terms;
        }
    }
    return std::nullopt;
}

std::string format_deflate_terms(const DeflateTerms& terms) {
    std::string text(extension_name);
    if (terms.server_no_context_takeover) text += "; server_no_context_takeover";
    if (terms.client_no_context_takeover) text += "; client_no_context_takeover";
    add_bits(text, "server_max_window_bits", terms.server_max_window_bits);
    add_bits(text, "client_max_window_bits", terms.client_max_window_bits);
    return text;
}

std::string deflate_offer(const DeflateWishes& ours) {
    std::string text(extension_name);
    if (!ours.server_context_takeover) text += "; server_no_context_takeover";
    if (!ours.client_context_takeover) text += "; client_no_context_takeover";
    add_bits(text, "server_max_window_bits", ours.server_max_window_bits);
    return text + "; client_max_window_bits";
}

std::optional<DeflateTerms> accept_deflate_answer(ByteView extensions, const DeflateWishes& ours) {
    ListReader list(extensions);
    if (!list.next()) return std::nullopt;
    const auto answer = parse_element(list.element(), false);
    if (!answer || list.next() || list.malformed()) return std::nullopt;
    if (!ours.server_context_takeover && !answer->server_no_context_takeover) return std::nullopt;
    const int server_bits = answer->server_max_window_bits.value_or(15);
    const int client_bits = answer->client_max_window_bits.value_or(15);
    // Below nine we could not compress as it asks; above what we offered it has not listened.
    if (server_bits > ours.server_max_window_bits || client_bits < 9) return std::nullopt;
    return DeflateTerms{
        answer->server_no_context_takeover,
        answer->client_no_context_takeover || !ours.client_context_takeover,
        static_cast<std::uint8_t>(server_bits),
        static_cast<std::uint8_t>(std::min(client_bits, int{ours.client_max_window_bits})),
    };
}

// --- the streams -----------------------------------------------------------------------------

namespace {

// What the sender leaves out at a message's end, and the receiver puts back (RFC 7692, 7.2).
constexpr ByteView message_tail{"\x00\x00\xff\xff", 4};
constexpr std::size_t step_bytes = 16_KiB;

Bytef* as_bytes(const char* text) {
    return reinterpret_cast<Bytef*>(const_cast<char*>(text));
}

// zlib counts in uInt.
ByteView take_piece(ByteView& rest) {
    const ByteView piece = rest.substr(0, 1_GiB);
    rest.remove_prefix(piece.size());
    return piece;
}

}  // namespace

struct WebSocketDeflater::Stream : z_stream {};
struct WebSocketInflater::Stream : z_stream {};

WebSocketDeflater::WebSocketDeflater(int window_bits, int level)
    : stream_(std::make_unique<Stream>()) {
    TR_CHECK(window_bits >= 9 && window_bits <= 15, "zlib cannot write other windows");
    // A smaller window needs a smaller table of hashes, too: it is the larger part of the memory.
    const int memory_level = std::clamp(window_bits - 7, 2, 8);
    // Negative window bits: raw deflate without zlib's header and checksum, as RFC 7692, 7.2.1, has
    // it.
    if (deflateInit2(stream_.get(), level, Z_DEFLATED, -window_bits, memory_level,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::bad_alloc();
    }
}

WebSocketDeflater::~WebSocketDeflater() {
    deflateEnd(stream_.get());
}

void WebSocketDeflater::compress(ByteView message, bool keep_context, std::string& out) {
    // One empty stored block, its tail left out. zlib would write nothing for a second one.
    if (message.empty()) {
        out.push_back('\0');
        return;
    }
    // Without memory for `out`, the rest of this message must not begin the next one, which may be
    // another peer's.
    try {
        write(message, out);
    } catch (...) {
        deflateReset(stream_.get());
        throw;
    }
    // Otherwise this message's text stays in the window, and later messages refer to it.
    if (!keep_context) deflateReset(stream_.get());
}

void WebSocketDeflater::write(ByteView message, std::string& out) {
    const std::size_t before = out.size();
    do {
        const ByteView piece = take_piece(message);
        stream_->next_in = as_bytes(piece.data());
        stream_->avail_in = static_cast<uInt>(piece.size());
        do {
            const std::size_t used = out.size();
            const std::size_t room = std::max(step_bytes, piece.size() / 2);
            out.resize_and_overwrite(used + room, [&](char* data, std::size_t) {
                stream_->next_out = as_bytes(data + used);
                stream_->avail_out = static_cast<uInt>(room);
                deflate(stream_.get(), message.empty() ? Z_SYNC_FLUSH : Z_NO_FLUSH);
                return used + room - stream_->avail_out;
            });
            // A full output may hide more of it: zlib is done when it leaves room.
        } while (stream_->avail_out == 0 || stream_->avail_in > 0);
    } while (!message.empty());
    TR_CHECK(ByteView(out).substr(before).ends_with(message_tail), "zlib flushed otherwise");
    out.resize(out.size() - message_tail.size());
}

WebSocketInflater::WebSocketInflater(int window_bits) : stream_(std::make_unique<Stream>()) {
    // Eight bits are read with a window of nine: zlib treats them alike.
    if (inflateInit2(stream_.get(), -std::max(window_bits, 9)) != Z_OK) throw std::bad_alloc();
}

WebSocketInflater::~WebSocketInflater() {
    inflateEnd(stream_.get());
}

WebSocketInflater::Outcome WebSocketInflater::decompress(ByteView payload, bool keep_context,
                                                         std::size_t bytes_max, std::string& out) {
    const std::size_t out_bytes_max = out.size() + std::min(bytes_max, out.max_size() / 2);
    Outcome outcome = Outcome::malformed;
    // Without memory for `out`, the next message must not go on in this one's middle.
    try {
        outcome = run(payload, out_bytes_max, out);
        if (outcome == Outcome::whole) outcome = run(message_tail, out_bytes_max, out);
    } catch (...) {
        inflateReset(stream_.get());
        throw;
    }
    // The tail must have ended a block: otherwise the message was cut inside one.
    constexpr int at_block_start = 128;
    if (outcome == Outcome::whole && (stream_->data_type & at_block_start) == 0) {
        outcome = Outcome::malformed;
    }
    if (outcome != Outcome::whole || !keep_context) inflateReset(stream_.get());
    return outcome;
}

// Until all input is used. `bytes_max` counts all of `out`.
WebSocketInflater::Outcome WebSocketInflater::run(ByteView input, std::size_t bytes_max,
                                                  std::string& out) {
    stream_->next_in = as_bytes(input.data());
    stream_->avail_in = static_cast<uInt>(input.size());
    int said = Z_OK;
    do {
        const std::size_t used = out.size();
        // One byte more than may come, to see that there is more.
        const std::size_t room = std::min(std::max(step_bytes, used), bytes_max + 1 - used);
        // libstdc++ 12 passes the capacity to its callback instead of the requested size.
        out.resize_and_overwrite(used + room, [&](char* data, std::size_t) {
            stream_->next_out = as_bytes(data + used);
            stream_->avail_out = static_cast<uInt>(room);
            said = inflate(stream_.get(), Z_SYNC_FLUSH);
            ++calls_;
            return used + room - stream_->avail_out;
        });
        if (out.size() > bytes_max) return Outcome::too_large;
        if (said == Z_STREAM_END && !begin_next_stream()) return Outcome::malformed;
        if (said != Z_OK && said != Z_STREAM_END && said != Z_BUF_ERROR) return Outcome::malformed;
    } while (stream_->avail_in > 0 || stream_->avail_out == 0);
    return Outcome::whole;
}

// A block that calls itself the last one ends zlib's stream, not the message (RFC 7692, 7.2.3.4).
// Later bytes may refer to earlier ones, so the window stays in place: a peer can end a
// stream with every two bytes, and each time must cost no more than those bytes.
bool WebSocketInflater::begin_next_stream() {
    return inflateResetKeep(stream_.get()) == Z_OK;
}

}  // namespace tiderace::http::wire
