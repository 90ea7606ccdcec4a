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

FoldedLog::~FoldedLog() {
    if (loop_ != nullptr) loop_->cancel(*this);
    if (loop_ != nullptr) report();
}

void FoldedLog::write(core::EventLoop& loop, std::string_view text, Same same,
                      std::initializer_list<log::Field> once) {
    if (const auto known = std::ranges::find(kinds_, same, &Kind::same); known != kinds_.end()) {
        ++known->more;
        return;
    }
    if (kinds_.size() == kinds_max) {
        ++others_;
        return;
    }
    std::vector<log::Field> fields(once);
    for (std::size_t i = 0; i < same.size(); ++i) {
        const auto& [key, value] = same[i];
        fields.insert(i == 0 ? fields.begin() : fields.end(), log::field(key, value));
    }
    loop.log()->write(words_.level, words_.scope, text, fields);
    if (kinds_.empty()) {
        loop_ = &loop;
        loop_->assert_on_loop();
        loop_->arm(*this, loop_->now() + fold_time);
    }
    kinds_.push_back({std::move(same)});
}

void FoldedLog::on_expired() {
    report();
    kinds_.clear();
    others_ = 0;
}

void FoldedLog::report() {
    log::Logger* const log = loop_->log();
    if (log == nullptr) return;
    for (const Kind& kind : kinds_) {
        if (kind.more == 0) continue;
        std::vector<log::Field> fields{log::field("count", kind.more)};
        for (const auto& [key, value] : kind.same) fields.push_back(log::field(key, value));
        log->write(words_.level, words_.scope, words_.again, fields);
    }
    if (others_ == 0) return;
    const log::Field count = log::field("count", others_);
    log->write(words_.level, words_.scope, words_.others, {&count, 1});
}

void ExceptionLog::write(Exchange& exchange, std::string_view thrower) noexcept {
    log::Logger* const log = exchange.loop().log();
    if (log == nullptr) return;
    bool written = false;
    try {
        const Matched* const matched = exchange.matched();
        const Request& request = exchange.request();
        lines_.write(
            exchange.loop(), "an exception was caught; its work is dropped",
            {{"by", std::string(thrower)},
             {"route", std::string(matched != nullptr ? matched->pattern : "")},
             {"type", log::current_exception_type()},
             {"what", message_of_current()}},
            {log::field("request_id", request.id()), log::field("method", request.method_name())});
        written = true;
    } catch (...) {  // without memory; the exception of the application is current again below
    }
    if (!written) core::log_exception(log, "http", thrower);
}

}  // namespace tiderace::http
