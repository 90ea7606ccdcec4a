#include "examples/kv/sorted_set.h"

#include <array>
#include <memory>
#include <new>
#include <utility>

namespace kv {

SortedSet::SortedSet() : head_(make(levels_max, 0, {})), random_(hash_of("levels") | 1) {}

SortedSet::~SortedSet() {
    for (Node* node = head_; node != nullptr;) {
        Node* next = node->links()[0].next;
        destroy(node);
        node = next;
    }
}

SortedSet::Node* SortedSet::make(int levels, double score, ByteView member) {
    static_assert(sizeof(Node) % alignof(Node::Link) == 0, "the links lie behind the node");
    const auto count = static_cast<std::size_t>(levels);
    void* const memory = ::operator new(sizeof(Node) + count * sizeof(Node::Link));
    Node* const node = new (memory) Node(score, member);
    std::uninitialized_value_construct_n(node->links(), count);
    return node;
}

// Neither the node nor its links have anything to destroy.
void SortedSet::destroy(Node* node) {
    ::operator delete(node);
}

bool SortedSet::set(ByteView member, double score) {
    const auto [node, is_new] = scores_.insert(member);
    place(*node, is_new, score);
    return is_new;
}

void SortedSet::place(Dict<double>::Node& entry, bool is_new, double score) {
    if (!is_new) {
        if (entry.mapped == score) return;
        // By the former score, which is where it stands.
        unlink(entry.mapped, entry.key);
    }
    entry.mapped = score;
    link(score, entry.key);
}

bool SortedSet::erase(ByteView member) {
    const auto* node = scores_.find(member);
    if (node == nullptr) return false;
    unlink(node->mapped, member);
    return scores_.erase(member);
}

std::optional<double> SortedSet::score(ByteView member) {
    const auto* node = scores_.find(member);
    return node != nullptr ? std::optional(node->mapped) : std::nullopt;
}

std::optional<std::size_t> SortedSet::rank(ByteView member) {
    const auto* node = scores_.find(member);
    if (node == nullptr) return std::nullopt;
    return rank_of_first_not([&](const Node& each) { return each.before(node->mapped, member); });
}

const SortedSet::Node* SortedSet::at(std::size_t rank) const {
    if (rank >= size_) return nullptr;
    const Node* node = head_;
    std::size_t left = rank + 1;  // the head stands before the first member
    for (int level = levels_ - 1; level >= 0; --level) {
        while (node->links()[level].next != nullptr && node->links()[level].span <= left) {
            left -= node->links()[level].span;
            node = node->links()[level].next;
        }
        if (left == 0) return node;
    }
    return nullptr;
}

const SortedSet::Node* SortedSet::first_not(const std::function<bool(const Node&)>& before) const {
    return at(rank_of_first_not(before));
}

std::size_t SortedSet::rank_of_first_not(const std::function<bool(const Node&)>& before) const {
    const Node* node = head_;
    std::size_t passed = 0;
    for (int level = levels_ - 1; level >= 0; --level) {
        while (node->links()[level].next != nullptr && before(*node->links()[level].next)) {
            passed += node->links()[level].span;
            node = node->links()[level].next;
        }
    }
    return passed;
}

void SortedSet::link(double score, ByteView member) {
    std::array<Node*, levels_max> before{};
    std::array<std::size_t, levels_max> rank{};
    Node* node = head_;
    std::size_t passed = 0;
    for (int level = levels_ - 1; level >= 0; --level) {
        while (node->links()[level].next != nullptr &&
               node->links()[level].next->before(score, member)) {
            passed += node->links()[level].span;
            node = node->links()[level].next;
        }
        before[level] = node;
        rank[level] = passed;
    }
    // One in four is also on the next level.
    int levels = 1;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    for (std::uint64_t bits = random_; levels < levels_max && (bits & 3) == 0; bits >>= 2) ++levels;
    for (; levels_ < levels; ++levels_) {
        before[levels_] = head_;
        // A new level has one link so far, which passes all members.
        head_->links()[levels_].span = size_;
    }
    Node* made = make(levels, score, member);
    for (int level = 0; level < levels; ++level) {
        auto& link = before[level]->links()[level];
        made->links()[level].next = link.next;
        // The new node cuts the link in two: rank[0] - rank[level] members stand before it.
        made->links()[level].span = link.span - (rank[0] - rank[level]);
        link.next = made;
        link.span = rank[0] - rank[level] + 1;
    }
    for (int level = levels; level < levels_; ++level) ++before[level]->links()[level].span;
    made->previous_ = before[0] == head_ ? nullptr : before[0];
    if (Node* next = made->links()[0].next) next->previous_ = made;
    ++size_;
}

void SortedSet::unlink(double score, ByteView member) {
    std::array<Node*, levels_max> before{};
    Node* node = head_;
    for (int level = levels_ - 1; level >= 0; --level) {
        while (node->links()[level].next != nullptr &&
               node->links()[level].next->before(score, member)) {
            node = node->links()[level].next;
        }
        before[level] = node;
    }
    Node* gone = node->links()[0].next;
    for (int level = 0; level < levels_; ++level) {
        auto& link = before[level]->links()[level];
        if (link.next == gone) {
            link.span += gone->links()[level].span - 1;
            link.next = gone->links()[level].next;
        } else {
            --link.span;
        }
    }
    if (Node* next = gone->links()[0].next) next->previous_ = gone->previous_;
    // Empty levels would be gone through by every later search.
    while (levels_ > 1 && head_->links()[levels_ - 1].next == nullptr) --levels_;
    destroy(gone);
    --size_;
}

}  // namespace kv
