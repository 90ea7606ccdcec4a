#include "tiderace/metrics/metrics.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <variant>

#include "tiderace/base/check.h"

namespace tiderace::metrics {

struct Registry::Family {
    using Metric =
        std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>, std::unique_ptr<Histogram>>;
    Type type;
    std::string name;
    std::string help;
    std::map<Labels, Metric> series = {};
    std::optional<Metric> not_shown = {};  // of all that came too late
};

std::uint64_t Counter::value() const {
    std::uint64_t sum = 0;
    for (const Cell& cell : cells_) sum += cell.value.load(std::memory_order_relaxed);
    return sum;
}

const std::vector<double>& Histogram::durations() {
    static const std::vector<double> bounds{.005, .01, .025, .05, .075, .1,  .25,
                                            .5,   .75, 1,    2.5, 5,    7.5, 10};
    return bounds;
}

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)),
      stride_((bounds_.size() + 2 + 7) / 8 * 8),  // of whole cache lines
      cells_(std::make_unique<std::atomic<std::uint64_t>[]>(stride_ * (threads_max + 1))) {
    TR_CHECK(std::ranges::is_sorted(bounds_), "the bounds of a histogram ascend");
}

void Histogram::observe(double value) {
    const unsigned cell = thread_cell();
    std::atomic<std::uint64_t>* const own = &cells_[cell * stride_];
    const auto bucket =
        static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
    std::atomic<std::uint64_t>& count = own[bucket];
    std::atomic<std::uint64_t>& sum = own[bounds_.size() + 1];
    if (cell == threads_max) [[unlikely]] {
        count.fetch_add(1, std::memory_order_relaxed);
        std::uint64_t old = sum.load(std::memory_order_relaxed);
        while (!sum.compare_exchange_weak(
            old, std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) + value))) {
        }
        return;
    }
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const double before = std::bit_cast<double>(sum.load(std::memory_order_relaxed));
    sum.store(std::bit_cast<std::uint64_t>(before + value), std::memory_order_relaxed);
}

HistogramValue Histogram::value() const {
    HistogramValue all{.bounds = bounds_, .counts = std::vector<std::uint64_t>(bounds_.size() + 1)};
    for (unsigned cell = 0; cell <= threads_max; ++cell) {
        const std::atomic<std::uint64_t>* const own = &cells_[cell * stride_];
        for (std::size_t i = 0; i < all.counts.size(); ++i) {
            all.counts[i] += own[i].load(std::memory_order_relaxed);
        }
        all.sum += std::bit_cast<double>(own[all.counts.size()].load(std::memory_order_relaxed));
    }
    return all;
}

Registry::Registry() = default;
Registry::~Registry() = default;

template <typename Kind, typename... Made>
Kind& Registry::find_or_make(Type type, std::string& name, std::string& help, Labels& labels,
                             const Made&... made) {
    TR_CHECK(is_metric_name(name), "the name of a metric has letters, digits and '_'");
    TR_CHECK((type == Type::counter) == name.ends_with("_total"),
             "a counter's name ends in _total");
    for (const auto& [label, value] : labels) {
        TR_CHECK(is_label_name(label), "the name of a label has letters, digits and '_'");
    }
    const std::lock_guard held(lock_);
    const auto known =
        std::ranges::find(families_, name, [](const auto& one) { return one->name; });
    const bool is_new = known == families_.end();
    if (is_new) {
        families_.push_back(std::make_unique<Family>(type, std::move(name), std::move(help)));
    }
    Family& family = is_new ? *families_.back() : **known;
    TR_CHECK(family.type == type, "a metric has the type of others of its name");
    const auto one = family.series.find(labels);
    if (one != family.series.end()) return *std::get<std::unique_ptr<Kind>>(one->second);
    Family::Metric* metric = nullptr;
    if (series_ < series_max) {
        ++series_;
        metric = &family.series[std::move(labels)];
        metric->template emplace<std::unique_ptr<Kind>>(std::make_unique<Kind>(made...));
    } else {
        if (!family.not_shown) family.not_shown = std::make_unique<Kind>(made...);
        metric = &*family.not_shown;
    }
    return *std::get<std::unique_ptr<Kind>>(*metric);
}

Counter& Registry::counter(std::string name, std::string help, Labels labels) {
    return find_or_make<Counter>(Type::counter, name, help, labels);
}

Gauge& Registry::gauge(std::string name, std::string help, Labels labels) {
    return find_or_make<Gauge>(Type::gauge, name, help, labels);
}

Histogram& Registry::histogram(std::string name, std::string help, std::vector<double> bounds,
                               Labels labels) {
    return find_or_make<Histogram>(Type::histogram, name, help, labels, bounds);
}

void Registry::add_source(std::function<void(Page&)> source) {
    const std::lock_guard held(lock_);
    sources_.push_back(std::move(source));
}

std::string Registry::page(PageFormat format) const {
    Page page(format);
    const std::lock_guard held(lock_);
    for (const auto& family : families_) {
        page.begin(family->type, family->name, family->help);
        for (const auto& [labels, metric] : family->series) {
            if (family->type == Type::counter) {
                page.value(labels, std::get<0>(metric)->value());
            } else if (family->type == Type::gauge) {
                page.value(labels, std::get<1>(metric)->value());
            } else {
                page.histogram(labels, std::get<2>(metric)->value());
            }
        }
    }
    for (const auto& source : sources_) source(page);
    return std::move(page).take();
}

}  // namespace tiderace::metrics
