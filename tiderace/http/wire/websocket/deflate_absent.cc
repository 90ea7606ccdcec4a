// Compiled where there is no zlib: declines every offer, and makes none.
#include "tiderace/base/check.h"
#include "tiderace/http/wire/websocket/deflate.h"

namespace tiderace::http::wire {

std::optional<DeflateTerms> agree_on_deflate(const RequestHead&, const DeflateWishes&) {
    return std::nullopt;
}

std::string format_deflate_terms(const DeflateTerms&) {
    TR_CHECK(false, "deflate was never agreed on");
    return {};
}

std::string deflate_offer(const DeflateWishes&) {
    return {};
}

std::optional<DeflateTerms> accept_deflate_answer(ByteView, const DeflateWishes&) {
    return std::nullopt;
}

struct WebSocketDeflater::Stream {};

WebSocketDeflater::WebSocketDeflater(int, int) {
    TR_CHECK(false, "deflate was never agreed on");
}

WebSocketDeflater::~WebSocketDeflater() = default;

void WebSocketDeflater::compress(ByteView, bool, std::string&) {}

struct WebSocketInflater::Stream {};

WebSocketInflater::WebSocketInflater(int) {
    TR_CHECK(false, "deflate was never agreed on");
}

WebSocketInflater::~WebSocketInflater() = default;

WebSocketInflater::Outcome WebSocketInflater::decompress(ByteView, bool, std::size_t,
                                                         std::string&) {
    return Outcome::malformed;
}

}  // namespace tiderace::http::wire
