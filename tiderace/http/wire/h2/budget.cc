#include "tiderace/http/wire/h2/budget.h"

#include <algorithm>
#include <array>

namespace tiderace::http::wire {
namespace {

// In the order of the enum. A request that is answered costs nothing in the end; one that was reset
// or refused keeps its price and adds to it, whichever side sent the RST_STREAM.
constexpr std::uint32_t request_price = 10;
// What honest clients send with a request: entries for the table, WINDOW_UPDATE, PRIORITY_UPDATE.
constexpr std::uint32_t company_price = 20;
constexpr auto prices = std::to_array<std::uint32_t>({
    request_price,  // request
    20,             // request_refused
    5,              // trailers
    10,             // continuation
    1,              // data
    10,             // empty_data
    20,             // peer_reset
    40,             // fault
    5,              // late_frame
    20,             // ping
    20,             // settings
    5,              // ack
    1,              // window_update
    5,              // priority
    20,             // goaway
    10,             // unknown_frame
    1,              // table_insertion
});
static_assert(prices.size() == h2_acts);

// A frame of DATA that is at least this long pays for itself: a small WebSocket message does, a
// flood of single bytes does not.
constexpr std::uint32_t bytes_per_unit = 64;

}  // namespace

std::uint32_t price_of(H2Act act) {
    return prices[static_cast<std::size_t>(act)];
}

void H2Budget::add(std::uint64_t units) {
    units_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(units_ + units, limits_.units_max));
}

void H2Budget::refill(Instant now) {
    if (now <= filled_ || limits_.units_per_second == 0) return;
    const Duration unit = Duration(1s) / limits_.units_per_second;
    const auto units = (now - filled_) / unit;
    filled_ += units * unit;  // what is left of the time makes the next unit
    add(static_cast<std::uint64_t>(units));
}

bool H2Budget::charge(H2Act act, Instant now, std::uint32_t times) {
    const std::uint64_t price = std::uint64_t{price_of(act)} * times;
    // Only when it runs short, so that most frames cost no division.
    if (price > units_) refill(now);
    const bool enough = price <= units_;
    units_ = enough ? units_ - static_cast<std::uint32_t>(price) : 0;
    return enough;
}

// More than the request cost, because the frames that honest clients send with it also cost.
void H2Budget::answered() {
    add(request_price + company_price);
}

void H2Budget::transferred(std::size_t bytes) {
    const std::uint64_t sum = std::uint64_t{transferred_} + bytes;
    transferred_ = static_cast<std::uint32_t>(sum % bytes_per_unit);
    add(sum / bytes_per_unit);
}

}  // namespace tiderace::http::wire
