#include "tiderace/metrics/page.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "tiderace/base/ascii.h"

namespace tiderace::metrics {
namespace {

constexpr std::string_view total = "_total";

void append_escaped(std::string& text, std::string_view value, bool quotes) {
    for (const char c : value) {
        if (c == '\\') {
            text += "\\\\";
        } else if (c == '\n') {
            text += "\\n";
        } else if (c == '"' && quotes) {
            text += "\\\"";
        } else {
            text += c;
        }
    }
}

bool is_name(std::string_view name, bool colon) {
    return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
           std::ranges::all_of(name, [&](char c) {
               return is_letter_or_digit(c) || c == '_' || (colon && c == ':');
           });
}

// "0.005", "1.0": OpenMetrics wants the bounds of buckets as floating point.
std::string text_of(double value) {
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    if (std::isnan(value)) return "NaN";
    std::array<char, 32> room;
    const auto [end, fault] = std::to_chars(room.data(), room.data() + room.size(), value);
    std::string text(room.data(), end);
    if (text.find_first_of(".e") == text.npos) text += ".0";
    return text;
}

}  // namespace

std::string_view media_type(PageFormat format) {
    return format == PageFormat::open_metrics
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

// Prometheus lists both with weights, its favourite first. Clients that name OpenMetrics read it.
PageFormat page_format(ByteView accept) {
    return accept.contains("application/openmetrics-text") ? PageFormat::open_metrics
                                                           : PageFormat::prometheus;
}

bool is_metric_name(std::string_view name) {
    return is_name(name, true);
}
bool is_label_name(std::string_view name) {
    return is_name(name, false) && name != "le";
}

void Page::begin(Type type, std::string_view name, std::string_view help) {
    type_ = type;
    name_ = name;
    const bool is_counter = type == Type::counter;
    if (is_counter && name.ends_with(total)) name_.resize(name.size() - total.size());
    const bool open = format_ == PageFormat::open_metrics;
    const std::string family = is_counter && !open ? name_ + std::string(total) : name_;
    text_ += "# HELP " + family + ' ';
    append_escaped(text_, help, open);
    text_ += "\n# TYPE " + family;
    text_ += is_counter ? " counter\n" : type == Type::gauge ? " gauge\n" : " histogram\n";
    if (!open) return;
    for (const std::string_view unit : {"seconds", "bytes"}) {
        if (family.ends_with("_" + std::string(unit))) {
            text_ += "# UNIT " + family + ' ' + std::string(unit) + '\n';
        }
    }
}

void Page::sample(std::string_view ending, const Labels& labels, std::string_view bound) {
    text_ += name_;
    text_ += ending;
    if (labels.empty() && bound.empty()) {
        text_ += ' ';
        return;
    }
    char before = '{';
    const auto add = [&](std::string_view name, std::string_view value) {
        text_ += std::exchange(before, ',');
        text_ += name;
        text_ += "=\"";
        append_escaped(text_, value, true);
        text_ += '"';
    };
    for (const auto& [name, value] : labels) add(name, value);
    if (!bound.empty()) add("le", bound);
    text_ += "} ";
}

void Page::value(const Labels& labels, std::uint64_t value) {
    sample(type_ == Type::counter ? total : "", labels);
    text_ += std::to_string(value) + '\n';
}

void Page::value(const Labels& labels, double value) {
    sample(type_ == Type::counter ? total : "", labels);
    text_ += text_of(value) + '\n';
}

// Each bucket also counts the values of the smaller ones.
void Page::histogram(const Labels& labels, const HistogramValue& value) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < value.counts.size(); ++i) {
        sum += value.counts[i];
        sample("_bucket", labels, i < value.bounds.size() ? text_of(value.bounds[i]) : "+Inf");
        text_ += std::to_string(sum);
        if (has_exemplars() && i < value.exemplars.size() && value.exemplars[i]) {
            const Exemplar& one = *value.exemplars[i];
            text_ += " # {trace_id=\"" + one.trace + "\"} " + text_of(one.value) + ' ' +
                     std::to_string(one.when);
        }
        text_ += '\n';
    }
    sample("_count", labels);
    text_ += std::to_string(sum) + '\n';
    sample("_sum", labels);
    text_ += text_of(value.sum) + '\n';
}

std::string Page::take() && {
    if (format_ == PageFormat::open_metrics) text_ += "# EOF\n";
    return std::move(text_);
}

}  // namespace tiderace::metrics
