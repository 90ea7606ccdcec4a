#include "tiderace/base/result.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "tiderace/base/ascii.h"

namespace tiderace {

std::string describe_errno(int code) {
    std::string text = std::generic_category().message(code);
    if (!text.empty()) {
        // It stands in the middle of a sentence.
        text[0] = to_lower(text[0]);
    }
    return text;
}

std::string one_line(std::string text) {
    if (std::ranges::none_of(text, is_control_character)) return text;
    std::string line;
    for (const char c : text) {
        if (!is_control_character(c)) {
            line += c;
        } else if (c == '\r' || c == '\n') {
            line += c == '\r' ? "\\r" : "\\n";
        } else {
            line.append("\\x") += hex_digits[static_cast<unsigned char>(c) >> 4];
            line += hex_digits[c & 15];
        }
    }
    return line;
}

std::string Error::message() const {
    std::string text = operation_;
    if (!object_.empty()) text.append(" ").append(object_);
    if (code_ != 0) text.append(": ").append(describe_errno(code_));
    if (!advice_.empty()) text.append(code_ != 0 ? "; " : ": ").append(advice_);
    return one_line(std::move(text));
}

}  // namespace tiderace
