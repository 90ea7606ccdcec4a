#include "tiderace/text/url_context.h"

#include <algorithm>

#include "tiderace/text/html_names.h"

namespace tiderace::text {
namespace {

constexpr std::size_t prefix_bytes_max = 512;

bool is_mark(char c) {
    return c == '/' || c == '?' || c == '#';
}

// Whether a URL that begins with `prefix` stays at its origin, whatever follows.
bool origin_is_fixed(std::string_view prefix) {
    for (const std::string_view scheme : {"https:", "http:"}) {
        if (!prefix.starts_with(scheme)) continue;
        prefix.remove_prefix(scheme.size());
        // "https:/cdn" is a path of a page with that scheme, and a host on any other page.
        if (!prefix.starts_with("//")) return false;
    }
    // "//host/": the host is complete only with the slash behind it. Browsers read '\' as '/', and
    // skip any number of them before a host.
    if (prefix.starts_with("//")) {
        return prefix.find('/', 2) != prefix.npos && prefix[2] != '/' && prefix[2] != '\\';
    }
    // "/\host" leads to another host as "//host" does.
    if (prefix.starts_with('/')) return prefix.size() > 1 && prefix[1] != '\\';
    // A relative path: what follows its first mark can change neither scheme nor host.
    return prefix.find_first_of("/?#") != prefix.npos && prefix[0] != '\\';
}

bool is_literal_scheme(std::string_view prefix) {
    for (const std::string_view scheme : {"http:", "https:", "mailto:", "tel:", "sms:"}) {
        if (prefix == scheme) return true;
    }
    return false;
}

// Whether `rest` is, or may become with a value behind it, a reference to a ':' or to a character
// that browsers drop from a URL.
bool may_be_scheme_entity(std::string_view rest) {
    std::string name;
    for (const char c : rest.substr(0, std::string_view("&newline").size())) {
        name += to_lower(c);
    }
    for (const std::string_view entity : {"&#", "&colon", "&tab", "&newline"}) {
        if (name.starts_with(entity)) return true;
        if (name.size() == rest.size() && entity.starts_with(name)) return true;
    }
    return false;
}

}  // namespace

std::string_view UrlContext::step(char c, std::string_view rest) {
    if (state_ == State::settled || state_ == State::refused) return {};
    // Browsers drop spaces and controls before a URL, and tabs and ends of lines inside it (URL
    // Standard, 4.4): a scheme or a host may still follow.
    if (state_ == State::start && static_cast<unsigned char>(c) <= ' ') return {};
    if (runs_ && (c == '\t' || c == '\n' || c == '\r')) return {};
    if (state_ != State::dynamic && state_ != State::either) {
        step_literal(c);
        return {};
    }
    if (c == ':' || (c == '&' && may_be_scheme_entity(rest))) {
        return "a ':' behind a value could make the value a scheme such as javascript:; write the "
               "scheme in the template, or put all of the URL into the value";
    }
    // Behind one of these a ':' ends no scheme (RFC 3986, 4.2).
    if (is_mark(c)) state_ = State::settled;
    return {};
}

// Before any value.
void UrlContext::step_literal(char c) {
    if (c == '&') {  // what the browser sees is not what stands here
        state_ = State::refused;
        return;
    }
    if (state_ == State::mixed) {
        if (is_mark(c) && !runs_) state_ = State::settled;
        if (c == ':') state_ = State::refused;
        return;
    }
    state_ = State::prefix;
    const bool in_scheme = prefix_.find_first_of("/?#") == prefix_.npos;
    prefix_ += to_lower(c);
    if ((in_scheme && c == ':' && !is_literal_scheme(prefix_)) ||
        prefix_.size() > prefix_bytes_max) {
        state_ = State::refused;
        return;
    }
    // Their URLs have no path and run nothing, so a value may follow at once.
    const bool is_address = prefix_ == "mailto:" || prefix_ == "tel:" || prefix_ == "sms:";
    if (runs_ ? origin_is_fixed(prefix_) : is_mark(c) || is_address) {
        state_ = State::settled;
        prefix_.clear();
    }
}

std::expected<Escape, std::string_view> UrlContext::value() {
    if (runs_ && state_ != State::settled && state_ != State::refused) {
        return std::unexpected(
            "what is loaded from this URL runs in the page, so its origin must stand in the "
            "template: write \"/path/{{ name }}\" or \"https://host/{{ name }}\"");
    }
    switch (state_) {
        case State::start:
            state_ = State::dynamic;
            return Escape::url;
        // A value behind a value is a part of the URL, not its start.
        case State::dynamic:
        case State::settled:
            return Escape::url_part;
        case State::prefix:
            return std::unexpected(
                "a value here could complete a scheme such as javascript:; begin the URL with /, "
                "./, ? or https://host/, or make it one value");
        case State::mixed:
        case State::either:
            return std::unexpected(
                "one branch before it begins the URL and another does not; end each of them with "
                "a /, or choose among whole URLs");
        case State::refused:
            break;
    }
    return std::unexpected(
        "a URL of this scheme has no safe escaping; http, https, mailto, tel and sms have");
}

bool UrlContext::join(const UrlContext& other) {
    if (*this == other) return true;
    const auto is = [&](State state) { return state_ == state || other.state_ == state; };
    if (runs_ != other.runs_) return false;
    if (is(State::refused)) {
        state_ = State::refused;
    } else if (is(State::dynamic) && is(State::settled)) {
        // The stricter one: where the branch ended with a value, a ':' is still refused.
        state_ = State::dynamic;
    } else {
        const bool has_value = is(State::dynamic) || is(State::either);
        state_ = has_value ? State::either : State::mixed;
    }
    prefix_.clear();
    return true;
}

}  // namespace tiderace::text
