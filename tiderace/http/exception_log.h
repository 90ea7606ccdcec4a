// Internal. ExceptionLog: what leaves code of the application, as lines of the loop's log:
//
//   error http: an exception was caught; its work is dropped by="a handler" request_id=4bf9…
//     method=GET route=/users/{id} type=std::runtime_error what="the stock is empty"
//   error http: the same exception again count=311 by="a handler" route=… type=… what=…
//
// Identical ones (thrower, route, type, message) are one line, and one more with their number
// when fold_time has passed. So a handler that throws for each request does not fill the disk, nor
// does one whose message a client can choose: above kinds_max, they are counted together.
//
// Owner    SiteLoop.
// Thread   The loop's.
// Errors   Without memory: the line of core::log_exception.
// Limits   kinds_max lines in a fold_time; of a message what_bytes_max.
// Keywords: exception, 500, log flood
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/core/event_loop.h"

namespace tiderace::http {

class Exchange;

class ExceptionLog final : private core::Timer {
  public:
    static constexpr std::size_t kinds_max = 32;
    static constexpr Duration fold_time = 10s;
    static constexpr std::size_t what_bytes_max = 400;

    ExceptionLog() = default;
    ~ExceptionLog() override;

    // Inside a catch. `thrower`: "a handler", a literal.
    void write(Exchange& exchange, std::string_view thrower) noexcept;

  private:
    struct Kind {
        std::string_view thrower;
        std::string route;
        std::string type;
        std::string what;
        std::uint64_t more = 0;  // since its line
        bool operator==(const Kind& other) const {
            return thrower == other.thrower && route == other.route && type == other.type &&
                   what == other.what;
        }
    };

    void write_line(Exchange& exchange, Kind kind);
    void on_expired() override;
    void report();

    core::EventLoop* loop_ = nullptr;
    std::vector<Kind> kinds_;  // of this period, which began with the first of them
    std::uint64_t others_ = 0;
};

}  // namespace tiderace::http
