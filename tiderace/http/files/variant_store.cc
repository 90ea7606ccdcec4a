#include "tiderace/http/files/variant_store.h"

#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::http::files {

std::size_t VariantStore::cost_of(const Entry& entry) {
    // The memory of the containers and the allocator beside an entry, roughly.
    constexpr std::size_t overhead_bytes = sizeof(Entry) + sizeof(VariantKey) + 128;
    return overhead_bytes + (entry.bytes != nullptr ? entry.bytes->size() : 0);
}

//   (unknown) --claim: yours--> claimed --put--> made --evict--> (unknown)
//                                  +-----give_up-----------------> (unknown)
//
// A claimed key is `busy` for all others. The lock is held for look-ups only, never while
// compressing.
VariantStore::Claimed VariantStore::claim(const VariantKey& key) {
    const std::lock_guard held(lock_);
    const auto [at, is_new] = known_.try_emplace(key, entries_.end());
    // An entry without bytes yet marks the claim.
    if (is_new) return {Claim::yours, nullptr};
    if (at->second == entries_.end()) return {Claim::busy, nullptr};
    // Claimed last, so dropped last.
    entries_.splice(entries_.end(), entries_, at->second);
    // Without bytes: compressing did not pay, which is worth knowing too.
    counters_.shared += at->second->bytes != nullptr;
    return {Claim::made, at->second->bytes};
}

void VariantStore::put(const VariantKey& key, Bytes bytes, bool from_disk) {
    const std::lock_guard held(lock_);
    const auto at = known_.find(key);
    TR_CHECK(at != known_.end() && at->second == entries_.end(), "not claimed");
    ++(from_disk ? counters_.read : bytes != nullptr ? counters_.made : counters_.declined);
    at->second = entries_.insert(entries_.end(), {key, std::move(bytes)});
    bytes_ += cost_of(*at->second);
    evict();
}

// The next request for it may claim it again.
void VariantStore::give_up(const VariantKey& key) {
    const std::lock_guard held(lock_);
    known_.erase(key);
}

void VariantStore::evict() {
    while (bytes_ > bytes_max_ && !entries_.empty()) {
        bytes_ -= cost_of(entries_.front());
        known_.erase(entries_.front().key);
        entries_.pop_front();
        ++counters_.evicted;
    }
}

void VariantStore::drop_all() {
    const std::lock_guard held(lock_);
    // Claims without bytes stay: their threads will come back to them.
    for (const Entry& entry : entries_) known_.erase(entry.key);
    counters_.evicted += entries_.size();
    entries_.clear();
    bytes_ = 0;
}

std::shared_ptr<VariantFiles> VariantStore::files() const {
    const std::lock_guard held(lock_);
    return files_;
}

// The folder of before is closed without the lock.
void VariantStore::set_files(std::shared_ptr<VariantFiles> files) {
    const std::lock_guard held(lock_);
    files_.swap(files);
}

VariantStore::Counters VariantStore::counters() const {
    const std::lock_guard held(lock_);
    return counters_;
}

std::size_t VariantStore::bytes() const {
    const std::lock_guard held(lock_);
    return bytes_;
}

}  // namespace tiderace::http::files
