// Internal. FoldedLog: faults that each request may repeat, as lines of the loop's log.
// ExceptionLog: what leaves code of the application.
//
//   error http: an exception was caught; its work is dropped by="a handler" request_id=4bf9…
//     method=GET route=/users/{id} type=std::runtime_error what="the stock is empty"
//   error http: the same exception again count=311 by="a handler" route=… type=… what=…
//
// Identical ones are one line, and one more with their number when fold_time has passed. So a
// handler that throws for each request does not fill the disk, nor does one whose message a client
// can choose: above kinds_max, they are counted together.
//
// Owner    FoldedLog: whoever meets the fault. ExceptionLog: SiteLoop.
// Thread   The loop's.
// Errors   ExceptionLog, without memory: the line of core::log_exception.
// Limits   kinds_max lines in a fold_time; of an exception's message what_bytes_max.
// Keywords: exception, 500, log flood
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/core/event_loop.h"
#include "tiderace/log/field.h"
#include "tiderace/log/level.h"

namespace tiderace::http {

class Exchange;

class FoldedLog final : private core::Timer {
  public:
    static constexpr std::size_t kinds_max = 32;
    static constexpr Duration fold_time = 10s;

    // Of one kind of fault: literals.
    struct Words {
        log::Level level;
        std::string_view scope;
        std::string_view again;   // begins the line with the number
        std::string_view others;  // of kinds above the limit
    };
    using Same = std::vector<std::pair<std::string_view, std::string>>;

    explicit FoldedLog(const Words& words) : words_(words) {}
    ~FoldedLog() override;

    // Those with the same fields are identical, whatever is in `once`, which stands behind the
    // first of them. The loop has a log, and is always the same.
    void write(core::EventLoop& loop, std::string_view text, Same same,
               std::initializer_list<log::Field> once);

  private:
    struct Kind {
        Same same;
        std::uint64_t more = 0;  // since its line
    };

    void on_expired() override;
    void report();

    Words words_;
    core::EventLoop* loop_ = nullptr;
    std::vector<Kind> kinds_;  // of this period, which began with the first of them
    std::uint64_t others_ = 0;
};

class ExceptionLog {
  public:
    static constexpr std::size_t what_bytes_max = 400;

    // Inside a catch. `thrower`: "a handler", a literal.
    void write(Exchange& exchange, std::string_view thrower) noexcept;

  private:
    FoldedLog lines_{{.level = log::Level::error,
                      .scope = "http",
                      .again = "the same exception again",
                      .others = "exceptions of other kinds, which were not logged"}};
};

}  // namespace tiderace::http
