#include "tiderace/http/site_chains.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace tiderace::http {

SiteChains::SiteChains(const Site& site, LayerPlace& place) : site_(&site) {
    if (site.before_all) before_all_ = make_layer(site.before_all, place).rule;
    for (const Site::Scope& scope : site.scopes()) parts_.push_back(make_parts(scope, place));
}

Layer SiteChains::make_layer(const Setting::Make& make, LayerPlace& place) {
    Layer layer = make(place);
    owned_.push_back(layer.owner);
    return layer;
}

SiteChains::Parts SiteChains::make_parts(const Site::Scope& scope, LayerPlace& place) {
    const Duration otherwise = place.timeout;
    // The nearest scope around it that sets one; those outside come before those inside.
    std::vector<const Site::Scope*> around;
    for (std::uint32_t at = scope.parent; at != Site::no_scope; at = site_->scopes()[at].parent) {
        around.push_back(&site_->scopes()[at]);
    }
    for (const Site::Scope* each : around | std::views::reverse) {
        for (const Setting& setting : each->settings) {
            place.timeout = setting.handler_timeout.value_or(place.timeout);
        }
    }
    Parts parts;
    for (const Setting& setting : scope.settings) {
        place.timeout = setting.handler_timeout.value_or(place.timeout);
        parts.made.push_back({&setting, setting.make ? make_layer(setting.make, place) : Layer()});
    }
    place.timeout = otherwise;
    if (scope.error_pages) parts.error_pages = make_layer(scope.error_pages, place).filter;
    return parts;
}

// What the scopes set, from the outside in. The innermost of one kind stands alone, unless they add
// up; kinds stand in their order.
std::vector<SiteChains::Standing> SiteChains::standing(
    std::span<const std::uint32_t> scopes) const {
    std::vector<Standing> all;
    for (const std::uint32_t number : scopes) {
        const Site::Scope& scope = site_->scopes()[number];
        if (scope.asks_nobody) {
            for (Standing& outer : all) outer.is_asked = false;
        }
        for (const Made& made : parts_[number].made) {
            const SettingKind kind = made.setting->kind;
            const bool replaces = kind != SettingKind::any && !made.setting->adds_up;
            if (replaces) {
                std::erase_if(
                    all, [&](const Standing& outer) { return outer.made->setting->kind == kind; });
            }
            all.push_back({&made, true});
        }
    }
    std::ranges::stable_sort(all, {}, [](const Standing& one) { return one.made->setting->kind; });
    return all;
}

Chain SiteChains::chain_of(std::uint32_t scope, std::span<const std::uint32_t> inside) const {
    std::vector<std::uint32_t> scopes;
    for (std::uint32_t at = scope; at != Site::no_scope; at = site_->scopes()[at].parent) {
        scopes.insert(scopes.begin(), at);
    }
    scopes.insert(scopes.end(), inside.begin(), inside.end());
    Chain chain;
    if (before_all_ != nullptr) chain.rules.push_back(before_all_);
    for (const std::uint32_t number : scopes) {
        ResponseFilter* const pages = parts_[number].error_pages;
        if (pages == nullptr) continue;
        chain.filters.insert(chain.filters.begin(), pages);
        ++chain.error_pages;
    }
    for (const Standing& each : standing(scopes)) {
        add(chain, each, before_all_ != nullptr ? 1 : 0);
    }
    return chain;
}

void SiteChains::add(Chain& chain, const Standing& each, std::size_t first_rule) {
    const Setting& setting = *each.made->setting;
    if (setting.body_bytes_max) chain.body_bytes_max = setting.body_bytes_max;
    if (setting.unknown_members) chain.unknown_members = setting.unknown_members;
    if (setting.handler_timeout) chain.handler_timeout = setting.handler_timeout;
    if (setting.access_log != nullptr) chain.target = setting.access_log.get();
    if (setting.slow) chain.slow = *setting.slow;
    const Layer& layer = each.made->layer;
    if (layer.rule != nullptr && each.is_asked) {
        const auto first = chain.rules.begin() + static_cast<std::ptrdiff_t>(first_rule);
        chain.rules.insert(layer.goes_first ? first : chain.rules.end(), layer.rule);
        chain.authenticates |= layer.authenticates;
    }
    if (layer.filter == nullptr) return;
    // Rules run from the outside in, filters from the inside out; but of settings that add up, the
    // innermost has the last word.
    std::size_t at = chain.error_pages;
    if (layer.goes_last) at = chain.filters.size() - chain.last_filters;
    if (setting.adds_up) at += chain.adding_filters++;
    chain.filters.insert(chain.filters.begin() + static_cast<std::ptrdiff_t>(at), layer.filter);
    chain.last_filters += layer.goes_last ? 1 : 0;
}

}  // namespace tiderace::http
