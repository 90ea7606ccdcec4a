#include "tiderace/core/budget.h"

#include <algorithm>
#include <queue>

#include "tiderace/base/check.h"
#include "tiderace/core/event_loop.h"

namespace tiderace::core {
namespace {

constexpr Duration time_to_take = 100ms;

double weight_of(const Claim& claim) {
    return static_cast<double>(claim.bytes) *
           (1 + static_cast<double>(std::min(claim.age, time_to_take) / 1ms));
}

// A client's claims, the next to go first.
struct Group {
    double weight = 0;
    bool trusted = false;
    std::size_t next = 0;  // indices of the order below
    std::size_t end = 0;

    bool operator<(const Group& other) const {
        if (trusted != other.trusted) return trusted;
        return weight < other.weight || (weight == other.weight && next > other.next);
    }
};

using Holding = SendHolder::Holding;

// One large answer may be larger than the limit, so only a part of shared bytes counts.
std::uint64_t counted_bytes(const Holding& holding, const BlockPool& pool) {
    return holding.held.copied + std::min<std::uint64_t>(holding.held.shared, pool.bytes_max() / 4);
}

}  // namespace

ClientKey::ClientKey(const Address& peer) {
    if (peer.is_unix()) return;
    ip_ = peer.subscriber().ip();
    is_known_ = true;
}

std::vector<std::size_t> choose_to_go(std::span<const Claim> claims, std::uint64_t wanted) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (claims[i].bytes > 0) order.push_back(i);
    }
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        const Claim& one = claims[a];
        const Claim& other = claims[b];
        if (one.trusted != other.trusted) return other.trusted;
        if (one.client != other.client) return one.client < other.client;
        const double first = weight_of(one);
        const double second = weight_of(other);
        return first > second || (first == second && one.age > other.age);
    });
    std::priority_queue<Group> groups;
    for (std::size_t begin = 0; begin < order.size();) {
        const Claim& first = claims[order[begin]];
        Group group{.trusted = first.trusted, .next = begin, .end = begin};
        do {
            group.weight += weight_of(claims[order[group.end++]]);
        } while (group.end < order.size() && !first.client.is_alone() &&
                 claims[order[group.end]].client == first.client &&
                 claims[order[group.end]].trusted == first.trusted);
        begin = group.end;
        groups.push(group);
    }
    std::vector<std::size_t> chosen;
    while (wanted > 0 && !groups.empty()) {
        Group group = groups.top();
        groups.pop();
        const Claim& claim = claims[order[group.next]];
        chosen.push_back(order[group.next++]);
        wanted -= std::min(wanted, claim.bytes);
        group.weight -= weight_of(claim);
        if (group.next < group.end) groups.push(group);
    }
    return chosen;
}

void Budget::Holder::join(Ref<Budget> budget, const Address& peer) {
    TR_CHECK(bytes_ == 0, "a holder changed its budget");
    budget_ = std::move(budget);
    client_ = ClientKey(peer);
}

void Budget::Holder::grow_to(std::size_t bytes) {
    if (bytes <= bytes_ || !budget_) return;
    if (bytes_ == 0) {
        budget_->holders_.push_back(*this);
        since_ = budget_->loop_->now();
    }
    budget_->bytes_ += bytes - bytes_;
    bytes_ = bytes;
    // A copy, because a holder that is destroyed may be the last owner.
    if (budget_->bytes_ > budget_->bytes_max_) Ref<Budget>(budget_)->make_room();
}

void Budget::Holder::shrink_to(std::size_t bytes) {
    if (bytes >= bytes_) return;
    budget_->bytes_ -= bytes_ - bytes;
    bytes_ = bytes;
    if (bytes == 0) unlink();
}

// A sixteenth more than needed, so that a full budget costs little for each byte that it takes.
void Budget::make_room() {
    std::vector<Claim> claims;
    std::vector<Holder*> holders;
    holders_.for_each([&](Holder& holder) {
        // Received bytes are held because of the peer, from the first moment on.
        claims.push_back({.bytes = holder.bytes_,
                          .age = loop_->now() - holder.since_ + time_to_take,
                          .client = holder.client_,
                          .trusted = holder.trusted_});
        holders.push_back(&holder);
    });
    const std::vector<std::size_t> chosen =
        choose_to_go(claims, bytes_ - (bytes_max_ - bytes_max_ / 16));
    for (const std::size_t index : chosen) {
        holders[index]->unlink();
        refused_.push_back(*holders[index]);
    }
    log_refusals(chosen.size());
    // Behind the choice, because a refusal may end a connection, and with it any other holder.
    // Destroyed holders leave the list by themselves; after an exception the rest is refused
    // with the next.
    while (!refused_.empty()) {
        Holder& holder = refused_.pop_front();
        holders_.push_back(holder);  // it may keep a part
        holder.refuse();
    }
}

void Budget::log_refusals(std::size_t count) {
    unlogged_ += count;
    log::Logger* const log = loop_->log();
    if (log == nullptr || (logged_ != Instant::min() && loop_->now() - logged_ < 1s)) return;
    log->warning("core", "a shared limit was exceeded; the client that held most was refused",
                 log::field("of", name_), log::field("bytes_max", bytes_max_),
                 log::field("refused", unlogged_));
    logged_ = loop_->now();
    unlogged_ = 0;
}

std::size_t SendEviction::evict(const BlockPool& pool) {
    std::vector<Holding> all;
    holders_.for_each([&](SendHolder& holder) TR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
        for (Holding each : holder.holdings()) {
            each.holder = &holder;
            all.push_back(each);
        }
    });
    std::uint64_t used = pool.taken_bytes();
    for (const Holding& each : all) used += counted_bytes(each, pool) - each.held.copied;
    if (used <= pool.bytes_max()) return 0;
    std::vector<Claim> claims;
    for (const Holding& each : all) {
        // A block is freed whole, however few bytes it holds.
        const std::uint64_t bytes = counted_bytes(each, pool);
        claims.push_back(
            {.bytes = bytes > 0 ? std::max<std::uint64_t>(bytes, BlockPool::block_bytes) : 0,
             .age = each.held.waits,
             .client = each.client,
             .trusted = each.trusted});
    }
    // An eighth more than needed, so that the next turns do not come here again.
    const std::vector<std::size_t> chosen = choose_to_go(claims, used - pool.bytes_max() * 7 / 8);
    for (const std::size_t index : chosen) all[index].holder->give_up(all[index].id);
    return chosen.size();
}

}  // namespace tiderace::core
