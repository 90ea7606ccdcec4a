#include "tiderace/http/site_routes.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/request.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/route/regex.h"

namespace tiderace::http {
namespace {

// The characters that the parts of a path end with. What a pattern matches ends with one of them,
// so most patterns are passed over, "*.php" where nothing ends with 'p'.
class SegmentEnds {
  public:
    explicit SegmentEnds(ByteView path) {
        for (std::size_t at = 0; at < path.size();) {
            const std::size_t end = std::min(path.find('/', at + 1), path.size());
            const auto last = static_cast<unsigned char>(path[end - 1]);
            ends_[last / 64] |= std::uint64_t{1} << (last % 64);
            at = end;
        }
    }
    bool may_end(char pattern_end) const {
        const auto last = static_cast<unsigned char>(pattern_end);
        return pattern_end == '*' || pattern_end == '?' || pattern_end == '/' ||
               (ends_[last / 64] >> (last % 64) & 1) != 0;
    }

  private:
    std::array<std::uint64_t, 4> ends_ = {};
};

}  // namespace

SiteRoutes::SiteRoutes(std::vector<Route> routes) {
    std::vector<const RouteMatch*> matches;
    for (const Route& route : routes) matches.push_back(&route.match);
    for (const std::uint32_t index : nearest_first(matches)) {
        routes_.push_back(std::move(routes[index]));
    }
    add_list({});
    add_lists();
}

std::uint32_t SiteRoutes::add_list(List list) {
    std::ranges::sort(list);
    conditional_.push_back(std::ranges::any_of(
        list, [this](std::uint32_t route) { return routes_[route].match.conditions() > 0; }));
    lists_.push_back(std::move(list));
    return static_cast<std::uint32_t>(lists_.size() - 1);
}

// Each path that a route names has the list of what holds there, and another for below it.
void SiteRoutes::add_lists() {
    std::map<std::string_view, List> below;
    std::map<std::string_view, List> alone;
    below[""];
    for (std::uint32_t i = 0; i < routes_.size(); ++i) {
        const RouteMatch& match = routes_[i].match;
        const RouteMatch::Kind kind = match.kind();
        if (match.regex != nullptr) {
            regexes_.push_back(i);
        } else if (kind == RouteMatch::Kind::pattern) {
            globs_.push_back({i, static_cast<std::uint32_t>(match.path.size()), match.path.back()});
            glob_texts_ += match.path;
        } else {
            (kind == RouteMatch::Kind::alone ? alone : below)[match.plain_path()].push_back(i);
        }
    }
    const auto with_those_above = [&](std::string_view path, List list) {
        for (;;) {
            if (const auto found = below.find(path); found != below.end()) {
                list.insert(list.end(), found->second.begin(), found->second.end());
            }
            if (path.empty()) return list;
            path = path.substr(0, path.rfind('/'));
        }
    };
    for (const auto& [path, own] : below) {
        const auto added = paths_.add_below(path, add_list(with_those_above(path, {})));
        TR_CHECK(added, "each path once");
    }
    for (const auto& [path, own] : alone) {
        paths_.put_alone(path, add_list(with_those_above(path, own)));
    }
}

// Patterns stand in the order of the file, so "*.php" may come before what denies some of these
// files: that one counts.
const SiteRoutes::Route* SiteRoutes::answering(std::span<const std::uint32_t> list) const {
    const Route* found = nullptr;
    for (const std::uint32_t number : list) {
        const Route& route = routes_[number];
        if (route.endpoint == none || route.refines != none) continue;
        if (found == nullptr) found = &route;
        const bool is_pattern = route.match.kind() == RouteMatch::Kind::pattern &&
                                found->match.kind() == RouteMatch::Kind::pattern &&
                                route.match.priority == found->match.priority;
        if (!is_pattern) break;
        if (route.denies) return &route;
    }
    return found;
}

const SiteRoutes::Route* SiteRoutes::refining(std::span<const std::uint32_t> list,
                                              const Route* answering) const {
    const std::uint32_t refined = answering != nullptr ? answering->endpoint : base;
    for (const std::uint32_t number : list) {
        if (routes_[number].refines == refined) return &routes_[number];
    }
    return nullptr;
}

void SiteRoutes::find_globs(const Request& request, List& found) const {
    const SegmentEnds ends(request.path);
    ByteView texts = glob_texts_;
    for (const Glob& glob : globs_) {
        const ByteView text = texts.substr(0, glob.bytes);
        texts.remove_prefix(glob.bytes);
        if (!ends.may_end(glob.last) || !route::glob_holds(text, request.path)) continue;
        if (routes_[glob.route].match.conditions_hold(request)) found.push_back(glob.route);
    }
}

// The conditions first: an expression that is not asked for cannot give up.
bool SiteRoutes::find_regexes(const Request& request, List& found) const {
    for (const std::uint32_t number : regexes_) {
        const RouteMatch& match = routes_[number].match;
        if (!match.conditions_hold(request)) continue;
        const route::Regex::Answer answer = match.regex->match(request.path);
        if (answer == route::Regex::Answer::yes) found.push_back(number);
        if (answer != route::Regex::Answer::gave_up) continue;
        found.assign(1, number);
        return false;
    }
    return true;
}

std::uint32_t SiteRoutes::find(const Request& request, List& found) const {
    route::Parameters unused;
    const route::Found at = paths_.find(wire::Method::other, request.path, unused);
    const std::uint32_t list = at.kind == route::Found::Kind::route ? at.route : 0;
    found.clear();
    if (!globs_.empty()) find_globs(request, found);
    if (!regexes_.empty() && !find_regexes(request, found)) return gave_up;
    if (found.empty() && !conditional_[list]) return list;
    for (const std::uint32_t route : lists_[list]) {
        if (routes_[route].match.conditions_hold(request)) found.push_back(route);
    }
    std::ranges::sort(found);
    return none;
}

}  // namespace tiderace::http
