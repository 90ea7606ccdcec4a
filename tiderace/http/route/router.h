// Internal. Router: from a method and a canonical path to a route, through a tree of segments.
//
//   /users         (node) --"users"--> (node: GET, POST)
//   /users/{id}                           --{id}--> (node: GET)
//   /users/me                             --"me"--> (node: GET)
//
// At each node a literal comes before a parameter, and a parameter before a rest; a branch that
// leads nowhere is abandoned for the next. A path is matched segment by segment, so the time
// depends on its length and not on the number of routes.
//
// Owner    The application; built before it serves, then constant.
// Thread   add(): one. find(): any number at once.
// Errors   A pattern with a fault, and two routes that conflict: a sentence with both, and their
//          places in the source.
// Limits   pattern.h; routes_max routes.
// Keywords: routing, 404, 405, Allow
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/http/route/pattern.h"
#include "tiderace/http/route/placed_pattern.h"
#include "tiderace/http/wire/method.h"

namespace tiderace::http::route {

inline constexpr std::size_t routes_max = 1'000'000;

struct Found {
    enum class Kind : std::uint8_t {
        nothing,       // no pattern matches: 404
        wrong_method,  // one does, for other methods: 405 with `allow`
        route,
    };
    Kind kind = Kind::nothing;
    // The number given to add(); with wrong_method, the number of a route for another method.
    std::uint32_t route = 0;
    std::string_view allow;  // "GET, HEAD, OPTIONS"; also with a route
};

class Router {
  public:
    Router();

    // Method::other stands for every method that has no route of its own.
    std::expected<void, std::string> add(wire::Method method, std::string_view pattern,
                                         std::uint32_t route, Place place = {});
    // A literal path and all below it, whatever the method; "": all. No braces mean anything here.
    std::expected<void, std::string> add_below(std::string_view path, std::uint32_t route);
    // A literal path alone, whatever the method, also in the place of what add_below() put there.
    void put_alone(std::string_view path, std::uint32_t route);
    // A GET route answers HEAD, too.
    Found find(wire::Method method, ByteView path, Parameters& parameters) const;

    // The pattern of a route, as it was added.
    std::string_view pattern(std::uint32_t route) const;

  private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::size_t methods = static_cast<std::size_t>(wire::Method::other) + 1;

    struct Routes {
        std::array<std::uint32_t, methods> by_method;
        std::string allow;
    };
    struct Node {
        std::uint32_t parameter = none;  // nodes
        std::uint32_t rest = none;
        std::uint32_t routes = none;  // of routes that end here
        std::uint32_t any = none;     // the route, where it is for every method
        bool has_literals = false;
    };
    struct Added {
        std::uint32_t route;
        std::string_view pattern;
        Place place;
    };
    // A look-up waits for memory most of all, so a site's edges and their texts lie close together.
    struct Edge {
        std::uint32_t from = none;
        std::uint32_t to = none;
        std::uint32_t hash = 0;
        std::uint32_t text = 0;  // in edge_texts_
        std::uint32_t text_bytes = 0;
    };

    static std::uint32_t hash_of(std::uint32_t from, std::string_view text);
    std::uint32_t literal_child(std::uint32_t node, std::string_view text) const;
    std::uint32_t child_for(std::uint32_t node, const Segment& segment);
    std::uint32_t make_node();
    std::uint32_t node_for(std::string_view literal);
    void insert(Edge edge);
    std::expected<void, std::string> add(std::uint32_t node, wire::Method method, Added added);
    void add_allow(Routes& routes) const;
    std::uint32_t match(std::uint32_t node, ByteView path, std::size_t at,
                        Parameters& parameters) const;
    const Added* find(std::uint32_t route) const;

    std::vector<Node> nodes_;
    std::vector<Routes> routes_;
    std::vector<Edge> edges_;  // open addressing, a power of two, at most two thirds full
    std::size_t edge_count_ = 0;
    std::string edge_texts_;
    std::vector<std::unique_ptr<std::string>> texts_;  // of patterns
    std::vector<Added> added_;                         // in order of add
};

}  // namespace tiderace::http::route
