// A Cookie field: each pair lies in it, can be sent again as a cookie of ours, and is read as the
// same pair alone. The same bytes as a form: it always fits, and it is read back unchanged.
#include <array>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/cookie.h"
#include "tiderace/http/wire/query.h"

namespace tiderace::http::wire {
namespace {

void check_field(ByteView field) {
    for (CookiePairs pairs(field); auto pair = pairs.next();) {
        TR_CHECK(pair->name.data() >= field.data());
        TR_CHECK(pair->value.data() + pair->value.size() <= field.data() + field.size());
        const SetCookie cookie{.name = pair->name, .value = pair->value};
        const CookieFault fault = check_cookie(cookie);
        TR_CHECK(fault == CookieFault::none || fault == CookieFault::too_long);
        std::array<char, set_cookie_bytes_max> memory;
        BoundedText out(memory);
        TR_CHECK(append_set_cookie(out, cookie) == (fault == CookieFault::none));
        TR_CHECK(out.view().find_first_of("\r\n") == ByteView::npos);
        if (fault != CookieFault::none) continue;
        const auto again = CookiePairs(out.view()).next();
        TR_CHECK(again && again->name == pair->name && again->value == pair->value);
    }
}

void check_form(ByteView form) {
    std::vector<char> storage(form.size());
    std::vector<char> written(form.size() * 3 + 2);
    std::vector<char> read_again(written.size());
    QueryPairs pairs(form, storage);
    while (auto pair = pairs.next()) {
        BoundedText out(written);
        TR_CHECK(append_query_pair(out, pair->name, pair->value));
        const auto again = QueryPairs(out.view(), read_again).next();
        TR_CHECK(again && again->name == pair->name && again->value == pair->value);
    }
    TR_CHECK(!pairs.overflowed());
}

}  // namespace
}  // namespace tiderace::http::wire

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const tiderace::ByteView bytes(reinterpret_cast<const char*>(data), size);
    tiderace::http::wire::check_field(bytes);
    tiderace::http::wire::check_form(bytes);
    return 0;
}
