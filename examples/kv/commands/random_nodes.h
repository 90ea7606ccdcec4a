// random_nodes: what HRANDFIELD, SRANDMEMBER and ZRANDMEMBER choose.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "examples/kv/dict.h"
#include "tiderace/base/random.h"

namespace kv {

// A negative count chooses the same ones again and again, so that a set of one member could make an
// answer without end: so many at most, and so many bytes of keys and values.
inline constexpr std::int64_t repeated_max = 1'000'000;
inline constexpr std::size_t repeated_bytes_max = 64 << 20;

struct KeyBytes {
    template <typename Node>
    std::size_t operator()(const Node& node) const {
        return node.key.size();
    }
};

// At most `count` different ones; a negative count: exactly so many, the same one perhaps more than
// once. nullopt: above one of the limits. bytes_of(node): what the answer has of it.
template <typename Mapped, typename BytesOf = KeyBytes>
std::optional<std::vector<typename Dict<Mapped>::Node*>> random_nodes(Dict<Mapped>* dict,
                                                                      std::int64_t count,
                                                                      tiderace::Random& random,
                                                                      BytesOf bytes_of = {}) {
    using Node = typename Dict<Mapped>::Node;
    std::vector<Node*> nodes;
    if (count < -repeated_max) return std::nullopt;
    if (dict == nullptr || dict->empty()) return nodes;
    if (count < 0) {
        std::size_t bytes = 0;
        for (; count < 0; ++count) {
            nodes.push_back(&dict->random(random));
            bytes += bytes_of(*nodes.back());
            if (bytes > repeated_bytes_max) return std::nullopt;
        }
        return nodes;
    }
    const auto wanted = std::min<std::uint64_t>(static_cast<std::uint64_t>(count), dict->size());
    if (wanted * 3 > dict->size()) {
        dict->for_each([&nodes](Node& node) { nodes.push_back(&node); });
        for (std::size_t i = 0; i < wanted; ++i) {
            std::swap(nodes[i], nodes[i + random.below(nodes.size() - i)]);
        }
        nodes.resize(wanted);
        return nodes;
    }
    std::set<Node*> chosen;
    // In the order of choice, because the set has the order of their addresses.
    while (nodes.size() < wanted) {
        Node* node = &dict->random(random);
        if (chosen.insert(node).second) nodes.push_back(node);
    }
    return nodes;
}

}  // namespace kv
