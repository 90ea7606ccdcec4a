#include "load/plan.h"

#include <algorithm>
#include <utility>

namespace tiderace::load {
namespace {

// Linux first takes every second one of its 28,232 ephemeral ports. Once those are in use, each
// connect() searches all of them before it finds another: a millisecond and more.
constexpr std::uint64_t connections_per_address = 12'000;
// Ports rest a minute after use (TIME_WAIT): with these, some 7,500 connections a second find one.
constexpr std::uint64_t addresses_for_closing = 16;

// As many as the run needs; each pair of addresses has its own ports.
std::vector<core::Address> sources_for(const LoadOptions& options, const core::Address& target) {
    sockaddr_storage storage;
    target.to_sockaddr(storage);
    // Any address of 127/8 can be used without being set up; others cannot.
    if (storage.ss_family != AF_INET || !target.is_loopback()) return {};
    std::uint64_t count = options.source_addresses;
    if (count == 0) {
        count = options.connections / connections_per_address + 1;
        if (options.close) count = std::max(count, addresses_for_closing);
    }
    // The kernel's own choice is as good, and leaves the ports to its search.
    if (count == 1) return {};
    std::vector<core::Address> sources;
    for (std::uint64_t i = 1; i <= count; ++i) {
        const std::string text = "127." + std::to_string(i >> 16 & 255) + "." +
                                 std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255) +
                                 ":0";
        sources.push_back(*core::Address::parse(text));
    }
    return sources;
}

// Options that contradict each other. "" if all is well. A flag that would have no effect is
// refused as well: its figures would be taken for another load's.
std::string contradiction(const LoadOptions& options, bool tls) {
    const bool h2 = options.http == LoadHttp::v2;
    if (options.echoes()) {
        if (options.body_bytes == 0) return "echo:// needs --body-size: how long a message is";
        if (h2 || options.http == LoadHttp::v1_0 || !options.method.empty() ||
            !options.fields.empty() || options.host ||
            options.expect_status != LoadOptions().expect_status) {
            return "echo:// is no HTTP: --http, --method, --header and --expect-status mean "
                   "nothing";
        }
    }
    if (options.close && options.depth() > 1) {
        return h2 ? "--close sends one request on each connection: leave out --streams"
                  : "--close sends one request on each connection: leave out --pipeline";
    }
    if (h2 && options.pipeline > 1) return "--pipeline is for HTTP/1; for HTTP/2 use --streams";
    if (!h2 && options.streams > 1) return "--streams is for HTTP/2: add --http 2";
    if (options.http == LoadHttp::v1_0 && options.pipeline > 1) {
        return "HTTP/1.0 is not pipelined";
    }
    if (options.timeout <= Duration::zero()) return "--timeout 0 leaves no time for any answer";
    if (options.slow_readers + options.slow_senders > 100) {
        return "--slow-readers and --slow-senders are more than 100 percent together";
    }
    if (options.slow_drips == LoadSlowPart::body && options.slow_senders > 0 &&
        options.body_bytes == 0) {
        return "--slow-drips body needs a body: --body-size";
    }
    if (!tls && (options.insecure || !options.ca.empty() || options.resume)) {
        return "--insecure, --ca and --resume are for https://";
    }
    return "";
}

}  // namespace

std::expected<LoadPlan, std::string> plan_load(LoadOptions options, const Lookup& look_up) {
    auto target = parse_load_target(options.url, look_up);
    if (!target) return std::unexpected(options.url + ": " + target.error());
    // Before anything is opened.
    if (auto permitted = permit_load(*target, options.i_own_this_host); !permitted) {
        return std::unexpected(permitted.error());
    }
    if (std::string why = contradiction(options, target->tls); !why.empty()) {
        return std::unexpected(why);
    }
    LoadPlan plan{.options = std::move(options), .target = std::move(*target)};
    plan.request = render_request(plan.target, plan.options);
    plan.sources = sources_for(plan.options, plan.target.address);
    return plan;
}

}  // namespace tiderace::load
