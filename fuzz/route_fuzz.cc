// Routes and the paths that are looked up among them, against a model that compares a path with
// every pattern in turn.
//
// Each line of the input is one step; the first byte chooses the method, '0' to '9':
//   0+/users/{id}     adds a route
//   0 /users/7        looks a path up
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/route/router.h"

namespace tiderace::http::route {
namespace {

using Kind = Segment::Kind;

struct Piece {
    Kind kind = Kind::literal;
    std::string text;  // of a literal; a parameter's name makes no difference to a path
    bool operator==(const Piece&) const = default;
};
using Shape = std::vector<Piece>;

struct Route {
    wire::Method method{};
    Shape shape;
    std::uint32_t number = 0;
};

std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('/', at + 1), path.size());
        pieces.emplace_back(path.substr(at + 1, end - at - 1));
        at = end;
    }
    return pieces;
}

bool is_name(std::string_view text) {
    static constexpr std::string_view allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return !text.empty() && text.find_first_not_of(allowed) == text.npos;
}

// A piece "{name}" or "{name...}"; nullopt where it may not stand in a pattern.
std::optional<Piece> read_piece(std::string_view text, bool last, std::set<std::string>& names) {
    if (text.find_first_of("{}") == text.npos) {
        if (text.empty() && !last) return std::nullopt;
        return Piece{Kind::literal, std::string(text)};
    }
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    const bool rest = text.ends_with("...");
    if (rest) text.remove_suffix(3);
    if ((rest && !last) || !is_name(text)) return std::nullopt;
    if (!names.emplace(text).second) return std::nullopt;
    return Piece{rest ? Kind::rest : Kind::parameter, {}};
}

std::optional<Shape> read_pattern(std::string_view pattern) {
    if (!pattern.starts_with('/') || pattern.size() > pattern_bytes_max) return std::nullopt;
    Shape shape;
    std::set<std::string> names;
    const std::vector<std::string> pieces = split(pattern);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto piece = read_piece(pieces[i], i + 1 == pieces.size(), names);
        if (!piece) return std::nullopt;
        shape.push_back(*piece);
    }
    if (names.size() > parameters_max) return std::nullopt;
    return shape;
}

// The values of the parameters where the path fits the shape.
std::optional<std::vector<std::string>> fit(const Shape& shape, std::string_view path) {
    const std::vector<std::string> pieces = split(path);
    std::vector<std::string> values;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i >= pieces.size()) return std::nullopt;
        if (shape[i].kind == Kind::rest) {
            std::string rest = pieces[i];
            for (std::size_t j = i + 1; j < pieces.size(); ++j) rest += "/" + pieces[j];
            values.push_back(rest);
            return values;
        }
        if (shape[i].kind == Kind::parameter) {
            if (pieces[i].empty()) return std::nullopt;
            values.push_back(pieces[i]);
        } else if (shape[i].text != pieces[i]) {
            return std::nullopt;
        }
    }
    if (pieces.size() != shape.size()) return std::nullopt;
    return values;
}

// At the first difference a literal comes before a parameter, and a parameter before a rest.
bool comes_first(const Shape& one, const Shape& other) {
    const auto by_kind = [](const Piece& a, const Piece& b) { return a.kind < b.kind; };
    return std::ranges::lexicographical_compare(one, other, by_kind);
}

class Model {
  public:
    void add(wire::Method method, std::string_view pattern) {
        const auto shape = read_pattern(pattern);
        TR_CHECK(shape.has_value() == (check_pattern(pattern) == PatternFault::none));
        const auto number = static_cast<std::uint32_t>(routes_.size());
        const bool taken = shape && find(method, *shape);
        const auto added = router_.add(method, pattern, number);
        TR_CHECK(added.has_value() == (shape && !taken));
        if (!added) return TR_CHECK(!added.error().empty());
        TR_CHECK(router_.pattern(number) == pattern);
        routes_.push_back({method, *shape, number});
    }

    void look_up(wire::Method method, std::string_view path) const {
        Parameters parameters;
        const Found found = router_.find(method, path, parameters);
        const Shape* best = nullptr;
        if (path.starts_with('/')) {
            for (const Route& route : routes_) {
                if (!fit(route.shape, path)) continue;
                if (best == nullptr || comes_first(route.shape, *best)) best = &route.shape;
            }
        }
        if (best == nullptr) return TR_CHECK(found.kind == Found::Kind::nothing);
        check_parameters(*fit(*best, path), parameters, path);
        const Route* route = find(method, *best);
        if (route == nullptr && method == wire::Method::head) {
            route = find(wire::Method::get, *best);
        }
        if (route == nullptr) route = find(wire::Method::other, *best);
        if (route == nullptr) {
            TR_CHECK(found.kind == Found::Kind::wrong_method);
            TR_CHECK(found.route < routes_.size() && routes_[found.route].shape == *best);
        } else {
            TR_CHECK(found.kind == Found::Kind::route && found.route == route->number);
        }
        check_allow(found.allow, *best);
    }

  private:
    const Route* find(wire::Method method, const Shape& shape) const {
        const auto same = [&](const Route& r) { return r.method == method && r.shape == shape; };
        const auto it = std::ranges::find_if(routes_, same);
        return it == routes_.end() ? nullptr : &*it;
    }

    static void check_parameters(const std::vector<std::string>& expected,
                                 const Parameters& parameters, std::string_view path) {
        TR_CHECK(parameters.count == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const ByteView value = parameters.of(path, i);
            TR_CHECK(value == expected[i]);
            TR_CHECK(value.data() >= path.data() &&
                     value.data() + value.size() <= path.data() + path.size());
        }
    }

    void check_allow(std::string_view allow, const Shape& shape) const {
        std::string expected;
        for (int i = 0; i < static_cast<int>(wire::Method::other); ++i) {
            const auto method = static_cast<wire::Method>(i);
            const bool by_get =
                method == wire::Method::head && find(wire::Method::get, shape) != nullptr;
            if (method != wire::Method::options && !by_get && find(method, shape) == nullptr) {
                continue;
            }
            if (!expected.empty()) expected += ", ";
            expected += wire::to_string(method);
        }
        TR_CHECK(allow == expected);
    }

    Router router_;
    std::vector<Route> routes_;
};

void check(std::string_view input) {
    Model model;
    while (!input.empty()) {
        const std::size_t end = std::min(input.find('\n'), input.size());
        const std::string_view line = input.substr(0, end);
        input.remove_prefix(std::min(end + 1, input.size()));
        if (line.size() < 2) continue;
        const auto method = static_cast<wire::Method>(static_cast<unsigned char>(line[0]) % 10);
        if (line[1] == '+') {
            model.add(method, line.substr(2));
        } else {
            model.look_up(method, line.substr(2));
        }
    }
}

}  // namespace
}  // namespace tiderace::http::route

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    tiderace::http::route::check({reinterpret_cast<const char*>(data), size});
    return 0;
}
