#include "tiderace/base/result.h"

#include <cctype>
#include <system_error>

namespace tiderace {

std::string describe_errno(int code) {
    std::string text = std::generic_category().message(code);
    if (!text.empty()) {
        // It stands in the middle of a sentence.
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    }
    return text;
}

std::string Error::message() const {
    std::string text = operation_;
    if (!object_.empty()) text.append(" ").append(object_);
    if (code_ != 0) text.append(": ").append(describe_errno(code_));
    if (!advice_.empty()) text.append(code_ != 0 ? "; " : ": ").append(advice_);
    return text;
}

}  // namespace tiderace
