#include "tiderace/http/wire/uri.h"

#include <array>

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::http::wire {
namespace {

enum : std::uint8_t { in_path = 1, in_query = 2 };

constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> classes{};
    auto add = [&](ByteView chars, int bits) {
        for (const char c : chars) classes[static_cast<unsigned char>(c)] |= bits;
    };
    add("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", in_path | in_query);
    add("-._~!$&'()*+,;=:@/", in_path | in_query);
    add("[]|^", in_path | in_query);  // what browsers send raw
    add("?`{}\\", in_query);
    return classes;
}

constexpr auto classes = make_classes();

// The bytes at the front of `text` that are of the class or are whole escapes.
std::size_t count_valid(ByteView text, std::uint8_t bit) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (classes[static_cast<unsigned char>(text[at])] & bit) {
            ++at;
        } else if (decode_escape(text.substr(at))) {
            at += 3;
        } else {
            break;
        }
    }
    return at;
}

// "/path?query" into `target`; false when a character is not allowed.
bool parse_path_and_query(ByteView text, Target& target) {
    const std::size_t path_size = count_valid(text, in_path);
    target.path = text.substr(0, path_size);
    if (path_size == text.size()) return true;
    if (text[path_size] != '?') return false;
    target.has_query = true;
    target.query = text.substr(path_size + 1);
    return count_valid(target.query, in_query) == target.query.size();
}

// "192.0.2.1": four decimal numbers up to 255 without leading zeros.
bool is_ipv4(ByteView text) {
    for (int part = 0; part < 4; ++part) {
        std::size_t digits = 0;
        int value = 0;
        while (digits < text.size() && digits < 4 && is_digit(text[digits])) {
            value = value * 10 + (text[digits++] - '0');
        }
        if (digits == 0 || digits > 3 || value > 255) return false;
        if (digits > 1 && text[0] == '0') return false;
        text.remove_prefix(digits);
        if (part < 3) {
            if (!text.starts_with('.')) return false;
            text.remove_prefix(1);
        }
    }
    return text.empty();
}

// Eight groups of one to four hexadecimal digits; one "::" stands for one or more groups of zero;
// an IPv4 address may stand for the last two. No zone: RFC 9110 gives it no meaning to a server.
bool is_ipv6(ByteView text) {
    int groups = 0;
    bool gap = false;
    if (text.starts_with("::")) {
        gap = true;
        text.remove_prefix(2);
        if (text.empty()) return true;
    }
    for (;;) {
        std::size_t digits = 0;
        while (digits < text.size() && digits < 5 && hex_value(text[digits]) >= 0) ++digits;
        if (digits < text.size() && text[digits] == '.') {
            groups += 2;
            return is_ipv4(text) && (gap ? groups < 8 : groups == 8);
        }
        if (digits == 0 || digits > 4 || ++groups > 8) return false;
        text.remove_prefix(digits);
        if (text.empty()) return gap ? groups < 8 : groups == 8;
        if (text[0] != ':') return false;
        text.remove_prefix(1);
        if (text.starts_with(':')) {
            if (gap) return false;
            gap = true;
            text.remove_prefix(1);
            if (text.empty()) return groups < 8;
        }
    }
}

// "v1.anything" of RFC 3986: nobody uses it, but it is not for us to call it wrong.
bool is_ip_future(ByteView text) {
    if (!text.starts_with('v') && !text.starts_with('V')) return false;
    const std::size_t dot = text.find('.');
    if (dot == ByteView::npos || dot < 2 || dot + 1 == text.size()) return false;
    for (const char c : text.substr(1, dot - 1)) {
        if (hex_value(c) < 0) return false;
    }
    for (const char c : text.substr(dot + 1)) {
        if (!is(host_byte, c) && c != ':') return false;
    }
    return true;
}

// The length of the host at the front of `text`, 0 when it is not one.
std::size_t host_size(ByteView text) {
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == ByteView::npos) return 0;
        const ByteView literal = text.substr(1, close - 1);
        return is_ipv6(literal) || is_ip_future(literal) ? close + 1 : 0;
    }
    std::size_t at = 0;
    while (at < text.size()) {
        if (is(host_byte, text[at])) {
            ++at;
        } else if (decode_escape(text.substr(at))) {
            at += 3;
        } else {
            break;
        }
    }
    return at;
}

bool is_valid_port(ByteView digits) {
    if (digits.size() > 5) return false;
    int value = 0;
    for (const char c : digits) {
        if (!is_digit(c)) return false;
        value = value * 10 + (c - '0');
    }
    return value <= 65535;
}

std::optional<Target> parse_absolute(ByteView text, std::size_t scheme_size) {
    Target target{.form = Target::Form::absolute};
    target.scheme = text.substr(0, scheme_size);
    if (!equals_ignoring_case(target.scheme, "http") &&
        !equals_ignoring_case(target.scheme, "https")) {
        return std::nullopt;
    }
    text.remove_prefix(scheme_size + 3);
    target.authority = text.substr(0, text.find_first_of("/?#"));
    if (!is_valid_authority(target.authority)) return std::nullopt;
    text.remove_prefix(target.authority.size());
    if (!parse_path_and_query(text, target)) return std::nullopt;
    if (target.path.empty()) target.path = "/";
    return target;
}

// RFC 9112 section 3.2.3: unlike elsewhere, the port must be there.
std::optional<Target> parse_authority_form(ByteView text) {
    const std::size_t host = host_size(text);
    if (host == 0 || host + 1 >= text.size() || !is_valid_authority(text)) return std::nullopt;
    return Target{.form = Target::Form::authority, .authority = text};
}

}  // namespace

bool is_valid_authority(ByteView text) {
    const std::size_t host = host_size(text);
    if (host == 0) return false;
    if (host == text.size()) return true;
    return text[host] == ':' && is_valid_port(text.substr(host + 1));
}

std::optional<Target> parse_target(ByteView text) {
    if (text.starts_with('/')) {
        Target target{.form = Target::Form::origin};
        if (!parse_path_and_query(text, target)) return std::nullopt;
        return target;
    }
    if (text == "*") return Target{.form = Target::Form::asterisk};
    const std::size_t colon = text.find(':');
    if (colon == ByteView::npos) return std::nullopt;
    if (text.substr(colon).starts_with("://")) return parse_absolute(text, colon);
    return parse_authority_form(text);
}

}  // namespace tiderace::http::wire
