#include "tiderace/http/client/url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::http {
namespace {

constexpr bool stays(char c) {
    constexpr ByteView escaped = " \"<>\\^`{|}";
    return c > 0x20 && c < 0x7f && escaped.find(c) == ByteView::npos;
}
constexpr auto stays_as_it_is = [] {
    std::array<bool, 256> table{};
    for (int byte = 0; byte < 0x80; ++byte) table[byte] = stays(static_cast<char>(byte));
    return table;
}();

// False: a control character.
bool append_escaped(std::string& out, ByteView text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_control_character(c)) return false;
        if (stays_as_it_is[byte]) {
            out += c;
        } else {
            append_percent_escape(out, c);
        }
    }
    return true;
}

// RFC 3986, 5.2.4, of a path that begins with '/'.
std::string without_dots(ByteView path) {
    std::vector<ByteView> kept;
    bool folder = false;
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::size_t end = std::min(path.find('/'), path.size());
        const ByteView segment = path.substr(0, end);
        path.remove_prefix(end);
        folder = segment == "." || segment == "..";
        if (segment == ".." && !kept.empty()) kept.pop_back();
        if (!folder) kept.push_back(segment);
    }
    std::string made;
    for (const ByteView segment : kept) made.append("/").append(segment);
    return folder || made.empty() ? made + "/" : made;
}

bool take_authority(Url& url, ByteView authority) {
    if (!wire::valid_host(authority)) return false;
    // Not one inside an IPv6 address.
    const std::size_t colon =
        authority.find(':', authority.starts_with('[') ? authority.rfind(']') : 0);
    const ByteView host = authority.substr(0, colon);
    // An encoded host would be one name to us, and perhaps another one to the resolver and the
    // certificate.
    if (host.empty() || host.find('%') != ByteView::npos) return false;
    url.host.assign(host);
    std::ranges::transform(url.host, url.host.begin(), to_lower);
    url.port = url.secure ? 443 : 80;
    if (colon == ByteView::npos || colon + 1 == authority.size()) return true;
    unsigned port = 0;  // of digits, and at most 65535: valid_host() has seen it
    for (const char digit : authority.substr(colon + 1)) {
        port = port * 10 + static_cast<unsigned>(digit - '0');
    }
    url.port = static_cast<std::uint16_t>(port);
    return url.port != 0;
}

// True: nothing in it has to be resolved, dropped or escaped, and it is sent unchanged.
bool is_target(ByteView text) {
    const auto stays_here = [](char c) {
        return stays_as_it_is[static_cast<unsigned char>(c)] && c != '#';
    };
    // "/." may be a segment to resolve, or a file whose name begins so.
    return text.starts_with('/') && text.find("/.") == ByteView::npos &&
           std::ranges::all_of(text, stays_here);
}

bool take_target(Url& url, ByteView path, ByteView query) {
    url.target.clear();
    const bool plain = !path.empty() && path.find("/.") == ByteView::npos;
    if (!append_escaped(url.target, plain ? path : ByteView(without_dots(path)))) return false;
    return append_escaped(url.target, query);
}

// Scheme and "//authority"; it leaves path, query and fragment. nullopt: another scheme.
std::optional<bool> take_scheme(ByteView& text) {
    for (const bool secure : {false, true}) {
        const ByteView scheme = secure ? "https:" : "http:";
        if (!starts_with_ignoring_case(text, scheme)) continue;
        text.remove_prefix(scheme.size());
        return secure;
    }
    return std::nullopt;
}

struct Parts {
    ByteView path;
    ByteView query;  // with its '?'
};
Parts cut(ByteView text) {
    // A fragment is for the reader of the answer and never sent (RFC 9110, 7.1).
    text = text.substr(0, text.find('#'));
    const std::size_t query = std::min(text.find('?'), text.size());
    return {text.substr(0, query), text.substr(query)};
}

// "//authority", then path, query and fragment.
bool take_after_scheme(Url& url, ByteView text) {
    if (!text.starts_with("//")) return false;
    text.remove_prefix(2);
    ByteView authority = text;
    for (const char mark : {'/', '?', '#'}) authority = authority.substr(0, authority.find(mark));
    if (!take_authority(url, authority)) return false;
    text.remove_prefix(authority.size());
    if (is_target(text)) {  // mostly
        url.target.assign(text);
        return true;
    }
    const Parts parts = cut(text);
    return take_target(url, parts.path, parts.query);
}

std::optional<Url> parse_after_scheme(bool secure, ByteView text) {
    // The one object of all returns, so that it is made where the caller has it.
    std::optional<Url> url(std::in_place);
    url->secure = secure;
    if (!take_after_scheme(*url, text)) url.reset();
    return url;
}

}  // namespace

std::optional<Url> Url::parse(ByteView text) {
    if (text.size() > url_bytes_max) return std::nullopt;
    const auto scheme = take_scheme(text);
    if (!scheme) return std::nullopt;
    return parse_after_scheme(*scheme, text);
}

std::optional<Url> UrlMemo::parse(ByteView text) {
    std::optional<Url> url;
    if (!origin_.empty() && text.size() <= Url::url_bytes_max && text.starts_with(origin_)) {
        const ByteView rest = text.substr(origin_.size());
        // It begins with '/', so that the authority ends where the known one does.
        if (is_target(rest)) {
            url.emplace(url_).target.assign(rest);
            return url;
        }
    }
    url = Url::parse(text);
    if (!url) return url;
    const std::size_t authority = text.find("//") + 2;
    origin_.assign(text.substr(0, text.find_first_of("/?#", authority)));
    url_.secure = url->secure;
    url_.host = url->host;
    url_.port = url->port;
    return url;
}

std::optional<Url> Url::resolve(ByteView reference) const {
    if (reference.size() > url_bytes_max) return std::nullopt;
    if (const auto scheme = take_scheme(reference)) return parse_after_scheme(*scheme, reference);
    if (reference.starts_with("//")) return parse_after_scheme(secure, reference);
    const std::size_t colon = reference.find(':');
    if (colon < reference.find_first_of("/?#")) return std::nullopt;  // another scheme
    Url made = *this;
    const Parts parts = cut(reference);
    // "" or "#part": the same document (RFC 3986, 5.2.2), with its query.
    if (parts.path.empty() && parts.query.empty()) return made;
    const std::string own = path();
    std::string merged(parts.path);
    if (merged.empty()) {
        merged = own;
    } else if (!merged.starts_with('/')) {
        merged.insert(0, own, 0, own.rfind('/') + 1);
    }
    if (!take_target(made, merged, parts.query)) return std::nullopt;
    return made;
}

void Url::append_place(std::string& out) const {
    char digits[5];
    const char* const end = std::to_chars(digits, digits + sizeof digits, port).ptr;
    out.reserve(out.size() + host.size() + 1 + sizeof digits);
    out.append(host) += ':';
    out.append(digits, static_cast<std::size_t>(end - digits));
}

std::string Url::place() const {
    std::string text;
    append_place(text);
    return text;
}

std::string Url::authority() const {
    return port == (secure ? 443 : 80) ? host : place();
}

}  // namespace tiderace::http
