// Internal. Page: the text that a monitoring system reads, in one of two formats:
//
//   # HELP shop_sold_total Items sold.
//   # TYPE shop_sold_total counter             Prometheus text 0.0.4
//   shop_sold_total{kind="book"} 7
//
// OpenMetrics 1.0 names a counter's family without _total, has # UNIT and exemplars, and ends with
// # EOF:
//
//   shop_seconds_bucket{le="0.1"} 8 # {trace_id="4bf92f35…"} 0.054 1764411300
//
// Owner    A value, of the code that answers with it.
// Thread   One.
// Security Names, help and labels are the program's; values of labels and help are escaped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"

namespace tiderace::metrics {

enum class PageFormat : std::uint8_t { prometheus, open_metrics };
enum class Type : std::uint8_t { counter, gauge, histogram };

using Labels = std::vector<std::pair<std::string, std::string>>;

// One traced value of a bucket, which leads from the bucket to a trace.
struct Exemplar {
    std::string trace;  // hexadecimal digits
    double value = 0;
    UnixSeconds when = 0;
};

struct HistogramValue {
    std::vector<double> bounds;         // without +Inf
    std::vector<std::uint64_t> counts;  // of each bucket alone; one more than bounds
    double sum = 0;
    std::vector<std::optional<Exemplar>> exemplars = {};  // as counts, or none
};

// The Content-Type.
std::string_view media_type(PageFormat format);
// What an Accept field prefers.
PageFormat page_format(ByteView accept);

// "shop_sold_total": letters, digits, '_' and ':', not a digit first.
bool is_metric_name(std::string_view name);
// The same without ':', and not "le", which a histogram has.
bool is_label_name(std::string_view name);

class Page {
  public:
    explicit Page(PageFormat format) : format_(format) {}

    // All series of a family follow its begin.
    void begin(Type type, std::string_view name, std::string_view help);
    void value(const Labels& labels, std::uint64_t value);
    void value(const Labels& labels, double value);
    // Only OpenMetrics has exemplars.
    void histogram(const Labels& labels, const HistogramValue& value);
    // A family with one label, which has the keys of `all`.
    template <typename Map, typename NumberOf>
    void family(Type type, std::string_view name, std::string_view help, const std::string& label,
                const Map& all, NumberOf number_of) {
        begin(type, name, help);
        for (const auto& [key, each] : all) {
            value({{label, std::string(key)}}, std::uint64_t{number_of(each)});
        }
    }
    bool has_exemplars() const { return format_ == PageFormat::open_metrics; }

    std::string take() &&;

  private:
    void sample(std::string_view ending, const Labels& labels, std::string_view bound = {});

    PageFormat format_;
    Type type_ = Type::counter;
    std::string name_;  // without _total
    std::string text_;
};

}  // namespace tiderace::metrics
