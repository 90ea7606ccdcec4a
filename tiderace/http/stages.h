// Internal. The stages that every request walks through, in this order, whatever the version of
// HTTP, and what may stand in them:
//
//   limits    the connection's parser and framing checks
//   match     which endpoint answers, and which scope it is in (site.h)
//   access    access rules: pass, or answer (401, 403, a CORS preflight)
//   handler   the endpoint answers
//   filters   response filters: error pages, added fields
//   log       the access log
//
// Owner    What makes them; one per loop, outliving the loop's last turn.
// Thread   The loop's.
#pragma once

#include <cstdint>
#include <string>

#include "tiderace/base/units.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/handler.h"

namespace tiderace::http {

struct Chain;

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
        later,  // deferred: goes on with Exchange::resume(), or answers
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
    const Chain* chain = nullptr;  // of the request's scope; nullptr: it was answered before that
};

enum class AccessLogFormat : std::uint8_t {
    common,    // 192.0.2.7 - - [21/Nov/2026:08:00:00 +0000] "GET / HTTP/1.1" 200 612
    combined,  // the same and "referer" "user agent"
    json,  // {"time":"2026-11-21T08:00:00Z","peer":"192.0.2.7","method":"GET",…,"duration_us":41}
};

// Where answers are logged: one line each (http/access_log.h).
struct AccessLogTarget {
    std::string path = "-";  // a file, appended to; "-": standard output; "off": nowhere
    AccessLogFormat format = AccessLogFormat::combined;
    bool operator==(const AccessLogTarget&) const = default;
};

class AccessLog {
  public:
    virtual ~AccessLog() = default;
    virtual void write(const AccessRecord& record) = 0;
};

}  // namespace tiderace::http
