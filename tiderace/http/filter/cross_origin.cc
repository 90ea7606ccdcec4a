#include "tiderace/http/filter/cross_origin.h"

#include <algorithm>

#include "tiderace/base/ascii.h"

namespace tiderace::http::filter {

using wire::FieldName;

bool CrossOrigin::may_pass(const Request& request) const {
    if (request.is_get_or_head() || request.method() == wire::Method::options) return true;
    // A WebSocket's, whose route decides about origins: over HTTP/1.1 it is a GET.
    if (request.method() == wire::Method::connect) return true;
    const ByteView origin = request.header(FieldName::origin);
    if (!origin.empty() && std::ranges::find(trusted_, origin) != trusted_.end()) return true;
    const ByteView site = request.header(FieldName::sec_fetch_site);
    // Browsers set Sec-Fetch-Site, and no page can; "none" is a bookmark or a typed address.
    if (!site.empty()) return site == "same-origin" || site == "none";
    // Neither field: current browsers send one of them, so this is no page of another site.
    if (!request.has(FieldName::origin)) return true;
    // "null" (a sandbox, a file) has no host, and is not ours.
    const std::size_t scheme = origin.find("://");
    return scheme != ByteView::npos && !request.authority.empty() &&
           equals_ignoring_case(origin.substr(scheme + 3), request.authority);
}

AccessRule::Verdict CrossOrigin::check(Exchange& exchange) {
    if (may_pass(exchange.request())) return Verdict::pass;
    exchange.respond_status(403);
    return Verdict::answered;
}

}  // namespace tiderace::http::filter
