// The matcher of sites: 1,000 of them with 100 routes each, as the server makes them of a file. How
// long making takes, and how long it takes to find the site and the routes of a request.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "server/site/site.h"
#include "tiderace/http/request.h"
#include "tiderace/http/route/regex.h"

namespace tiderace::server {
namespace {

constexpr std::size_t sites_count = 1'000;
constexpr std::size_t routes_count = 100;

std::string host_of(std::size_t site) {
    return "host" + std::to_string(site) + ".example.org";
}

// The kind of each tenth route; the others are prefixes three deep and paths alone.
enum Tenth : std::int64_t { plain, glob, regex };

std::vector<ServedSite> many_sites(std::int64_t tenth) {
    std::vector<ServedSite> sites(sites_count);
    for (std::size_t i = 0; i < sites_count; ++i) {
        sites[i].hosts = {host_of(i)};
        sites[i].is_default = false;
        for (std::size_t j = 0; j < routes_count; ++j) {
            const std::string number = std::to_string(j);
            Route route{.headers = {{"X-Route", number}}};
            route.match.path = j % 10 == 0 && tenth == glob    ? "*.e" + number
                               : j % 10 == 0 && tenth == regex ? "~[.]e" + number + "$"
                               : j % 3 == 0                    ? "/part" + number
                               : j % 3 == 1 ? "/part" + std::to_string(j - 1) + "/a/b"
                                            : "=/part" + number + "/page.html";
            if (route.match.path.starts_with('~')) {
                route.match.regex = *http::route::compile_regex(route.match.path.substr(1));
            }
            sites[i].options.routes.push_back(std::move(route));
        }
    }
    return sites;
}

void make(benchmark::State& state) {
    const std::vector<ServedSite> sites = many_sites(state.range(0));
    for ([[maybe_unused]] auto _ : state) {
        const http::Site tree = make_site(sites, {});
        benchmark::DoNotOptimize(tree.endpoints().size());
    }
}
BENCHMARK(make)->ArgName("tenth")->DenseRange(plain, regex)->Unit(benchmark::kMillisecond);

// 1,000 URLs, one of each site.
void match(benchmark::State& state) {
    const std::vector<ServedSite> sites = many_sites(state.range(0));
    const http::Site tree = make_site(sites, {});
    http::wire::RequestHead head;
    std::vector<std::string> hosts;
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < sites_count; ++i) {
        const std::size_t j = i * 7 % routes_count;
        hosts.push_back(host_of(i));
        paths.push_back("/part" + std::to_string(j) + (i % 2 == 0 ? "/a/b/c/d.js" : "/page.html"));
    }
    http::SiteRoutes::List found;
    std::size_t at = 0;
    for ([[maybe_unused]] auto _ : state) {
        http::Request request;
        request.head = &head;
        request.authority = hosts[at];
        request.path = paths[at];
        at = at + 1 == sites_count ? 0 : at + 1;
        http::route::Parameters parameters;
        const http::route::Found endpoint =
            tree.find(request.authority, http::wire::Method::get, request.path, parameters);
        const http::SiteRoutes& routes = *tree.endpoints()[endpoint.route].routes;
        const std::uint32_t number = routes.find(request, found);
        benchmark::DoNotOptimize(number);
        benchmark::DoNotOptimize(found.data());
    }
}
BENCHMARK(match)->ArgName("tenth")->DenseRange(plain, regex);

}  // namespace
}  // namespace tiderace::server
