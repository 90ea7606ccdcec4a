#include "tiderace/http/places.h"

#include <algorithm>
#include <map>

#include "tiderace/base/check.h"

namespace tiderace::http {

Places::Places(std::size_t places_max) {
    set_places_max(places_max);
}

void Places::set_places_max(std::size_t places_max) {
    // So that a place can be passed on where memory is short.
    held_.reserve(std::min<std::size_t>(places_max, 4096));
    places_max_ = places_max;
}

std::size_t Places::room_for(const core::ClientKey& client) const {
    const std::size_t quarter = places_max_ / 4;
    const std::size_t free = places_max_ > taken_ ? places_max_ - taken_ : 0;
    if (client.is_alone()) return free;
    const std::size_t for_all = free > quarter ? free - quarter : 0;
    const auto found = std::ranges::find(held_, client, &Held::client);
    const std::size_t held = (found != held_.end() ? found->places : 0) + for_all;
    return std::min(free, for_all + (held < quarter ? quarter - held : 0));
}

void Places::take(const core::ClientKey& client) {
    if (!client.is_alone()) {
        const auto found = std::ranges::find(held_, client, &Held::client);
        found != held_.end() ? static_cast<void>(++found->places) : held_.push_back({client, 1});
    }
    ++taken_;
}

void Places::give_back(const core::ClientKey& client) {
    TR_CHECK(taken_ > 0, "more was given back than was taken");
    --taken_;
    if (client.is_alone()) return;
    const auto found = std::ranges::find(held_, client, &Held::client);
    TR_CHECK(found != held_.end(), "a client gave back a place that it did not hold");
    if (--found->places > 0) return;
    *found = held_.back();
    held_.pop_back();
}

std::optional<std::size_t> who_gives_way(std::span<const core::ClientKey> waiting,
                                         const core::ClientKey& newcomer) {
    std::map<core::ClientKey, std::size_t> counts;
    for (const core::ClientKey& each : waiting) ++counts[each];
    // A client that waits as often as the newcomer's keeps its place: a change would win nothing.
    std::size_t most = newcomer.is_alone() ? 1 : counts[newcomer] + 1;
    std::optional<std::size_t> chosen;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i].is_alone() || counts[waiting[i]] <= most) continue;
        most = counts[waiting[i]];
        chosen = i;
    }
    if (!chosen) return std::nullopt;
    for (std::size_t i = *chosen + 1; i < waiting.size(); ++i) {
        if (waiting[i] == waiting[*chosen]) chosen = i;
    }
    return chosen;
}

}  // namespace tiderace::http
