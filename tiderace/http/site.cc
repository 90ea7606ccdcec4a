#include "tiderace/http/site.h"

#include "tiderace/core/contain.h"
#include "tiderace/http/exchange_door.h"

namespace tiderace::http {

Site::~Site() {
    if (door_ != nullptr) door_->close();
}

std::shared_ptr<ExchangeDoor> Site::door(core::EventLoop& loop) {
    if (door_ == nullptr) door_ = std::make_shared<ExchangeDoor>(loop);
    return door_;
}

void Site::serve(Exchange& exchange) {
    exchange.set_site(*this);
    resume(exchange);
}

// The count of passed rules is kept in the exchange, so that a rule that decides later goes on
// where it stopped.
void Site::resume(Exchange& exchange) {
    exchange.run([&] {
        while (exchange.access_done < access_.size()) {
            AccessRule& rule = *access_[exchange.access_done++];
            // It refused and answered, or it decides later and then calls resume(), which goes on
            // behind it.
            if (rule.check(exchange) != AccessRule::Verdict::pass) return;
        }
        handler_->handle(exchange);
    });
}

void Site::filter(Exchange& exchange, Response& response) const {
    for (ResponseFilter* filter : filters_) filter->filter(exchange, response);
}

void Site::write_log(log::Logger* faults, const AccessRecord& record) const {
    core::contain(faults, "http", "the access log", [&] { log_->write(record); });
}

}  // namespace tiderace::http
