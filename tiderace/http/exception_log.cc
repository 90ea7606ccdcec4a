#include "tiderace/http/exception_log.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "tiderace/core/contain.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/log/type_name.h"

namespace tiderace::http {
namespace {

std::string message_of_current() {
    try {
        throw;
    } catch (const std::exception& error) {
        return std::string(ByteView(error.what()).substr(0, ExceptionLog::what_bytes_max));
    } catch (...) {
        return "not a std::exception";
    }
}

}  // namespace

ExceptionLog::~ExceptionLog() {
    if (loop_ != nullptr) loop_->cancel(*this);
    if (loop_ != nullptr) report();
}

void ExceptionLog::write(Exchange& exchange, std::string_view thrower) noexcept {
    log::Logger* const log = exchange.loop().log();
    if (log == nullptr) return;
    bool written = false;
    try {
        const Matched* const matched = exchange.matched();
        write_line(exchange, {.thrower = thrower,
                              .route = std::string(matched != nullptr ? matched->pattern : ""),
                              .type = log::current_exception_type(),
                              .what = message_of_current()});
        written = true;
    } catch (...) {  // without memory; the exception of the application is current again below
    }
    if (!written) core::log_exception(log, "http", thrower);
}

void ExceptionLog::write_line(Exchange& exchange, Kind kind) {
    if (const auto known = std::ranges::find(kinds_, kind); known != kinds_.end()) {
        ++known->more;
        return;
    }
    if (kinds_.size() == kinds_max) {
        ++others_;
        return;
    }
    const Request& request = exchange.request();
    exchange.loop().log()->error(
        "http", "an exception was caught; its work is dropped", log::field("by", kind.thrower),
        log::field("request_id", request.id()), log::field("method", request.method_name()),
        log::field("route", kind.route), log::field("type", kind.type),
        log::field("what", kind.what));
    if (kinds_.empty()) {
        loop_ = &exchange.loop();
        loop_->assert_on_loop();
        loop_->arm(*this, loop_->now() + fold_time);
    }
    kinds_.push_back(std::move(kind));
}

void ExceptionLog::on_expired() {
    report();
    kinds_.clear();
    others_ = 0;
}

void ExceptionLog::report() {
    log::Logger* const log = loop_->log();
    if (log == nullptr) return;
    for (const Kind& kind : kinds_) {
        if (kind.more == 0) continue;
        log->error("http", "the same exception again", log::field("count", kind.more),
                   log::field("by", kind.thrower), log::field("route", kind.route),
                   log::field("type", kind.type), log::field("what", kind.what));
    }
    if (others_ > 0) {
        log->error("http", "exceptions of other kinds, which were not logged",
                   log::field("count", others_));
    }
}

}  // namespace tiderace::http
