#include "tiderace/http/app/signed/signed_urls.h"

#include <charconv>
#include <optional>
#include <stdexcept>

#include "tiderace/http/app/problem.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::http {
namespace {

// With a space, which no cookie's name has: the keys may sign cookies, too.
constexpr std::string_view kind = "signed url";
constexpr std::string_view expires_mark = "expires=";
constexpr std::string_view signature_mark = "&signature=";

// Neither a method nor a query holds a line's end.
std::string text_of(std::string_view method, std::string_view path, std::string_view query) {
    std::string text(method);
    text += '\n';
    text += query;
    text += '\n';
    text += path;
    return text;
}

// The number at the end of a query: "…&expires=7".
std::optional<UnixSeconds> expiry_of(std::string_view query) {
    const std::size_t before = query.rfind('&');
    std::string_view last = before == query.npos ? query : query.substr(before + 1);
    if (!last.starts_with(expires_mark)) return std::nullopt;
    last.remove_prefix(expires_mark.size());
    UnixSeconds expires = 0;
    const char* const end = last.data() + last.size();
    const auto [at, fault] = std::from_chars(last.data(), end, expires);
    if (fault != std::errc() || at != end) return std::nullopt;
    return expires;
}

}  // namespace

std::string SignedUrls::sign(std::string_view target, UnixSeconds expires,
                             std::string_view method) const {
    std::string room(target.size() * wire::uri_growth_max, '\0');
    wire::BoundedText escaped(room);
    const bool fits = wire::append_uri_reference(escaped, target);
    const std::string_view uri = escaped.view();
    const std::size_t mark = uri.find('?');
    const std::string_view raw_path = uri.substr(0, mark);
    std::string scratch(raw_path.size(), '\0');
    const wire::PathResult path = wire::canonicalize(raw_path, scratch);
    if (!fits || path.fault != wire::PathFault::none || uri.contains('#')) {
        throw std::invalid_argument("no client can request this path, so it cannot be signed");
    }
    std::string query;
    if (mark != uri.npos && mark + 1 < uri.size()) {
        query = uri.substr(mark + 1);
        query += '&';
    }
    query += expires_mark;
    query += std::to_string(expires);
    std::string url(raw_path);
    url += '?';
    url += query;
    url += signature_mark;
    url += keys_.sign(kind, text_of(method, path.path, query));
    return url;
}

SignedUrls::Verdict SignedUrls::verify(const Request& request, UnixSeconds now) const {
    constexpr std::size_t tail = signature_mark.size() + SigningKeys::signature_chars;
    if (request.query.size() < tail) return Verdict::unsigned_or_changed;
    const ByteView query = request.query.substr(0, request.query.size() - tail);
    const ByteView rest = request.query.substr(query.size());
    const auto expires = expiry_of(query);
    if (!rest.starts_with(signature_mark) || !expires) return Verdict::unsigned_or_changed;
    const std::string_view method = request.is_get_or_head() ? "GET" : request.method_name();
    const std::string text = text_of(method, request.path, query);
    if (!keys_.verify(kind, text, rest.substr(signature_mark.size()))) {
        return Verdict::unsigned_or_changed;
    }
    return now < *expires ? Verdict::good : Verdict::expired;
}

Middleware signed_urls(SignedUrls urls) {
    const auto check = [urls = std::move(urls)](const Request& request,
                                                core::EventLoop& loop) -> std::optional<Problem> {
        const SignedUrls::Verdict verdict = urls.verify(request, loop.unix_now());
        if (verdict == SignedUrls::Verdict::good) return std::nullopt;
        const bool expired = verdict == SignedUrls::Verdict::expired;
        return Problem{.status = 403,
                       .detail = expired ? "the link has expired" : "the link is not signed"};
    };
    return Middleware(check).noted({.refusals = {403}});
}

}  // namespace tiderace::http
