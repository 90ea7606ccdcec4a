// Internal. H2Budget: one purse for all that a peer can make a connection do (rapid reset,
// MadeYouReset, floods of PING, SETTINGS, PRIORITY, empty and tiny frames, CONTINUATION, table
// thrash …).
//
// Every act of the peer has a price in units of work; useful work that it asked for and took, and
// time, fill the purse again. A limit for each trick would be a list of the tricks that are known;
// this bounds work without reward, whatever its shape. Over it: GOAWAY with ENHANCE_YOUR_CALM.
//
// Owner    The connection.
// Thread   One at a time; time is handed in.
// Errors   charge() is false once the purse is empty; it stays false for that call only.
// Limits   H2BudgetLimits.
// Memory   32 bytes.
// Keywords: rapid reset, flood, DoS, ENHANCE_YOUR_CALM
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/base/units.h"

namespace tiderace::http::wire {

// One unit is about the cost of a frame that causes neither an answer nor a look-up.
struct H2BudgetLimits {
    std::uint32_t units_max = 10'000;
    std::uint32_t units_per_second = 2'000;
};

enum class H2Act : std::uint8_t {
    request,          // a HEADERS frame that opens a stream
    request_refused,  // and was answered without a handler: 4xx, REFUSED_STREAM
    trailers,
    continuation,
    data,        // a DATA frame with something in it
    empty_data,  // one with nothing in it and no END_STREAM
    peer_reset,  // RST_STREAM of a stream whose answer was not complete
    fault,       // a stream error: we had to send RST_STREAM
    late_frame,  // on a closed stream
    ping,        // answered
    settings,    // answered
    ack,         // of PING or SETTINGS, whether we asked or not
    window_update,
    priority,  // PRIORITY, PRIORITY_UPDATE
    goaway,
    unknown_frame,
    table_insertion  // into HPACK's dynamic table
};
inline constexpr std::size_t h2_acts = 17;

std::uint32_t price_of(H2Act act);

class H2Budget {
  public:
    explicit H2Budget(Instant now, const H2BudgetLimits& limits = {})
        : limits_(limits), units_(limits.units_max), filled_(now) {}

    // False: the purse was empty. The connection ends with ENHANCE_YOUR_CALM.
    [[nodiscard]] bool charge(H2Act act, Instant now, std::uint32_t times = 1);

    // Useful work, which gives back what asking for it cost.
    void answered();                      // an answer of a handler went out whole
    void transferred(std::size_t bytes);  // of DATA, used by a handler or sent

    std::uint32_t units() const { return units_; }

  private:
    void add(std::uint64_t units);
    void refill(Instant now);

    H2BudgetLimits limits_;
    std::uint32_t units_;
    std::uint32_t transferred_ = 0;  // bytes that do not fill a unit yet
    Instant filled_;
};

}  // namespace tiderace::http::wire
