// Metrics: what a program counts, for a monitoring system: Counter, Gauge, Histogram, and the
// Registry that has them and writes them as a page of Prometheus.
//
//   metrics::Registry& metrics = app.metrics("/metrics");
//   metrics::Counter& sold = metrics.counter("shop_sold_total", "Items sold.");
//   metrics::Counter& mails = metrics.counter("shop_mails_total", "Mails.", {{"kind", "news"}});
//   app.post<"/buy">([&sold](Json<Order> order) { sold.add(order->items.size()); });
//
//   Counter     only grows: requests, bytes, errors; its name ends in _total
//   Gauge       goes up and down: a queue's length
//   Histogram   how many values were at most so large: durations, sizes
//
// Metrics of one name have different labels and are one family. Make them at the start: a label's
// value belongs to the configuration, and never to a request, because each one is a series that
// the monitoring system keeps.
//
// Owner    The Registry owns them; they live as long as it does.
// Thread   Any. Each thread counts in a cell of its own, which the page sums up: no lock, and no
//          atomic read-modify-write.
// Errors   A name or label that cannot be, or one name of two types, aborts.
// Limits   series_max; a series above it counts and is not shown. Threads above threads_max share a
//          cell.
// Memory   64 bytes for each of threads_max threads and counter; a histogram 8 for each bound more.
// Keywords: Prometheus, OpenMetrics, monitoring, observability, instrumentation
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/metrics/page.h"
#include "tiderace/metrics/thread_cell.h"

namespace tiderace::metrics {

class Counter final {
  public:
    void add(std::uint64_t n = 1) {
        const unsigned cell = thread_cell();
        std::atomic<std::uint64_t>& value = cells_[cell].value;
        if (cell == threads_max) [[unlikely]] {
            value.fetch_add(n, std::memory_order_relaxed);
            return;
        }
        value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t value() const;

  private:
    struct alignas(64) Cell {
        std::atomic<std::uint64_t> value = 0;
    };
    std::array<Cell, threads_max + 1> cells_;
};

class Gauge final {
  public:
    void set(double value) { value_.store(value, std::memory_order_relaxed); }
    void add(double difference) { value_.fetch_add(difference, std::memory_order_relaxed); }
    double value() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<double> value_ = 0;
};

class Histogram final {
  public:
    // Seconds, for a duration: the bounds of OpenTelemetry.
    static const std::vector<double>& durations();

    explicit Histogram(std::vector<double> bounds);  // ascending; +Inf follows them
    void observe(double value);
    HistogramValue value() const;

  private:
    std::vector<double> bounds_;
    std::size_t stride_;  // of a thread: counts, then the sum
    std::unique_ptr<std::atomic<std::uint64_t>[]> cells_;
};

class Registry final {
  public:
    static constexpr std::size_t series_max = 10'000;

    Registry();
    ~Registry();
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    // Made, or the one that has this name and these labels.
    Counter& counter(std::string name, std::string help, Labels labels = {});
    Gauge& gauge(std::string name, std::string help, Labels labels = {});
    Histogram& histogram(std::string name, std::string help,
                         std::vector<double> bounds = Histogram::durations(), Labels labels = {});
    // Called when a page is made, on the thread that makes it.
    void add_source(std::function<void(Page&)> source);

    // All metrics, in the order in which they were made, then the sources' metrics.
    std::string page(PageFormat format) const;

  private:
    struct Family;
    template <typename Kind, typename... Made>
    Kind& find_or_make(Type type, std::string& name, std::string& help, Labels& labels,
                       const Made&... made);

    mutable std::mutex lock_;  // for what follows, and not for counting
    std::vector<std::unique_ptr<Family>> families_;
    std::size_t series_ = 0;
    std::vector<std::function<void(Page&)>> sources_;
};

}  // namespace tiderace::metrics
