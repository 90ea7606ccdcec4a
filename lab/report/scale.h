// Scale: values to places on a chart, and the ticks that a reader's eye wants: 1, 2, 5 and their
// tens.
//
// Thread   Any: pure.
#pragma once

#include <cstdint>
#include <vector>

namespace tiderace::lab::report {

enum class ScaleKind : std::uint8_t { linear, logarithmic };

class Scale {
  public:
    // Places `least` at `from` and `most` at `to`, in pixels; `from` may be the larger one. A range
    // that is empty, upside down or, where it is logarithmic, not above zero is widened.
    Scale(ScaleKind kind, double least, double most, double from, double to);

    // A value outside is placed at the nearest end.
    double place(double value) const;
    // Round values within the range, about `about` of them and at most three times as many,
    // ascending.
    std::vector<double> ticks(unsigned about) const;

    double least() const { return least_; }
    double most() const { return most_; }

  private:
    std::vector<double> linear_ticks(unsigned about) const;
    std::vector<double> logarithmic_ticks(unsigned about) const;

    ScaleKind kind_;
    double least_, most_, from_, to_;
};

// The next round value (1, 2, 5 times a power of ten) that is not below.
double round_up(double value);
double round_down(double value);

}  // namespace tiderace::lab::report
