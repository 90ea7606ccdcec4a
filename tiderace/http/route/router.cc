#include "tiderace/http/route/router.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::http::route {
namespace {

constexpr std::size_t edges_at_first = 64;
constexpr std::string_view allow_of_any = "OPTIONS";

std::string quoted(wire::Method method, std::string_view pattern, Place place) {
    const std::string_view name =
        method == wire::Method::other ? "any method" : wire::to_string(method);
    return std::string(name) + " " + std::string(pattern) + to_string(place);
}

}  // namespace

std::string to_string(Place place) {
    if (place.line == 0) return "";
    return " (" + std::string(place.file) + ":" + std::to_string(place.line) + ")";
}

Router::Router() : edges_(edges_at_first) {
    make_node();
}

std::uint32_t Router::make_node() {
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
}

// Eight bytes at a time. The keys are the program's own, so no peer can choose ones that collide; a
// path from a peer costs one look-up a segment, and the table never grows by it.
std::uint32_t Router::hash_of(std::uint32_t from, std::string_view text) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
    std::uint64_t hash = (from + text.size()) * odd;
    const auto add = [&](const char* at, std::size_t bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, bytes);
        hash = (hash ^ word) * odd;
        hash ^= hash >> 32;
    };
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) add(text.data() + at, 8);
    // The last bytes with some of those before them, so that their number is a constant.
    if (at < text.size() && text.size() >= 8) {
        add(text.data() + text.size() - 8, 8);
    } else if (text.size() >= 4) {
        add(text.data(), 4);
        add(text.data() + text.size() - 4, 4);
    } else {
        for (const char c : text) add(&c, 1);
    }
    return static_cast<std::uint32_t>(hash);
}

std::uint32_t Router::literal_child(std::uint32_t node, std::string_view text) const {
    const std::uint32_t hash = hash_of(node, text);
    for (std::size_t i = hash & (edges_.size() - 1);; i = (i + 1) & (edges_.size() - 1)) {
        const Edge& edge = edges_[i];
        if (edge.to == none) return none;
        if (edge.hash != hash || edge.from != node || edge.text_bytes != text.size()) continue;
        if (std::memcmp(edge_texts_.data() + edge.text, text.data(), text.size()) == 0) {
            return edge.to;
        }
    }
}

void Router::insert(Edge edge) {
    if (3 * ++edge_count_ > 2 * edges_.size()) {
        std::vector<Edge> before = std::exchange(edges_, std::vector<Edge>(2 * edges_.size()));
        edge_count_ = 1;
        for (const Edge& old : before) {
            if (old.to != none) insert(old);
        }
    }
    std::size_t i = edge.hash & (edges_.size() - 1);
    while (edges_[i].to != none) i = (i + 1) & (edges_.size() - 1);
    edges_[i] = edge;
}

std::uint32_t Router::child_for(std::uint32_t node, const Segment& segment) {
    if (segment.kind == Segment::Kind::literal) {
        const std::uint32_t known = literal_child(node, segment.text);
        if (known != none) return known;
        const std::uint32_t made = make_node();
        insert({node, made, hash_of(node, segment.text),
                static_cast<std::uint32_t>(edge_texts_.size()),
                static_cast<std::uint32_t>(segment.text.size())});
        edge_texts_ += segment.text;
        nodes_[node].has_literals = true;
        return made;
    }
    const bool rest = segment.kind == Segment::Kind::rest;
    const std::uint32_t known = rest ? nodes_[node].rest : nodes_[node].parameter;
    if (known != none) return known;
    const std::uint32_t made = make_node();
    (rest ? nodes_[node].rest : nodes_[node].parameter) = made;
    return made;
}

std::expected<void, std::string> Router::add(wire::Method method, std::string_view pattern,
                                             std::uint32_t route, Place place) {
    if (const PatternFault fault = check_pattern(pattern); fault != PatternFault::none) {
        return std::unexpected("route " + quoted(method, pattern, place) + ": " +
                               std::string(to_string(fault)));
    }
    if (added_.size() >= routes_max) return std::unexpected("more than a million routes");
    std::uint32_t node = 0;
    for (Segments segments(pattern); !segments.done();) node = child_for(node, segments.next());
    texts_.push_back(std::make_unique<std::string>(pattern));
    return add(node, method, {route, *texts_.back(), place});
}

std::uint32_t Router::node_for(std::string_view literal) {
    std::uint32_t node = 0;
    while (!literal.empty()) {
        const std::size_t end = std::min(literal.find('/', 1), literal.size());
        node = child_for(node, {Segment::Kind::literal, literal.substr(1, end - 1)});
        literal.remove_prefix(end);
    }
    return node;
}

void Router::put_alone(std::string_view path, std::uint32_t route) {
    Node& node = nodes_[node_for(path)];
    if (node.routes == none) {
        node.routes = static_cast<std::uint32_t>(routes_.size());
        routes_.emplace_back();
    }
    routes_[node.routes].by_method.fill(none);
    routes_[node.routes].by_method[methods - 1] = route;
    node.any = route;
}

std::expected<void, std::string> Router::add_below(std::string_view path, std::uint32_t route) {
    const std::uint32_t node = node_for(path);
    texts_.push_back(std::make_unique<std::string>(path));
    const Added added{route, *texts_.back(), {}};
    if (!path.empty()) {
        if (auto own = add(node, wire::Method::other, added); !own) return own;
    }
    return add(child_for(node, {Segment::Kind::rest, ""}), wire::Method::other, added);
}

std::expected<void, std::string> Router::add(std::uint32_t node, wire::Method method, Added added) {
    if (nodes_[node].routes == none) {
        nodes_[node].routes = static_cast<std::uint32_t>(routes_.size());
        routes_.emplace_back().by_method.fill(none);
    }
    Routes& routes = routes_[nodes_[node].routes];
    std::uint32_t& slot = routes.by_method[static_cast<std::size_t>(method)];
    if (slot != none) {
        const Added& before = *find(slot);
        return std::unexpected("route " + quoted(method, added.pattern, added.place) +
                               " conflicts with " + quoted(method, before.pattern, before.place) +
                               ", which was added before");
    }
    slot = added.route;
    // The first route of a node is the only one that may be for all: another makes it one of some.
    const bool is_first = routes.allow.empty();
    nodes_[node].any = is_first && method == wire::Method::other ? added.route : none;
    added_.push_back(added);
    add_allow(routes);
    return {};
}

void Router::add_allow(Routes& routes) const {
    routes.allow.clear();
    const auto has = [&](wire::Method method) {
        return routes.by_method[static_cast<std::size_t>(method)] != none;
    };
    for (std::size_t i = 0; i + 1 < methods; ++i) {
        const auto method = static_cast<wire::Method>(i);
        const bool implied = (method == wire::Method::head && has(wire::Method::get)) ||
                             method == wire::Method::options;
        if (!implied && !has(method)) continue;
        if (!routes.allow.empty()) routes.allow += ", ";
        routes.allow += wire::to_string(method);
    }
}

const Router::Added* Router::find(std::uint32_t route) const {
    const auto found = std::ranges::find(added_, route, &Added::route);
    return found == added_.end() ? nullptr : &*found;
}

std::string_view Router::pattern(std::uint32_t route) const {
    const Added* found = find(route);
    return found == nullptr ? std::string_view{} : found->pattern;
}

// The node where the path ends, from `at` on, or none. Each node of the tree is reached by one way
// only, so no branch is tried twice.
std::uint32_t Router::match(std::uint32_t node, ByteView path, std::size_t at,
                            Parameters& parameters) const {
    if (at == path.size()) return nodes_[node].routes != none ? node : none;
    const Node& here = nodes_[node];
    const std::size_t count = parameters.count;
    const auto add = [&](std::size_t bytes) {
        parameters.spans[parameters.count++] = {static_cast<std::uint32_t>(at + 1),
                                                static_cast<std::uint32_t>(bytes)};
    };
    // Where only a rest can follow, as in a site that is one folder, the path is not split.
    if (here.has_literals || here.parameter != none) {
        const std::size_t slash = path.find('/', at + 1);
        const std::size_t end = slash == ByteView::npos ? path.size() : slash;
        const ByteView segment = path.substr(at + 1, end - at - 1);
        // The most specific first: a literal, a parameter, the rest. A dead end goes back to the
        // next kind.
        const std::uint32_t child = here.has_literals ? literal_child(node, segment) : none;
        if (child != none) {
            const std::uint32_t found = match(child, path, end, parameters);
            if (found != none) return found;
            parameters.count = count;
        }
        if (here.parameter != none && !segment.empty()) {
            add(segment.size());
            const std::uint32_t found = match(here.parameter, path, end, parameters);
            if (found != none) return found;
            parameters.count = count;
        }
    }
    if (here.rest == none) return none;
    add(path.size() - at - 1);
    return here.rest;
}

Found Router::find(wire::Method method, ByteView path, Parameters& parameters) const {
    parameters.count = 0;
    // "*" (of OPTIONS) and the authority of CONNECT are no paths.
    if (!path.starts_with('/')) return {};
    const std::uint32_t node = match(0, path, 0, parameters);
    if (node == none) return {};
    if (nodes_[node].any != none) return {Found::Kind::route, nodes_[node].any, allow_of_any};
    const Routes& routes = routes_[nodes_[node].routes];
    std::uint32_t route = routes.by_method[static_cast<std::size_t>(method)];
    if (route == none && method == wire::Method::head) {
        route = routes.by_method[static_cast<std::size_t>(wire::Method::get)];
    }
    // A route for any method, in the place of Method::other.
    if (route == none) route = routes.by_method[methods - 1];
    if (route == none) {
        const auto other = [](std::uint32_t one) { return one != none; };
        return {Found::Kind::wrong_method, *std::ranges::find_if(routes.by_method, other),
                routes.allow};
    }
    return {Found::Kind::route, route, routes.allow};
}

}  // namespace tiderace::http::route
