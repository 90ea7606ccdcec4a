// HTTP-date (RFC 9110 section 5.6.7): written as IMF-fixdate, read in all three forms.
//
//   IMF-fixdate  Sun, 06 Nov 1994 08:49:37 GMT      what we write
//   RFC 850      Sunday, 06-Nov-94 08:49:37 GMT     two digits of year: see parse_http_date
//   asctime      Sun Nov  6 08:49:37 1994
//
// Thread   Any; no state, no locale, no clock.
// Errors   nullopt: not a date. A field that holds one is ignored, never refused.
// Limits   Years 1970 to 9999.
// Keywords: Date, Last-Modified, Expires
#pragma once

#include <array>
#include <optional>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"

namespace tiderace::http::wire {

inline constexpr UnixSeconds http_date_max = 253'402'300'799;  // 9999-12-31 23:59:59

// A time outside the limits (a file's may be anything) becomes the nearest one inside.
std::array<char, 29> format_http_date(UnixSeconds time);

// Strict: the exact length, case and spacing of its form, a day that the month has, and the weekday
// of that day. 23:59:60 is the second after 23:59:59. A two-digit year means
// the last year with these digits that begins no more than 50 years after `now`.
std::optional<UnixSeconds> parse_http_date(ByteView text, UnixSeconds now);

}  // namespace tiderace::http::wire
