#include "tiderace/http/site.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::http {
namespace {

// "*.Example.org" as ".example.org": how a name below it ends.
std::string stored(std::string name) {
    if (name.starts_with("*.")) name.erase(0, 1);
    return lower_case(name);
}

// Eight bytes at a time: of each the high bit says whether it is a capital letter.
std::uint64_t lower_case_of(std::uint64_t bytes) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    const std::uint64_t low = bytes & (0x7F * ones);
    const std::uint64_t from_a = low + (0x80 - 'A') * ones;
    const std::uint64_t behind_z = low + (0x7F - 'Z') * ones;
    return bytes | ((~bytes & (from_a ^ behind_z) & (0x80 * ones)) >> 2);
}

// `out` has room for the text in whole words.
void put_lower_case(ByteView text, char* out) {
    for (std::size_t at = 0; at < text.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, text.size() - at));
        word = lower_case_of(word);
        std::memcpy(out + at, &word, 8);
    }
}

}  // namespace

Site::Site() : hosts_(1), scopes_(1) {}

std::uint32_t Site::host(std::string name) {
    name = stored(std::move(name));
    if (name.empty()) return 0;
    const auto known = names_.find(name);
    if (known != names_.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(hosts_.size());
    hosts_.push_back({.name = name});
    add_name(number, std::move(name));
    return number;
}

bool Site::add_name(std::uint32_t host, std::string name) {
    name = stored(std::move(name));
    if (name.starts_with('.')) longest_suffix_ = std::max(longest_suffix_, name.size());
    return names_.emplace(std::move(name), host).second;
}

// A name counts before a pattern, and a longer pattern before a shorter one.
const route::Router& Site::router_among(ByteView authority) const {
    std::array<char, 256> lower;  // no name is longer (RFC 1035, 2.3.4)
    const ByteView written = wire::host_without_port(authority);
    if (written.size() > lower.size() || written.starts_with('.')) return hosts_[0].router;
    put_lower_case(written, lower.data());
    std::string_view host(lower.data(), written.size());
    auto found = names_.find(host);
    while (found == names_.end()) {
        const std::size_t dot = host.find('.', 1);
        if (dot == host.npos || longest_suffix_ == 0) return hosts_[0].router;
        host.remove_prefix(dot);
        if (host.size() <= longest_suffix_) found = names_.find(host);
    }
    return hosts_[found->second].router;
}

std::uint32_t Site::add_scope(std::uint32_t parent, std::string prefix) {
    const Scope& outer = scopes_[parent];
    Scope made{.parent = parent, .host = outer.host, .prefix = outer.prefix + prefix};
    scopes_.push_back(std::move(made));
    return static_cast<std::uint32_t>(scopes_.size() - 1);
}

std::expected<void, std::string> Site::add(Endpoint endpoint) {
    route::Router& router = hosts_[scopes_[endpoint.scope].host].router;
    const auto number = static_cast<std::uint32_t>(endpoints_.size());
    auto added = endpoint.is_prefix
                     ? router.add_below(endpoint.pattern, number)
                     : router.add(endpoint.method, endpoint.pattern, number, endpoint.place);
    endpoints_.push_back(std::move(endpoint));
    return added;
}

std::uint32_t Site::add_for_routes(Endpoint endpoint) {
    endpoints_.push_back(std::move(endpoint));
    return static_cast<std::uint32_t>(endpoints_.size() - 1);
}

std::expected<void, std::string> Site::mount(std::uint32_t inside, Site&& other) {
    // The first scope of the other becomes `inside`, the others follow.
    const auto first = static_cast<std::uint32_t>(scopes_.size());
    const auto moved = [&](std::uint32_t scope) { return scope == 0 ? inside : first + scope - 1; };
    const std::string prefix = scopes_[inside].prefix;
    std::vector<Setting>& settings = scopes_[inside].settings;
    std::ranges::move(other.scopes_[0].settings, std::back_inserter(settings));
    scopes_[inside].error_pages = std::move(other.scopes_[0].error_pages);
    for (std::size_t i = 1; i < other.scopes_.size(); ++i) {
        Scope& scope = scopes_.emplace_back(std::move(other.scopes_[i]));
        if (scope.parent != no_scope) scope.parent = moved(scope.parent);
        scope.host = host(other.hosts_[scope.host].name);
        scope.prefix.insert(0, prefix);
    }
    std::expected<void, std::string> done;
    for (Endpoint& endpoint : other.endpoints_) {
        TR_CHECK(endpoint.routes == nullptr, "their numbers count in their own site");
        endpoint.scope = moved(endpoint.scope);
        // The path "/" of the mounted site is the prefix itself, without a slash at its end.
        const bool is_top = endpoint.pattern == "/" && !prefix.empty();
        endpoint.pattern = is_top ? prefix : prefix + endpoint.pattern;
        auto added = add(std::move(endpoint));
        if (done && !added) done = std::move(added);
    }
    return done;
}

std::vector<AccessLogTarget> Site::access_logs() const {
    std::vector<AccessLogTarget> all;
    for (const Scope& scope : scopes_) {
        for (const Setting& setting : scope.settings) {
            const AccessLogTarget* const one = setting.access_log.get();
            if (one == nullptr || one->path == "off") continue;
            if (std::ranges::find(all, *one) == all.end()) all.push_back(*one);
        }
    }
    return all;
}

}  // namespace tiderace::http
