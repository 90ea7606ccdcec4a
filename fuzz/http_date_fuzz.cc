// Any bytes as a date: a parsed date is written back as the same moment, and in its own form where
// that is the one we write.
#include <cstdint>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/http_date.h"

namespace tiderace::http::wire {
namespace {

constexpr UnixSeconds year_2026 = 1'767'225'600;
constexpr UnixSeconds fifty_one_years = 51ll * 366 * 86'400;

void check_date(ByteView text) {
    const auto time = parse_http_date(text, year_2026);
    if (!time) return;
    TR_CHECK(*time >= 0 && *time <= http_date_max);
    const auto written = format_http_date(*time);
    const ByteView view(written.data(), written.size());
    TR_CHECK(parse_http_date(view, 0) == time);
    const bool leap_second = text.find(":60") != ByteView::npos;
    const bool rfc850 = text.find('-') != ByteView::npos;
    if (text.size() == 29 && !rfc850) TR_CHECK(leap_second || view == text);
    if (rfc850) TR_CHECK(*time < year_2026 + fifty_one_years);
}

}  // namespace
}  // namespace tiderace::http::wire

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    tiderace::http::wire::check_date({reinterpret_cast<const char*>(data), size});
    return 0;
}
