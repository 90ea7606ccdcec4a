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

std::size_t characters_of(std::string_view text) {
    std::size_t characters = 0;
    // Every byte but those that continue a character of UTF-8; the reader has checked the encoding.
    for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return characters;
}

}  // namespace tiderace::json
