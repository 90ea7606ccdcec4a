#include "tiderace/http/client/url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "tiderace/http/wire/field_syntax.h"
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
    static constexpr ByteView digits = "0123456789ABCDEF";
    const auto plain = [](char c) { return stays_as_it_is[static_cast<unsigned char>(c)]; };
    if (std::ranges::all_of(text, plain)) {  // the common case
        out += text;
        return true;
    }
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) return false;
        if (stays_as_it_is[byte]) {
            out += c;
        } else {
            out += {'%', digits[byte >> 4], digits[byte & 15]};
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
    url.host = std::string(authority.substr(0, colon));
    std::ranges::transform(url.host, url.host.begin(), wire::to_lower);
    url.port = url.secure ? 443 : 80;
    // An encoded host would be one name to us, and perhaps another one to the resolver and the
    // certificate.
    if (url.host.empty() || url.host.find('%') != std::string::npos) return false;
    if (colon == ByteView::npos || colon + 1 == authority.size()) return true;
    const ByteView digits = authority.substr(colon + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    return url.port != 0;
}

bool take_target(Url& url, ByteView path, ByteView query) {
    url.target.clear();
    const bool plain = !path.empty() && path.find("/.") == ByteView::npos;  // mostly
    if (!append_escaped(url.target, plain ? path : ByteView(without_dots(path)))) return false;
    return append_escaped(url.target, query);
}

// Scheme and "//authority"; it leaves path, query and fragment. nullopt: another scheme.
std::optional<bool> take_scheme(ByteView& text) {
    for (const bool secure : {false, true}) {
        const ByteView scheme = secure ? "https:" : "http:";
        if (!wire::equals_ignoring_case(text.substr(0, scheme.size()), scheme)) continue;
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

std::optional<Url> parse_after_scheme(bool secure, ByteView text) {
    if (!text.starts_with("//")) return std::nullopt;
    text.remove_prefix(2);
    Url url;
    url.secure = secure;
    const auto ends_authority = [](char c) { return c == '/' || c == '?' || c == '#'; };
    const auto end =
        static_cast<std::size_t>(std::ranges::find_if(text, ends_authority) - text.begin());
    const Parts parts = cut(text.substr(end));
    if (!take_authority(url, text.substr(0, end))) return std::nullopt;
    if (!take_target(url, parts.path, parts.query)) return std::nullopt;
    return url;
}

}  // namespace

std::optional<Url> Url::parse(ByteView text) {
    if (text.size() > url_bytes_max) return std::nullopt;
    const auto scheme = take_scheme(text);
    return scheme ? parse_after_scheme(*scheme, text) : std::nullopt;
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
