// Site: the stages that every request walks through, in this order, whatever the version of HTTP.
//
//   limits    the connection's parser and framing checks
//   access    access rules: pass, or answer (401, 403, a CORS preflight)
//   handler   one handler answers
//   filters   response filters: error pages, added fields
//   log       the access log
//
// Owner    The program; one per loop. Borrows its parts, which outlive it.
// Thread   The loop's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/handler.h"

namespace tiderace::http {

class ExchangeDoor;

// What a connection gives each message, whatever its version (H1Options, H2Options).
struct MessageDefaults {
    static constexpr Duration header_timeout = 10s;
    static constexpr Duration body_timeout = 30s;
    static constexpr Duration idle_timeout = 60s;
    static constexpr Duration half_closed_timeout = 30s;
    static constexpr std::uint64_t body_bytes_max = 64_KiB;
    static constexpr const char* server_name = "tiderace";
};

class AccessRule {
  public:
    enum class Verdict : std::uint8_t {
        pass,
        answered,
        later,  // deferred: goes on with Site::resume(exchange), or answers
    };
    virtual ~AccessRule() = default;
    virtual Verdict check(Exchange& exchange) = 0;
};

class ResponseFilter {
  public:
    virtual ~ResponseFilter() = default;
    // May defer() the exchange, so that a body it makes can call body_ready() later.
    virtual void filter(Exchange& exchange, Response& response) = 0;
};

// One finished answer, for the log. The views live for the call.
struct AccessRecord {
    const Request* request = nullptr;
    int status = 0;
    std::uint64_t body_bytes = 0;  // sent, or queued where the answer was small
    Duration duration{};  // from the request's first complete head to the answer's last byte
    UnixSeconds when = 0;
    const ResponseFilter* route = nullptr;  // of the request's route (Exchange::set_route_filter)
};

enum class AccessLogFormat : std::uint8_t {
    common,    // 192.0.2.7 - - [21/Nov/2026:08:00:00 +0000] "GET / HTTP/1.1" 200 612
    combined,  // the same and "referer" "user agent"
    json,  // {"time":"2026-11-21T08:00:00Z","peer":"192.0.2.7","method":"GET",…,"duration_us":41}
};

class AccessLog {
  public:
    virtual ~AccessLog() = default;
    virtual void write(const AccessRecord& record) = 0;
};

class Site {
  public:
    explicit Site(Handler& handler) : handler_(&handler) {}
    ~Site();
    Site(const Site&) = delete;
    Site& operator=(const Site&) = delete;

    void add(AccessRule& rule) { access_.push_back(&rule); }
    void add(ResponseFilter& filter) { filters_.push_back(&filter); }
    void set_log(AccessLog& log) { log_ = &log; }

    // Runs access and handler. Their exceptions are answered 500.
    void serve(Exchange& exchange);
    // Goes on after a rule that said `later` has decided to let the request pass.
    void resume(Exchange& exchange);
    void filter(Exchange& exchange, Response& response) const;
    AccessLog* log() const { return log_; }
    // Where there is a log: what it throws ends here.
    void write_log(log::Logger* faults, const AccessRecord& record) const;
    // The way back from other threads, made when it is first asked for.
    std::shared_ptr<ExchangeDoor> door(core::EventLoop& loop);

  private:
    Handler* handler_;
    std::vector<AccessRule*> access_;
    std::vector<ResponseFilter*> filters_;
    AccessLog* log_ = nullptr;
    std::shared_ptr<ExchangeDoor> door_;
};

}  // namespace tiderace::http
