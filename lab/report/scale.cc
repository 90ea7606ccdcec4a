#include "lab/report/scale.h"

#include <algorithm>
#include <cmath>

namespace tiderace::lab::report {
namespace {

constexpr double slack = 1e-9;  // of rounding in what is a tick by name

double power_of_ten(double value) {
    return std::pow(10.0, std::floor(std::log10(value) + slack));
}

}  // namespace

// To 1, 2 or 5 times a power of ten: what people read without counting.
double round_up(double value) {
    if (!(value > 0) || !std::isfinite(value)) return 1;
    const double ten = power_of_ten(value);
    for (const double step : {1.0, 2.0, 5.0}) {
        if (step * ten >= value * (1 - slack)) return step * ten;
    }
    return 10 * ten;
}

double round_down(double value) {
    if (!(value > 0) || !std::isfinite(value)) return 1;
    const double ten = power_of_ten(value);
    for (const double step : {5.0, 2.0}) {
        if (step * ten <= value * (1 + slack)) return step * ten;
    }
    return ten;
}

Scale::Scale(ScaleKind kind, double least, double most, double from, double to)
    : kind_(kind), least_(least), most_(most), from_(from), to_(to) {
    // Figures come from a file that may have been edited: whatever they are, places are numbers
    // that a browser can draw.
    if (!std::isfinite(least_)) least_ = 0;
    if (!std::isfinite(most_)) most_ = least_;
    if (kind_ == ScaleKind::logarithmic) {
        // 0 has no logarithm. A decade is shown instead.
        if (least_ <= 0) least_ = most_ > 0 ? most_ / 10 : 1;
        if (most_ <= least_) most_ = least_ * 10;
    } else if (most_ <= least_) {
        most_ = least_ + 1;  // place() divides by the difference
    }
}

double Scale::place(double value) const {
    // clamp() of no number is no number.
    const double inside = std::isnan(value) ? least_ : std::clamp(value, least_, most_);
    const double part = kind_ == ScaleKind::linear
                            ? (inside - least_) / (most_ - least_)
                            : std::log(inside / least_) / std::log(most_ / least_);
    return from_ + part * (to_ - from_);
}

std::vector<double> Scale::ticks(unsigned about) const {
    return kind_ == ScaleKind::linear ? linear_ticks(about) : logarithmic_ticks(about);
}

std::vector<double> Scale::linear_ticks(unsigned about) const {
    const double step = round_up((most_ - least_) / std::max(1U, about));
    std::vector<double> found;
    const double first = std::ceil(least_ / step - slack);
    const double last = std::floor(most_ / step + slack);
    // Each is computed by itself, because errors of a sum would grow; and + 0.0 makes -0 plain 0,
    // which would be printed as "-0".
    for (double i = first; i <= last; ++i) found.push_back(i * step + 0.0);
    return found;
}

std::vector<double> Scale::logarithmic_ticks(unsigned about) const {
    const auto collect = [this](std::initializer_list<double> steps, int every) {
        std::vector<double> found;
        const int first = static_cast<int>(std::floor(std::log10(least_)));
        const int last = static_cast<int>(std::ceil(std::log10(most_)));
        for (int power = first; power <= last; ++power) {
            // As in mathematics: the remainder of a negative power is negative in C++.
            if ((power % every + every) % every != 0) continue;
            for (const double step : steps) {
                const double value = step * std::pow(10.0, power);
                if (value >= least_ * (1 - slack) && value <= most_ * (1 + slack)) {
                    found.push_back(value);
                }
            }
        }
        return found;
    };
    // All of 1, 2, 5; else the tens; else each second ten, …
    std::vector<double> found = collect({1, 2, 5}, 1);
    if (found.size() <= std::max(3U, about)) return found;
    for (int every = 1; every < 64; ++every) {
        std::vector<double> fewer = collect({1}, every);
        // A single tick shows no scale: then rather too many.
        if (fewer.size() <= std::max(2U, about)) return fewer.size() < 2 ? found : fewer;
    }
    return found;
}

}  // namespace tiderace::lab::report
