#include "tiderace/http/h2/stream_table.h"

#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/h2/exchange.h"

namespace tiderace::http {

H2StreamTable::H2StreamTable() = default;
H2StreamTable::~H2StreamTable() = default;

// The stream's slot, or the free slot where it would be: open addressing with linear probing. At
// most half of the slots are taken, so a free one is always met.
std::size_t H2StreamTable::slot_of(std::uint32_t stream) const {
    std::size_t slot = home_of(stream);
    while (slots_[slot] && slots_[slot]->stream() != stream)
        slot = (slot + 1) & (slots_.size() - 1);
    return slot;
}

void H2StreamTable::insert(core::Ref<H2Exchange> exchange) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    const std::size_t slot = slot_of(exchange->stream());
    TR_CHECK(!slots_[slot], "a stream's number is used once");
    slots_[slot] = std::move(exchange);
    ++count_;
}

H2Exchange* H2StreamTable::find(std::uint32_t stream) const {
    return count_ == 0 ? nullptr : slots_[slot_of(stream)].get();
}

core::Ref<H2Exchange> H2StreamTable::take(std::uint32_t stream) {
    std::size_t gap = slot_of(stream);
    core::Ref<H2Exchange> taken = std::move(slots_[gap]);
    TR_CHECK(static_cast<bool>(taken), "no such stream");
    --count_;
    // Entries behind the gap that were pushed there by a collision move up, so no search stops
    // early.
    for (std::size_t slot = gap;;) {
        slot = (slot + 1) & (slots_.size() - 1);
        if (!slots_[slot]) return taken;
        const std::size_t home = home_of(slots_[slot]->stream());
        const std::size_t distance = (slot - home) & (slots_.size() - 1);
        // Its home lies behind the gap, so no search for it passes the gap.
        if (distance < ((slot - gap) & (slots_.size() - 1))) continue;
        slots_[gap] = std::move(slots_[slot]);
        gap = slot;
    }
}

core::Ref<H2Exchange> H2StreamTable::any() const {
    for (const core::Ref<H2Exchange>& exchange : slots_) {
        if (exchange) return exchange;
    }
    return {};
}

std::vector<core::Ref<H2Exchange>> H2StreamTable::all() const {
    std::vector<core::Ref<H2Exchange>> found;
    found.reserve(count_);
    for (const core::Ref<H2Exchange>& exchange : slots_) {
        // A copy: callers close streams while they walk over it.
        if (exchange) found.push_back(exchange);
    }
    return found;
}

void H2StreamTable::grow() {
    // Before anything moves: without memory for it, all entries are where they were.
    std::vector<core::Ref<H2Exchange>> old(slots_.empty() ? slots_min : slots_.size() * 2);
    old.swap(slots_);
    for (core::Ref<H2Exchange>& exchange : old) {
        if (!exchange) continue;
        const std::size_t slot = slot_of(exchange->stream());
        slots_[slot] = std::move(exchange);
    }
}

}  // namespace tiderace::http
