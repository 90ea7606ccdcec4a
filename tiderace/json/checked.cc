#include "tiderace/json/checked.h"

#include "tiderace/json/text.h"

namespace tiderace::json {

std::string range_text(std::string_view what, std::string low, std::string high) {
    return ((((std::string(what) += " from ") += low) += " to ") += high);
}

std::string length_text(bool is_text, std::size_t least, std::size_t most) {
    std::string text = is_text ? "a text of " : "an array of ";
    text += std::to_string(least);
    if (least != most) (text += " to ") += std::to_string(most);
    return text += is_text ? " characters" : " elements";
}

std::string number_text(double value) {
    std::string text;
    TextOut out(text);
    out.number(value);
    out.flush();
    return text;
}

}  // namespace tiderace::json
