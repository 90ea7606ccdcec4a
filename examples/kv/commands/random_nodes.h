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

// At most `count` different ones; a negative count: exactly so many, the same one perhaps more than
// once. nullopt: more than anyone can mean.
template <typename Mapped>
std::optional<std::vector<typename Dict<Mapped>::Node*>> random_nodes(Dict<Mapped>* dict,
                                                                      std::int64_t count,
                                                                      tiderace::Random& random) {
    using Node = typename Dict<Mapped>::Node;
    constexpr std::int64_t repeated_max = 10'000'000;
    std::vector<Node*> nodes;
    if (count < -repeated_max) return std::nullopt;
    if (dict == nullptr || dict->empty()) return nodes;
    if (count < 0) {
        for (; count < 0; ++count) nodes.push_back(&dict->random(random));
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
    while (chosen.size() < wanted) chosen.insert(&dict->random(random));
    nodes.assign(chosen.begin(), chosen.end());
    return nodes;
}

}  // namespace kv
