#include "tiderace/http/h1/service.h"

#include <algorithm>
#include <utility>

#include "tiderace/http/h1/connection.h"
#include "tiderace/http/wire/http_date.h"

namespace tiderace::http {

H1Service::H1Service(core::EventLoop& loop, SiteLoop& site, H1Options options)
    : loop_(&loop),
      site_(&site),
      options_(std::move(options)),
      buffers_(std::min(options_.head.request_line_bytes_max, options_.head.head_bytes_max)) {
    spare_.reserve(spare_exchanges_max);  // giving one back does not allocate
    held_.reserve(spare_exchanges_max);
}

H1Service::~H1Service() {
    loop_->forget_turn_end(*this);
}

net::Session& H1Service::make_session(net::Connection& connection) {
    // It frees itself in its on_close, or when it hands its connection over.
    return *new H1Connection(*this, connection);
}

// Rendered once a second: all answers of a second have the same date.
ByteView H1Service::standing_fields() {
    if (loop_->unix_now() != standing_second_) {
        standing_second_ = loop_->unix_now();
        standing_fields_.clear();
        if (!options_.server_name.empty()) {
            standing_fields_.append("Server: ").append(options_.server_name).append("\r\n");
        }
        const auto date = wire::format_http_date(standing_second_);
        standing_fields_.append("Date: ").append(date.data(), date.size()).append("\r\n");
    }
    return standing_fields_;
}

core::Ref<H1Exchange> H1Service::take_exchange() {
    if (spare_.empty()) return core::make_ref<H1Exchange>(*this);
    core::Ref<H1Exchange> exchange = std::move(spare_.back());
    spare_.pop_back();
    return exchange;
}

void H1Service::give_back(core::Ref<H1Exchange> exchange) {
    if (!exchange) return;
    if (exchange.only_owner()) return keep(std::move(exchange));
    // A handler that deferred it mostly holds it until its call of respond() returns, which is on
    // the stack. One whose answer broke off may be held for long.
    if (!exchange->answer_complete() || held_.size() == spare_exchanges_max) return;
    held_.push_back(std::move(exchange));
    loop_->assert_on_loop();
    loop_->at_turn_end(*this);
}

void H1Service::on_turn_end() {
    for (core::Ref<H1Exchange>& exchange : held_) {
        if (exchange.only_owner()) keep(std::move(exchange));
    }
    held_.clear();
}

void H1Service::keep(core::Ref<H1Exchange> exchange) {
    if (spare_.size() == spare_exchanges_max) return;
    exchange->recycle();
    spare_.push_back(std::move(exchange));
}

}  // namespace tiderace::http
