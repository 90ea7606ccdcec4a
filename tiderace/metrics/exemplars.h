// Internal. Exemplars: for each bucket of a histogram one traced request that fell into it, so that
// a slow bucket leads to a trace. Looks: whether to look for a trace at all.
//
//   keep(bucket, …)  the loop, now and then        of(bucket)  the thread that makes a page
//
// Owner    A loop's part of what is counted.
// Thread   One writes; any reads.
// Memory   56 bytes a bucket.
// Keywords: OpenMetrics, trace id, traceparent
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/units.h"
#include "tiderace/metrics/page.h"

namespace tiderace::metrics {

// To look at each request would cost too much, and a slow bucket has few: each has its own looks.
template <typename Buckets>
class Looks {
  public:
    static constexpr std::uint8_t looks_per_second_max = 8;  // of a bucket

    // False: there were enough in this second.
    bool take(std::size_t bucket, UnixSeconds now) {
        if (second_ != now) {
            second_ = now;
            looks_ = {};
        }
        if (looks_[bucket] == looks_per_second_max) return false;
        ++looks_[bucket];
        return true;
    }

  private:
    UnixSeconds second_ = -1;
    std::array<std::uint8_t, Buckets::size> looks_{};
};

template <typename Buckets>
class Exemplars {
  public:
    // `trace` has 32 hexadecimal digits.
    void keep(std::size_t bucket, std::string_view trace, std::uint64_t value, UnixSeconds when) {
        One& one = all_[bucket];
        const std::uint32_t version = one.version.load(std::memory_order_relaxed);
        one.version.store(version + 1, std::memory_order_relaxed);  // odd: it is being written
        Words words{};
        std::memcpy(words.data(), trace.data(), trace_bytes);
        words[trace_words] = value;
        words[trace_words + 1] = static_cast<std::uint64_t>(when);
        // Released, so that a reader that sees one of them sees the odd version, too.
        for (std::size_t i = 0; i < words.size(); ++i) {
            one.words[i].store(words[i], std::memory_order_release);
        }
        one.version.store(version + 2, std::memory_order_release);
    }
    // nullopt: none yet, or it is being written.
    std::optional<Exemplar> of(std::size_t bucket) const {
        const One& one = all_[bucket];
        const std::uint32_t version = one.version.load(std::memory_order_acquire);
        if (version == 0 || version % 2 != 0) return std::nullopt;
        Words words{};
        for (std::size_t i = 0; i < words.size(); ++i) {
            words[i] = one.words[i].load(std::memory_order_acquire);
        }
        if (one.version.load(std::memory_order_relaxed) != version) return std::nullopt;
        Exemplar read{.trace = std::string(trace_bytes, '0'),
                      .value = static_cast<double>(words[trace_words]) / Buckets::units,
                      .when = static_cast<UnixSeconds>(words[trace_words + 1])};
        std::memcpy(read.trace.data(), words.data(), trace_bytes);
        return read;
    }

    // The newest of this and what other loops have, for a page.
    void add_to(HistogramValue& value) const {
        value.exemplars.resize(Buckets::size);
        for (std::size_t i = 0; i < Buckets::size; ++i) {
            auto one = of(i);
            auto& newest = value.exemplars[i];
            if (one && (!newest || newest->when < one->when)) newest = std::move(one);
        }
    }

  private:
    static constexpr std::size_t trace_bytes = 32;
    static constexpr std::size_t trace_words = trace_bytes / sizeof(std::uint64_t);
    using Words = std::array<std::uint64_t, trace_words + 2>;
    struct One {
        std::atomic<std::uint32_t> version = 0;
        std::array<std::atomic<std::uint64_t>, trace_words + 2> words{};
    };

    std::array<One, Buckets::size> all_{};
};

}  // namespace tiderace::metrics
