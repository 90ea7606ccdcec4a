#include "tiderace/http/h2/service.h"

#include <utility>

#include "tiderace/http/h2/connection.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"
#include "tiderace/http/wire/http_date.h"

namespace tiderace::http {

H2Service::H2Service(core::EventLoop& loop, SiteLoop& site, H2Options options)
    : loop_(&loop),
      site_(&site),
      options_(std::move(options)),
      buffers_(options_.head.target_bytes_max) {
    spare_.reserve(spare_exchanges_max);  // giving one back does not allocate
}

H2Service::~H2Service() {
    // Each Session on a stream gets its on_close, so that none of them leaks.
    tunnels_.for_each([](net::ConnectionId, net::Connection& connection) {
        connection.loop().assert_on_loop();
        connection.close(net::CloseReason::server_stopped);
    });
    // A connection ends at the end of a turn, never inside the call that closes it.
    while (tunnels_.size() > 0) loop_->turn(Duration::zero());
}

net::Session& H2Service::make_session(net::Connection& connection) {
    ++counters_.connections;
    return *new H2Connection(*this, connection);
}

// Rendered once a second: all answers of a second have the same date.
ByteView H2Service::standing_fields() {
    if (loop_->unix_now() != standing_second_) {
        standing_second_ = loop_->unix_now();
        standing_fields_.clear();
        if (!options_.server_name.empty()) {
            wire::append_hpack_field(standing_fields_, wire::FieldName::server,
                                     options_.server_name);
        }
        const auto date = wire::format_http_date(standing_second_);
        wire::append_hpack_field(standing_fields_, wire::FieldName::date,
                                 {date.data(), date.size()});
    }
    return standing_fields_;
}

std::span<char> H2Service::arena(const wire::HpackDecoder& decoder) {
    // In test builds a new one for each block, so that a stale view is found.
    if constexpr (poisons_old_views) forget_arena();
    // One for all connections of the loop: a block is decoded and handled within one call.
    if (arena_.empty()) arena_.resize(wire::h2_arena_bytes(options_.head, decoder));
    return arena_;
}

void H2Service::forget_arena() {
    if constexpr (poisons_old_views) std::vector<char>().swap(arena_);
}

core::Ref<H2Exchange> H2Service::take_exchange() {
    // Spare ones keep their buffers, so that a busy loop allocates nothing for a request.
    if (spare_.empty()) return core::make_ref<H2Exchange>(*this);
    core::Ref<H2Exchange> exchange = std::move(spare_.back());
    spare_.pop_back();
    return exchange;
}

void H2Service::give_back(core::Ref<H2Exchange> exchange) {
    // A handler that deferred it may still hold a reference, which then keeps it alive.
    if (!exchange || spare_.size() >= spare_exchanges_max || !exchange.only_owner()) return;
    exchange->recycle();
    spare_.push_back(std::move(exchange));
}

net::Connection& H2Service::make_tunnel(std::unique_ptr<net::Transport> transport,
                                        const core::Address& peer) {
    return tunnels_.emplace(static_cast<net::Connection::Owner&>(*this), std::move(transport),
                            peer);
}

void H2Service::release(net::Connection& connection, net::CloseReason) {
    tunnels_.erase(connection.id());
}

}  // namespace tiderace::http
