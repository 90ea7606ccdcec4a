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

#include <compare>
#include <cstdint>
#include <string>

#include "tiderace/base/units.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/handler.h"

namespace tiderace::http {

struct Chain;
struct Matched;

// What a connection gives each message, whatever its version.
struct MessageOptions {
    // From the first byte (on a fresh connection: from accept) to the head's end; in HTTP/2 for the
    // preface and any frame.
    Duration header_timeout = 10s;
    Duration body_timeout = 30s;  // some of a body arrives at least this often
    // Over each body_timeout; 0: one byte is enough.
    std::uint64_t receive_bytes_per_second_min = 0;
    Duration idle_timeout = 60s;  // between requests; in HTTP/2 without a stream
    // A peer that ended its side, and may still read, is served as long as its answers make
    // progress at least this often.
    Duration half_closed_timeout = 30s;
    // For a body that no handler reads; above: close, or in HTTP/2 reset.
    std::uint64_t body_bytes_max = 64_KiB;
    std::string server_name = "tiderace";  // the Server field; "" for none
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
    std::uint64_t body_bytes = 0;      // sent, or queued where the answer was small
    std::uint64_t received_bytes = 0;  // of the request's body
    Duration duration{};  // from the request's first complete head to the answer's last byte
    Duration head{};      // to its first
    UnixSeconds when = 0;
    const Chain* chain = nullptr;  // of the request's scope; nullptr: it was answered before that
    const Matched* matched = nullptr;  // Exchange::matched()
    wire::TurnedAway turned_away = wire::TurnedAway::no;
    wire::Refusal refusal = wire::Refusal::none;
};

enum class AccessLogFormat : std::uint8_t {
    common,    // 192.0.2.7 - - [21/Nov/2026:08:00:00 +0000] "GET / HTTP/1.1" 200 612
    combined,  // the same and "referer" "user agent"
    // {"time":"2026-11-21T08:00:00Z","request_id":"4bf9…","method":"GET",…,
    //  "route":"/users/{id}","duration_us":41}
    json,
};

// Which answers are logged, and what of them.
struct AccessLogRules {
    std::uint32_t fields = 0;    // of JSON: a bit for each LogField; 0: the usual ones
    bool redacts_query = false;  // of queries only the names are kept
    std::uint8_t thinned = 0;    // statuses, a bit for each hundred: 1 << 2 for 2xx
    double kept_of_thinned = 0;  // 0 .. 1: this part of their lines
    auto operator<=>(const AccessLogRules&) const = default;
};

// Where answers are logged: one line each (http/access_log.h).
struct AccessLogTarget {
    std::string path = "-";  // a file, appended to; "-": standard output; "off": nowhere
    AccessLogFormat format = AccessLogFormat::combined;
    AccessLogRules rules = {};
    bool operator==(const AccessLogTarget&) const = default;
};

class AccessLog {
  public:
    virtual ~AccessLog() = default;
    virtual void write(const AccessRecord& record) = 0;
};

}  // namespace tiderace::http
