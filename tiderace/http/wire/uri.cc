#include "tiderace/http/wire/uri.h"

#include <array>

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/host.h"
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
    const auto class_at = [&](std::size_t i) {
        return classes[static_cast<unsigned char>(text[i])];
    };
    std::size_t at = 0;
    while (at < text.size()) {
        // Eight at a time while there is nothing to stop for.
        while (at + 8 <= text.size() &&
               (class_at(at) & class_at(at + 1) & class_at(at + 2) & class_at(at + 3) &
                class_at(at + 4) & class_at(at + 5) & class_at(at + 6) & class_at(at + 7) & bit)) {
            at += 8;
        }
        if (at == text.size()) break;
        if (class_at(at) & bit) {
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

// A host, then perhaps a port: an authority without user information.
bool names_a_host(ByteView authority) {
    return !authority.empty() && authority[0] != ':' && valid_host(authority);
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
    if (!names_a_host(target.authority)) return std::nullopt;
    text.remove_prefix(target.authority.size());
    if (!parse_path_and_query(text, target)) return std::nullopt;
    if (target.path.empty()) target.path = "/";
    return target;
}

// RFC 9112 section 3.2.3: unlike elsewhere, the port must be there.
std::optional<Target> parse_authority_form(ByteView text) {
    if (!names_a_host(text) || !is_digit(text.back())) return std::nullopt;
    return Target{.form = Target::Form::authority, .authority = text};
}

}  // namespace

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
