// Logger: the log, for a handler or middleware. Each line has the id, the method and the route of
// its request:
//
//   app.post<"/orders">([](Json<Order> order, Logger log) -> Task<Created<Order>> {
//       log.info("an order", log::field("items", order->items.size()));
//       …
//   });
//
//   2026-11-21T08:00:00.125Z info app: an order request_id=4bf9… method=POST route=/orders items=3
//
// The text is the program's own; what comes from a client belongs into fields, which are escaped:
// no value of a field ends a line or begins another field. ServeOptions::log has the format, the
// destination and the level.
//
// Owner    A value of the handler's. It may outlive its request, and be copied.
// Thread   The loop's that it was made on, whose logger and tree it borrows.
// Errors   A full ring drops the line, and the log reports how many later (log/logger.h).
// Limits   A line of 4 KiB: fields behind it are left out, and the line says truncated=true.
// Keywords: log, structured logging, request id
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tiderace/core/shared.h"
#include "tiderace/http/app/call.h"
#include "tiderace/log/logger.h"

namespace tiderace::http {

class Logger final {
  public:
    explicit Logger(Exchange& exchange);

    void debug(ByteView text, const std::same_as<log::Field> auto&... fields) const {
        write(log::Level::debug, text, fields...);
    }
    void info(ByteView text, const std::same_as<log::Field> auto&... fields) const {
        write(log::Level::info, text, fields...);
    }
    void warning(ByteView text, const std::same_as<log::Field> auto&... fields) const {
        write(log::Level::warning, text, fields...);
    }
    void error(ByteView text, const std::same_as<log::Field> auto&... fields) const {
        write(log::Level::error, text, fields...);
    }
    // False: such a line is not written, and its fields need not be made.
    bool enabled(log::Level level) const { return to_ != nullptr && to_->enabled(level); }

  private:
    static constexpr std::size_t own_fields = 3;

    void write(log::Level level, ByteView text, const auto&... fields) const {
        if (!enabled(level)) return;
        const ByteView id(id_.data(), id_bytes_);
        const std::array<log::Field, own_fields + sizeof...(fields)> all{
            log::field("request_id", id), log::field("method", method_),
            log::field("route", route_), fields...};
        to_->write(level, "app", text, all);
    }

    log::Logger* to_;               // nullptr: the loop has no log
    core::Ref<core::Shared> tree_;  // which has the route
    std::string_view route_;        // "": none
    std::string_view method_;
    std::array<char, Request::id_bytes_max> id_;
    std::uint8_t id_bytes_ = 0;
};

namespace app_parts {

template <>
struct Argument<Logger> {
    static std::optional<Logger> find(Call& call) { return Logger(call.exchange); }
    static Logger pass(std::optional<Logger>& found) { return *found; }
};

}  // namespace app_parts
}  // namespace tiderace::http
