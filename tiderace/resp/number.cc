#include "tiderace/resp/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tiderace/base/ascii.h"

namespace tiderace::resp {
namespace {

template <typename T>
std::optional<T> parse(ByteView text) {
    // from_chars takes no '+', which RESP 3 allows; without this check "+-1" would pass.
    if (text.starts_with('+')) {
        text.remove_prefix(1);
        if (text.starts_with('-')) return std::nullopt;
    }
    return parse_number<T>(text);
}

}  // namespace

std::optional<std::int64_t> parse_integer(ByteView text) {
    return parse<std::int64_t>(text);
}

std::optional<double> parse_double(ByteView text) {
    const ByteView digits = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
    if (digits == "inf") {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        return text.starts_with('-') ? -infinity : infinity;
    }
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    // from_chars would also take "infinity" and "nan(1)".
    if (digits.empty() || (digits[0] != '.' && (digits[0] < '0' || digits[0] > '9'))) {
        return std::nullopt;
    }
    return parse<double>(text);
}

bool is_big_number(ByteView text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

DoubleText::DoubleText(double value) {
    if (std::isnan(value)) {  // to_chars would write its sign
        size_ = std::string_view("nan").copy(text_.data(), text_.size());
        return;
    }
    const double size = std::abs(value);
    // The shorter of both, which to_chars would choose by itself, writes 100000 as 1e+05.
    const bool fixed = size == 0 || (size >= 1e-4 && size < 1e17);
    const auto [end, error] =
        std::to_chars(text_.data(), text_.data() + text_.size(), value,
                      fixed ? std::chars_format::fixed : std::chars_format::scientific);
    size_ = static_cast<std::size_t>(end - text_.data());
    static_cast<void>(error);  // 32 characters suffice for each double
}

}  // namespace tiderace::resp
