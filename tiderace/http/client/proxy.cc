#include "tiderace/http/client/proxy.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tiderace/base/ascii.h"
#include "tiderace/base/base64.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::http {
namespace {

std::string decoded(std::string_view text) {
    std::string made;
    while (!text.empty()) {
        const auto escape = wire::decode_escape(text);
        made += escape ? static_cast<char>(*escape) : text.front();
        text.remove_prefix(escape ? 3 : 1);
    }
    return made;
}

// "proxy:3128" is http. Others than http (SOCKS, TLS to the proxy) are not known here.
Proxy read_proxy(std::string_view text) {
    Proxy proxy;
    if (const std::size_t scheme = text.find("://"); scheme != text.npos) {
        // A Proxy without a place: requests fail. To go around a proxy that was configured
        // could show the user's address to servers from which it was to be hidden.
        if (!equals_ignoring_case(text.substr(0, scheme), "http")) return {};
        text.remove_prefix(scheme + 3);
    }
    // The last one, because a password may have an '@' that was not escaped.
    if (const std::size_t at = text.rfind('@'); at != text.npos) {
        proxy.authorization = "Basic " + base64_of(decoded(text.substr(0, at)));
        text.remove_prefix(at + 1);
    }
    const auto url = Url::parse("http://" + std::string(text));
    if (!url) return {};
    proxy.place = url->place();
    return proxy;
}

std::optional<Proxy> first_of(const Proxies::Variable& variable,
                              std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const char* value = variable(name);
        if (value != nullptr && *value != '\0') return read_proxy(value);
    }
    return std::nullopt;
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> parts;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find_first_of(", \t"), list.size());
        std::string part(list.substr(0, end));
        std::ranges::transform(part, part.begin(), to_lower);
        if (!part.empty()) parts.push_back(std::move(part));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return parts;
}

}  // namespace

Proxies Proxies::from_environment() {
    return from([](const char* name) { return std::getenv(name); });
}

Proxies Proxies::from(const Variable& variable) {
    Proxies made;
    made.clear_ = first_of(variable, {"http_proxy", "all_proxy", "ALL_PROXY"});
    made.secure_ = first_of(variable, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
    for (const char* name : {"no_proxy", "NO_PROXY"}) {
        const char* list = variable(name);
        if (list == nullptr || !made.exceptions_.empty()) continue;
        made.exceptions_ = split(list);
    }
    return made;
}

// "a.example" and ".a.example" are for the host and all below it; with a port, for that alone.
bool Proxies::excepted(const Url& url) const {
    return std::ranges::any_of(exceptions_, [&](std::string_view exception) {
        if (exception == "*") return true;
        if (exception.starts_with('.')) exception.remove_prefix(1);
        // NO_PROXY has IPv6 addresses with and without brackets; a URL always has them.
        const std::string host = url.host.starts_with('[') && !exception.starts_with('[')
                                     ? url.host.substr(1, url.host.size() - 2)
                                     : url.host;
        if (exception == host || exception == url.place()) return true;
        const auto below = [&](std::string_view text) {
            return text.size() > exception.size() && text.ends_with(exception) &&
                   text[text.size() - exception.size() - 1] == '.';
        };
        return below(host) || below(url.place());
    });
}

const Proxy* Proxies::find(const Url& url) const {
    const std::optional<Proxy>& proxy = url.secure ? secure_ : clear_;
    return proxy && !excepted(url) ? &*proxy : nullptr;
}

}  // namespace tiderace::http
