#include "tiderace/http/client/cookie_jar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/calendar.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::http {
namespace {

constexpr UnixSeconds never = std::numeric_limits<UnixSeconds>::max();
constexpr UnixSeconds lifetime_max = UnixSeconds{400} * 24 * 3'600;  // RFC 6265bis, 5.5

// What stands before `mark`, without the space around it; `rest` is what follows it.
ByteView cut(ByteView& rest, char mark) {
    const std::size_t at = rest.find(mark);
    const ByteView part = rest.substr(0, at);
    rest = at == ByteView::npos ? ByteView() : rest.substr(at + 1);
    return trim_ows(part);
}

bool is_address(std::string_view host) {
    if (host.starts_with('[')) return true;
    return !host.empty() && host.find_first_not_of("0123456789.") == host.npos;
}

// "b.a.example" matches "a.example" (5.1.3).
bool domain_matches(std::string_view host, std::string_view domain) {
    if (host == domain) return true;
    // An address has no subdomains: "1.0.0.1" must not match the domain "0.0.1".
    return host.size() > domain.size() && host.ends_with(domain) &&
           host[host.size() - domain.size() - 1] == '.' && !is_address(host);
}

// 5.1.4
bool path_matches(std::string_view path, std::string_view prefix) {
    if (!path.starts_with(prefix)) return false;
    return path.size() == prefix.size() || prefix.ends_with('/') || path[prefix.size()] == '/';
}

std::string default_path(std::string_view path) {
    const std::size_t last = path.rfind('/');
    if (!path.starts_with('/') || last == 0) return "/";
    return std::string(path.substr(0, last));
}

bool is_date_delimiter(char c) {
    return c == '\t' || (c >= ' ' && c <= '/') || (c >= ';' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// A number of `digits_min` to `digits_max` digits at the front; what follows is no digit.
std::optional<int> leading_number(ByteView token, std::size_t digits_min, std::size_t digits_max) {
    std::size_t digits = 0;
    while (digits < token.size() && is_digit(token[digits])) ++digits;
    if (digits < digits_min || digits > digits_max) return std::nullopt;
    int number = 0;
    std::from_chars(token.data(), token.data() + digits, number);
    return number;
}

// The algorithm of RFC 6265, 5.1.1: tokens in any order, the first of each kind counts. Real
// servers send dates in every spelling.
struct DateParts {
    std::optional<int> hour, minute, second, day, month, year;

    bool take_time(ByteView token) {
        std::array<int, 3> numbers{};
        for (std::size_t i = 0; i < 3; ++i) {
            // Only the last part may have something behind its digits (RFC 6265, 5.1.1: non-digit
            // *OCTET).
            const ByteView part = i < 2 ? token.substr(0, token.find(':')) : token;
            const auto number = leading_number(part, 1, 2);
            if (!number || (i < 2 && part.size() > 2)) return false;
            numbers[i] = *number;
            if (i < 2 && part.size() == token.size()) return false;
            if (i < 2) token.remove_prefix(part.size() + 1);
        }
        hour = numbers[0], minute = numbers[1], second = numbers[2];
        return true;
    }
    bool take_month(ByteView token) {
        const auto found = std::ranges::find_if(month_names, [&](std::string_view name) {
            return equals_ignoring_case(short_name(name), token.substr(0, 3));
        });
        if (found == month_names.end()) return false;
        month = static_cast<int>(found - month_names.begin()) + 1;
        return true;
    }
    void take(ByteView token) {
        if (!hour && take_time(token)) return;
        // The order of these is the RFC's, and decides what "10" is where several could be meant.
        if (!day && (day = leading_number(token, 1, 2))) return;
        if (!month && take_month(token)) return;
        if (!year) year = leading_number(token, 2, 4);
    }
    bool finish(UnixSeconds& date) {
        if (!hour || !day || !month || !year) return false;
        if (*year >= 70 && *year <= 99) *year += 1900;
        if (*year < 70) *year += 2000;
        const auto midnight =
            midnight_of(*year, static_cast<unsigned>(*month), static_cast<unsigned>(*day));
        if (*year < 1601 || !midnight || *hour > 23 || *minute > 59 || *second > 59) return false;
        date = *midnight + *hour * 3'600 + *minute * 60 + *second;
        return true;
    }
};

}  // namespace

bool parse_cookie_date(ByteView text, UnixSeconds& date) {
    DateParts parts;
    for (std::size_t at = 0; at < text.size();) {
        if (is_date_delimiter(text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && !is_date_delimiter(text[end])) ++end;
        parts.take(text.substr(at, end - at));
        at = end;
    }
    return parts.finish(date);
}

struct CookieJar::Attributes {
    std::string domain;
    std::string path;
    std::optional<UnixSeconds> max_age;
    std::optional<UnixSeconds> expires;
    bool secure = false;

    void take(ByteView name, ByteView value) {
        // The attribute is ignored, not the cookie (RFC 6265bis, 5.6).
        if (value.size() > attribute_bytes_max) return;
        if (equals_ignoring_case(name, "domain")) {
            domain = lower_case(value.starts_with('.') ? value.substr(1) : value);
        } else if (equals_ignoring_case(name, "path")) {
            path = value.starts_with('/') ? std::string(value) : "";
        } else if (equals_ignoring_case(name, "secure")) {
            secure = true;
        } else if (equals_ignoring_case(name, "max-age")) {
            take_max_age(value);
        } else if (equals_ignoring_case(name, "expires")) {
            UnixSeconds date = 0;
            if (parse_cookie_date(value, date)) expires = date;
        }
    }
    void take_max_age(ByteView value) {
        const bool negative = value.starts_with('-');
        const ByteView digits = negative ? value.substr(1) : value;
        if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return;
        UnixSeconds seconds = lifetime_max;
        // Out of range: larger than the most that is kept.
        std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
        max_age = negative ? 0 : std::min(seconds, lifetime_max);
    }
    UnixSeconds expiry(UnixSeconds now) const {
        // Max-Age wins over Expires (5.7), because it does not depend on two clocks that agree.
        if (max_age) return now + *max_age;
        return expires ? std::min(*expires, now + lifetime_max) : never;
    }
};

bool CookieJar::take_domain(Cookie& cookie, const Attributes& attributes,
                            const CookieOrigin& origin) {
    cookie.domain = origin.host;
    if (attributes.domain.empty() || attributes.domain == origin.host) {
        // A host that names itself in Domain includes its subdomains. An address has none, and a
        // name of one label ("localhost") would include a whole top-level domain.
        cookie.host_only = attributes.domain.empty() || is_address(origin.host) ||
                           attributes.domain.find('.') == std::string::npos;
        return true;
    }
    if (!domain_matches(origin.host, attributes.domain)) return false;
    // A whole top-level domain ("com") would get the cookie from all its sites, and send it to
    // them.
    if (attributes.domain.find('.') == std::string::npos) return false;
    cookie.domain = attributes.domain;
    cookie.host_only = false;
    return true;
}

// RFC 6265bis, 4.1.3
bool CookieJar::keeps_prefix_promise(const Cookie& cookie, const Attributes& attributes) {
    const std::string name = lower_case(std::string_view(cookie.name).substr(0, 9));
    if (name.starts_with("__secure-")) return cookie.secure;
    if (name.starts_with("__host-")) {
        // Named, and not the default of where it came from (5.7).
        return cookie.secure && cookie.host_only && attributes.path == "/";
    }
    return true;
}

// A cookie from a connection in clear may not stand in for a secure one (5.7, step 11).
bool CookieJar::would_shadow_secure(const Cookie& cookie) const {
    return std::ranges::any_of(cookies_, [&](const Cookie& kept) {
        return kept.secure && kept.name == cookie.name &&
               (domain_matches(kept.domain, cookie.domain) ||
                domain_matches(cookie.domain, kept.domain)) &&
               path_matches(cookie.path, kept.path);
    });
}

void CookieJar::keep(const CookieOrigin& origin, ByteView set_cookie, UnixSeconds now) {
    // A control character could end the field line in a later request.
    if (std::ranges::any_of(set_cookie,
                            [](char c) { return is_control_character(c) && c != '\t'; })) {
        return;
    }
    ByteView pair = cut(set_cookie, ';');
    Cookie cookie;
    if (pair.find('=') == ByteView::npos) return;  // stricter than the RFC, which allows no name
    cookie.name = cut(pair, '=');
    cookie.value = trim_ows(pair);
    if (cookie.name.empty() || cookie.name.size() + cookie.value.size() > cookie_bytes_max) return;
    Attributes attributes;
    while (!set_cookie.empty()) {
        ByteView value = cut(set_cookie, ';');
        const ByteView name = cut(value, '=');
        attributes.take(name, trim_ows(value));
    }
    cookie.path = attributes.path.empty() ? default_path(origin.path) : attributes.path;
    cookie.secure = attributes.secure;
    cookie.expires = attributes.expiry(now);
    if (!take_domain(cookie, attributes, origin) || !keeps_prefix_promise(cookie, attributes)) {
        return;
    }
    if (!origin.secure && (cookie.secure || would_shadow_secure(cookie))) return;
    insert(std::move(cookie), now);
}

void CookieJar::insert(Cookie cookie, UnixSeconds now) {
    const auto same = std::ranges::find_if(cookies_, [&](const Cookie& kept) {
        return kept.name == cookie.name && kept.domain == cookie.domain &&
               kept.path == cookie.path && kept.host_only == cookie.host_only;
    });
    const bool expired = cookie.expires <= now;
    if (same != cookies_.end()) {
        if (expired) {
            cookies_.erase(same);
        } else {
            *same =
                std::move(cookie);  // in its place: they are in the order in which they were made
        }
    } else if (!expired) {
        cookies_.push_back(std::move(cookie));
        keep_within_limits(now);
    }
}

// After one was added. Secure cookies go last, even if the one that was added goes instead: a flood
// of others over a connection in clear would push them out, and then take their names (5.7).
void CookieJar::keep_within_limits(UnixSeconds now) {
    const std::string domain = cookies_.back().domain;
    const auto of_domain = [&](const Cookie& kept) { return kept.domain == domain; };
    const auto of_any = [](const Cookie&) { return true; };
    const auto keep_at_most = [&](std::ptrdiff_t most, const auto& counts) {
        if (std::ranges::count_if(cookies_, counts) <= most) return;
        std::erase_if(cookies_, [&](const Cookie& kept) { return kept.expires <= now; });
        if (std::ranges::count_if(cookies_, counts) <= most) return;
        // cookies_ is in the order of their making.
        auto oldest = std::ranges::find_if(
            cookies_, [&](const Cookie& kept) { return !kept.secure && counts(kept); });
        if (oldest == cookies_.end()) oldest = std::ranges::find_if(cookies_, counts);
        cookies_.erase(oldest);
    };
    keep_at_most(cookies_per_domain_max, of_domain);
    keep_at_most(cookies_max, of_any);
}

bool CookieJar::goes_to(const Cookie& cookie, const CookieOrigin& origin, UnixSeconds now) {
    const bool there = cookie.host_only ? cookie.domain == origin.host
                                        : domain_matches(origin.host, cookie.domain);
    return there && cookie.expires > now && (origin.secure || !cookie.secure) &&
           path_matches(origin.path, cookie.path);
}

std::string CookieJar::header(const CookieOrigin& origin, UnixSeconds now) const {
    std::vector<const Cookie*> going;
    for (const Cookie& cookie : cookies_) {
        if (goes_to(cookie, origin, now)) going.push_back(&cookie);
    }
    // Longer paths first, older cookies first among equals (RFC 6265, 5.4).
    std::ranges::stable_sort(
        going, [](const Cookie* a, const Cookie* b) { return a->path.size() > b->path.size(); });
    std::string text;
    for (const Cookie* cookie : going) {
        if (!text.empty()) text += "; ";
        text += cookie->name + "=" + cookie->value;
    }
    return text;
}

std::string_view CookieJar::find(std::string_view name) const {
    for (const Cookie& cookie : cookies_) {
        if (cookie.name == name) return cookie.value;
    }
    return {};
}

}  // namespace tiderace::http
