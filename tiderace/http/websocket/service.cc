#include "tiderace/http/websocket/service.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/random.h"

namespace tiderace::http {
namespace {

// A string to be filled anew, without what a giant message left.
std::string& emptied(std::string& text) {
    if (text.capacity() > WebSocketService::scratch_bytes_kept) std::string().swap(text);
    text.clear();
    return text;
}

// A socket within its own limits is never refused for what it alone holds.
std::size_t waiting_bytes_max(const WebSocketOptions& options) {
    constexpr std::size_t beside = 128_KiB;
    const std::size_t one = std::min(options.message_bytes_max, SIZE_MAX - beside) + beside;
    return std::max(options.waiting_bytes_max, one);
}

}  // namespace

WebSocketService::WebSocketService(core::EventLoop& loop, WebSocketOptions options)
    : loop_(&loop),
      options_(std::move(options)),
      waiting_(core::make_ref<core::Budget>(loop, "WebSocket messages",
                                            waiting_bytes_max(options_))),
      random_used_(random_.size()) {
    TR_CHECK(options_.deflate_level >= 1 && options_.deflate_level <= 9);
    TR_CHECK(options_.deflate.server_max_window_bits >= 9 &&
             options_.deflate.server_max_window_bits <= 15);
    TR_CHECK(options_.deflate.client_max_window_bits >= 9 &&
             options_.deflate.client_max_window_bits <= 15);
}

WebSocketService::~WebSocketService() = default;

void WebSocketService::report_misuse(std::string_view what, std::string_view instead) {
    // At most one line a second: a handler may misuse each of its messages.
    if (loop_->log() == nullptr || misuse_second_ == loop_->unix_now()) return;
    misuse_second_ = loop_->unix_now();
    loop_->log()->warning("websocket", what, log::field("instead", instead));
}

// Grows to the largest piece that one on_data() brings. A frame is taken in pieces, so a large
// message does not make it larger.
char* WebSocketService::unmask_scratch(std::size_t bytes) {
    if (unmasked_.size() < bytes) unmasked_.resize(std::max(bytes, std::size_t{64_KiB}));
    return unmasked_.data();
}

std::string& WebSocketService::inflate_scratch() {
    return emptied(inflated_);
}
std::string& WebSocketService::deflate_scratch() {
    return emptied(deflated_);
}

wire::WebSocketDeflater& WebSocketService::deflater(int window_bits) {
    auto& deflater = deflaters_[static_cast<std::size_t>(window_bits - 9)];
    if (deflater == nullptr) {
        deflater = std::make_unique<wire::WebSocketDeflater>(window_bits, options_.deflate_level);
    }
    return *deflater;
}

wire::WebSocketInflater& WebSocketService::inflater() {
    if (inflater_ == nullptr) inflater_ = std::make_unique<wire::WebSocketInflater>();
    return *inflater_;
}

wire::WebSocketMask WebSocketService::random_mask() {
    wire::WebSocketMask mask;
    // Masks must be unpredictable (RFC 6455, 5.3). Each call to the system fetches many.
    if (random_used_ + mask.key.size() > random_.size()) {
        secure_random(random_);
        random_used_ = 0;
    }
    std::copy_n(random_.begin() + static_cast<std::ptrdiff_t>(random_used_), mask.key.size(),
                mask.key.begin());
    random_used_ += mask.key.size();
    return mask;
}

std::unique_ptr<WebSocketService::Context> WebSocketService::take_context() {
    if (contexts_ >= options_.context_sockets_max) return nullptr;
    return std::make_unique<Context>(*this);
}

}  // namespace tiderace::http
