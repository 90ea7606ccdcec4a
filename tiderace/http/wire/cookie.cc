#include "tiderace/http/wire/cookie.h"

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/scan.h"

namespace tiderace::http::wire {
namespace {

// All but cookie-octet (RFC 6265bis 4.1.1): printable ASCII without space, '"', ',', ';' and '\\'.
struct CookieTextEnd {
    static constexpr bool exact = true;
    static constexpr bool stops(char c) {
        return c <= 0x20 || c >= 0x7f || c == '"' || c == ',' || c == ';' || c == '\\';
    }
    template <typename B>
    static std::uint64_t candidates(B block) {
        // 0x21..0x7e become 0x00..0x5d.
        const B visible = block.minus(0x21).at_most(0x5d);
        return visible
            .without(block.equal('"') | block.equal(',') | block.equal(';') | block.equal('\\'))
            .inverted_bits();
    }
};

bool is_cookie_text(ByteView text) {
    return scan::find_first<CookieTextEnd>(text, 0) == text.size();
}

bool is_cookie_value(ByteView value) {
    // One pair of quotes is part of the value (RFC 6265, 4.1.1), and is not taken off.
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
    }
    return is_cookie_text(value);
}

bool is_attribute(ByteView text) {
    for (const char c : text) {
        if (is_control_character(c) || c == ';') return false;
    }
    return true;
}

ByteView same_site_text(SameSite site) {
    switch (site) {
        case SameSite::strict:
            return "; SameSite=Strict";
        case SameSite::lax:
            return "; SameSite=Lax";
        case SameSite::none:
            return "; SameSite=None";
        case SameSite::unset:
            break;
    }
    return {};
}

}  // namespace

std::optional<CookiePair> CookiePairs::next() {
    while (!rest_.empty()) {
        const std::size_t end = rest_.find(';');
        const ByteView piece = trim_ows(rest_.substr(0, end));
        rest_.remove_prefix(end == ByteView::npos ? rest_.size() : end + 1);
        const std::size_t equals = piece.find('=');
        if (equals == ByteView::npos) continue;
        const CookiePair pair{piece.substr(0, equals), piece.substr(equals + 1)};
        // Others are passed over: cookies come from all programs of a domain, not from us alone.
        if (is_token(pair.name) && is_cookie_value(pair.value)) return pair;
    }
    return std::nullopt;
}

std::string_view to_string(CookieFault fault) {
    switch (fault) {
        case CookieFault::none:
            return "";
        case CookieFault::bad_name:
            return "a cookie's name is a token";
        case CookieFault::bad_value:
            return "a cookie's value has no spaces, quotes, commas, semicolons or backslashes";
        case CookieFault::bad_attribute:
            return "a cookie's path begins with '/', and neither it nor the domain holds ';'";
        case CookieFault::insecure:
            return "SameSite=None, Partitioned, __Secure- and __Host- need `secure`";
        case CookieFault::bad_prefix:
            return "a __Host- cookie has the path \"/\" and no domain";
        case CookieFault::too_long:
            return "name and value have at most 4096 bytes, an attribute 1024";
    }
    return "";
}

CookieFault check_cookie(const SetCookie& cookie) {
    if (!is_token(cookie.name)) return CookieFault::bad_name;
    if (!is_cookie_value(cookie.value)) return CookieFault::bad_value;
    if (!is_attribute(cookie.path) || !is_attribute(cookie.domain) ||
        (!cookie.path.empty() && cookie.path.front() != '/')) {
        return CookieFault::bad_attribute;
    }
    if (cookie.name.size() + cookie.value.size() > cookie_bytes_max ||
        cookie.path.size() > cookie_attribute_bytes_max ||
        cookie.domain.size() > cookie_attribute_bytes_max) {
        return CookieFault::too_long;
    }
    // Browsers compare the prefixes without case (RFC 6265bis, 5.4).
    const bool host = starts_with_ignoring_case(cookie.name, "__Host-");
    const bool needs_secure = host || starts_with_ignoring_case(cookie.name, "__Secure-") ||
                              cookie.partitioned || cookie.same_site == SameSite::none;
    // Browsers would drop the cookie without a word, so the mistake is reported here.
    if (needs_secure && !cookie.secure) return CookieFault::insecure;
    if (host && (cookie.path != "/" || !cookie.domain.empty())) return CookieFault::bad_prefix;
    return CookieFault::none;
}

bool append_set_cookie(BoundedText& out, const SetCookie& cookie) {
    if (check_cookie(cookie) != CookieFault::none) return false;
    const std::size_t start = out.size();
    // All or nothing: half a cookie could lack its Secure.
    const auto add = [&](ByteView name, ByteView value) {
        return value.empty() || (out.append(name) && out.append(value));
    };
    bool fits = out.append(cookie.name) && out.append('=') && out.append(cookie.value) &&
                add("; Path=", cookie.path) && add("; Domain=", cookie.domain);
    if (cookie.max_age) {
        // Browsers take a negative age for one that is over; so does 0, which every client reads.
        const std::int64_t age = *cookie.max_age < 0 ? 0 : *cookie.max_age;
        fits =
            fits && out.append("; Max-Age=") && out.append_number(static_cast<std::uint64_t>(age));
    }
    fits = fits && (!cookie.secure || out.append("; Secure")) &&
           (!cookie.http_only || out.append("; HttpOnly")) &&
           out.append(same_site_text(cookie.same_site)) &&
           (!cookie.partitioned || out.append("; Partitioned"));
    if (!fits) out.shrink_to(start);
    return fits;
}

}  // namespace tiderace::http::wire
