// SortedSet: members with scores, in the order of the scores, then of the members' bytes.
//
//   Dict: member -> score          a member is found in constant time
//   skip list with spans           a place (rank) and a range in logarithmic time
//
// Each link of the list knows how many members it passes, so that the n-th is found by adding up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "examples/kv/dict.h"

namespace kv {

class SortedSet {
  public:
    class Node;

    SortedSet();
    ~SortedSet();
    SortedSet(const SortedSet&) = delete;
    SortedSet& operator=(const SortedSet&) = delete;

    std::size_t size() const { return size_; }
    // True: it is new.
    bool set(ByteView member, double score);
    // The same for one whose score depends on the one before: choose(former, or nullopt) returns
    // the score, or nullopt if it shall stay as it is. Looks the member up once.
    template <typename Choose>
    void update(ByteView member, Choose&& choose) {
        const auto [node, is_new] = scores_.insert(member);
        const std::optional<double> former = is_new ? std::nullopt : std::optional(node->mapped);
        const std::optional<double> score = choose(former);
        if (score) {
            place(*node, is_new, *score);
        } else if (is_new) {
            scores_.erase(member);
        }
    }
    bool erase(ByteView member);
    std::optional<double> score(ByteView member);
    // From 0.
    std::optional<std::size_t> rank(ByteView member);

    // The member at a rank; nullptr: there is none.
    const Node* at(std::size_t rank) const;
    // The first one for which `before` does not hold; it holds for a beginning of the order.
    const Node* first_not(const std::function<bool(const Node&)>& before) const;
    std::size_t rank_of_first_not(const std::function<bool(const Node&)>& before) const;

    Dict<double>& members() { return scores_; }

  private:
    static constexpr int levels_max = 24;

    static Node* make(int levels, double score, ByteView member);
    static void destroy(Node* node);
    void place(Dict<double>::Node& entry, bool is_new, double score);
    void link(double score, ByteView member);
    void unlink(double score, ByteView member);

    Dict<double> scores_;
    Node* head_;
    std::size_t size_ = 0;
    int levels_ = 1;
    std::uint64_t random_;
};

// Its links lie behind it in the same block, because a search reads both at each step.
class SortedSet::Node {
  public:
    ByteView member() const { return member_; }
    double score() const { return score_; }
    const Node* next() const { return links()[0].next; }
    const Node* previous() const { return previous_; }  // nullptr: it is the first

  private:
    friend class SortedSet;
    struct Link {
        Node* next = nullptr;
        std::size_t span = 0;  // members from here to `next`; at the end, to the last one
    };

    Node(double score, ByteView member) : score_(score), member_(member) {}
    bool before(double score, ByteView member) const {
        return score_ < score || (score_ == score && member_ < member);
    }
    Link* links() { return reinterpret_cast<Link*>(this + 1); }
    const Link* links() const { return reinterpret_cast<const Link*>(this + 1); }

    double score_;
    ByteView member_;  // the bytes of the table's key
    Node* previous_ = nullptr;
};

}  // namespace kv
