#include "tiderace/json/fault.h"

namespace tiderace::json {

std::string Fault::message() const {
    std::string text = path;
    if (!path.empty()) text += ": ";
    text += problem;
    if (!found.empty()) (text += ", found ") += found;
    return ((text += " (byte ") += std::to_string(offset)) += ')';
}

std::string Error::message() const {
    std::string text;
    for (const Fault& fault : faults_) {
        if (!text.empty()) text += "; ";
        text += fault.message();
    }
    return text;
}

std::string_view to_string(Error::Kind kind) {
    switch (kind) {
        case Error::Kind::syntax:
            return "syntax";
        case Error::Kind::too_large:
            return "too_large";
        case Error::Kind::too_deep:
            return "too_deep";
        case Error::Kind::content:
            return "content";
    }
    return "";
}

}  // namespace tiderace::json
