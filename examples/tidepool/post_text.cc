#include "examples/tidepool/post_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/utf8.h"

namespace tidepool {
namespace {

constexpr std::size_t username_min = 3;
constexpr std::size_t username_max = 30;
constexpr std::size_t tag_characters_max = 50;
constexpr std::size_t parts_usual = 4;  // of one post
constexpr std::string_view white = " \t\n";

bool is_name_character(char c) {
    return tiderace::is_letter_or_digit(c) || c == '_';
}

char32_t small_of(char32_t code) {
    if (code >= 'A' && code <= 'Z') return code + 0x20;
    // Latin-1, Greek and Cyrillic: alphabets whose letters are at a fixed distance. 0xD7 is the
    // multiplication sign.
    if (code >= 0xC0 && code <= 0xDE && code != 0xD7) return code + 0x20;
    if (code >= 0x391 && code <= 0x3A9) return code + 0x20;
    if (code >= 0x410 && code <= 0x42F) return code + 0x20;
    if (code >= 0x400 && code <= 0x40F) return code + 0x50;
    return code;
}

bool is_in(char32_t code, char32_t first, char32_t last) {
    return code >= first && code <= last;
}

// Invisible characters that change their neighbours, except for tabs and ends of lines: controls
// and ends of lines of other kinds, and what sets the direction of the text behind it.
bool is_control(char32_t code) {
    if (code == '\t' || code == '\n') return false;
    return code < ' ' || is_in(code, 0x7F, 0x9F) || is_in(code, 0x2028, 0x202E) ||
           is_in(code, 0x2066, 0x206F) || code == 0xFEFF || is_in(code, 0xFFF9, 0xFFFB);
}

// Stands above or below the character before it.
bool is_mark(char32_t code) {
    return is_in(code, 0x300, 0x36F) || is_in(code, 0x483, 0x489) || is_in(code, 0x1AB0, 0x1AFF) ||
           is_in(code, 0x1DC0, 0x1DFF) || is_in(code, 0x20D0, 0x20FF) ||
           is_in(code, 0xFE20, 0xFE2F);
}

// Space of any width, joiners, and letters that are shown as nothing.
bool is_blank(char32_t code) {
    return code <= ' ' || code == 0xA0 || code == 0xAD || code == 0x61C || code == 0x115F ||
           code == 0x1160 || code == 0x1680 || is_in(code, 0x17B4, 0x17B5) ||
           is_in(code, 0x180B, 0x180F) || is_in(code, 0x2000, 0x200F) || code == 0x202F ||
           is_in(code, 0x205F, 0x2064) || code == 0x2800 || code == 0x3000 || code == 0x3164 ||
           is_in(code, 0xFE00, 0xFE0F) || code == 0xFFA0 || is_in(code, 0xE0000, 0xE01EF);
}

// Letters of every writing. The punctuation of Chinese, and its full-width forms, ends a tag.
bool is_tag_character(char32_t code) {
    if (code < 0x80) return is_name_character(static_cast<char>(code));
    if (code < 0xC0) return false;                       // Latin-1 signs
    if (code >= 0x2000 && code <= 0x206F) return false;  // general punctuation
    if (code >= 0x3000 && code <= 0x303F) return false;  // of Chinese and Japanese
    return !(code >= 0xFF00 && code <= 0xFF20);          // full-width signs and digits
}

std::size_t tag_bytes(std::string_view text) {
    std::size_t bytes = 0;
    bool has_letter = false;
    for (std::size_t count = 0; bytes < text.size() && count < tag_characters_max; ++count) {
        const tiderace::Utf8Char next = tiderace::first_utf8_char(text.substr(bytes));
        if (!is_tag_character(next.code)) break;
        has_letter = has_letter || next.code >= 0x80 || next.code > '9';
        bytes += next.size;
    }
    return has_letter ? bytes : 0;  // #1 is the number one
}

std::size_t username_bytes(std::string_view text) {
    const auto end = std::ranges::find_if_not(text, is_name_character);
    const auto bytes = static_cast<std::size_t>(end - text.begin());
    return bytes >= username_min && bytes <= username_max ? bytes : 0;
}

// An address ends before the sign that ends its sentence.
std::size_t address_bytes(std::string_view text) {
    if (!text.starts_with("https://") && !text.starts_with("http://")) return 0;
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const tiderace::Utf8Char next = tiderace::first_utf8_char(text.substr(bytes));
        if (next.code <= ' ' || next.code == '<' || next.code == '>' || next.code == '"' ||
            (next.code >= 0x3000 && next.code <= 0x303F) ||
            (next.code >= 0xFF00 && next.code <= 0xFF20)) {
            break;
        }
        bytes += next.size;
    }
    while (bytes > 0 && std::string_view(".,;:!?)'").contains(text[bytes - 1])) --bytes;
    // "https://" alone is no link.
    const std::size_t host = text.find("//") + 2;
    return bytes > host ? bytes : 0;
}

// Whether a link may begin there: with a sign, or with an address.
bool may_begin_link(std::string_view body, std::size_t at) {
    const char c = body[at];
    if (c != 'h' && c != '#' && c != '@') return false;
    // In the middle of a word, as in an e-mail address.
    if (at > 0 && is_name_character(body[at - 1])) return false;
    return c != 'h' || body.substr(at).starts_with("http");
}

std::size_t find_begin_of_link(std::string_view body, std::size_t from) {
    while (from < body.size() && !may_begin_link(body, from)) ++from;
    return from;
}

// The link that begins there; its text is empty where none does.
Part link_at(std::string_view body, std::size_t begin) {
    const std::string_view text = body.substr(begin);
    if (const std::size_t bytes = address_bytes(text)) {
        return {std::string(text.substr(0, bytes)), std::string(text.substr(0, bytes)), true};
    }
    if (text[0] == '#') {
        if (const std::size_t bytes = tag_bytes(text.substr(1))) {
            const std::string tag = small_letters(text.substr(1, bytes));
            return {std::string(text.substr(0, bytes + 1)), "/tags/" + escaped(tag)};
        }
    }
    if (text[0] == '@') {
        if (const std::size_t bytes = username_bytes(text.substr(1))) {
            return {std::string(text.substr(0, bytes + 1)),
                    "/members/" + small_letters(text.substr(1, bytes))};
        }
    }
    return {};
}

std::vector<std::string> words_after(std::string_view body, char sign, std::size_t max) {
    std::vector<std::string> words;
    for (const Part& part : parts_of(body)) {
        if (part.href.empty() || part.outside || part.text[0] != sign) continue;
        std::string word = small_letters(std::string_view(part.text).substr(1));
        if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
        if (words.size() == max) break;
    }
    return words;
}

}  // namespace

std::vector<Part> parts_of(std::string_view body) {
    std::vector<Part> parts;
    parts.reserve(parts_usual);
    std::size_t plain = 0;  // where the text that is no link begins
    for (std::size_t at = 0; at < body.size();) {
        const std::size_t begin = find_begin_of_link(body, at);
        Part link = begin < body.size() ? link_at(body, begin) : Part();
        at = begin + std::max<std::size_t>(link.text.size(), 1);
        if (link.text.empty()) continue;
        if (plain < begin) parts.push_back({std::string(body.substr(plain, begin - plain))});
        plain = at;
        parts.push_back(std::move(link));
    }
    if (plain < body.size()) parts.push_back({std::string(body.substr(plain))});
    return parts;
}

std::vector<std::string> tags_of(std::string_view body) {
    return words_after(body, '#', tags_max);
}

std::vector<std::string> mentions_of(std::string_view body) {
    return words_after(body, '@', mentions_max);
}

std::size_t count_characters(std::string_view text) {
    return tiderace::count_characters(text);
}

std::string shortened(std::string_view text, std::size_t characters) {
    std::size_t bytes = 0;
    for (std::size_t count = 0; bytes < text.size(); ++count) {
        if (count == characters) return std::string(text.substr(0, bytes)) + "…";
        bytes += tiderace::first_utf8_char(text.substr(bytes)).size;
    }
    return std::string(text);
}

bool is_text(std::string_view text) {
    return tiderace::is_utf8(text);
}

bool is_visible(std::string_view text) {
    while (!text.empty()) {
        const tiderace::Utf8Char next = tiderace::first_utf8_char(text);
        if (!is_blank(next.code) && !is_mark(next.code)) return true;
        text.remove_prefix(next.size);
    }
    return false;
}

std::string tidied(std::string_view text) {
    std::string out;
    std::size_t marks = 0;
    while (!text.empty()) {
        const tiderace::Utf8Char next = tiderace::first_utf8_char(text);
        const std::string_view bytes = text.substr(0, next.size);
        text.remove_prefix(next.size);
        // Dozens of marks on one letter would cover the lines above and below it.
        marks = is_mark(next.code) ? marks + 1 : 0;
        if (next.code == '\r') {
            // Forms send CR LF; a lone CR is an end of a line as well.
            if (!text.starts_with('\n')) out += '\n';
        } else if (!is_control(next.code) && marks <= marks_max) {
            out += bytes;
        }
    }
    const std::size_t begin = out.find_first_not_of(white);
    if (begin == std::string::npos) return {};
    return out.substr(begin, out.find_last_not_of(white) - begin + 1);
}

bool is_username(std::string_view text) {
    return text.size() >= username_min && text.size() <= username_max &&
           std::ranges::all_of(
               text, [](char c) { return is_name_character(c) && !(c >= 'A' && c <= 'Z'); });
}

bool is_body(std::string_view text) {
    return is_visible(text) && count_characters(text) <= body_characters_max;
}

// ASCII alone, as databases compare keys: folded() is for searching.
std::string small_letters(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

std::string folded(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const tiderace::Utf8Char next = tiderace::first_utf8_char(text);
        const char32_t small = small_of(next.code);
        if (small == next.code || next.size > 2) {
            out += text.substr(0, next.size);
        } else if (small < 0x80) {
            out += static_cast<char>(small);
        } else {  // in all of these alphabets both letters have two bytes
            out += static_cast<char>(0xC0 | small >> 6);
            out += static_cast<char>(0x80 | (small & 0x3F));
        }
        text.remove_prefix(next.size);
    }
    return out;
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (true) {
        const std::size_t begin = text.find_first_not_of(white);
        if (begin == std::string_view::npos) return words;
        const std::size_t end = std::min(text.find_first_of(white, begin), text.size());
        words.emplace_back(text.substr(begin, end - begin));
        text.remove_prefix(end);
    }
}

std::vector<std::string> grams_of(std::string_view folded_text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::set<std::string> grams;
    for (const std::string& word : words_of(folded_text)) {
        std::string before;
        for (std::string_view rest = word; !rest.empty();) {
            const std::size_t bytes = tiderace::first_utf8_char(rest).size;
            std::string now;
            for (const char c : rest.substr(0, bytes)) {
                const auto byte = static_cast<unsigned char>(c);
                now += {digits[byte >> 4], digits[byte & 15]};
            }
            // In hexadecimal, so that a full-text index takes each pair for one word, whatever its
            // letters are. A word of one character has no pair; the text itself decides then.
            if (!before.empty()) grams.insert(before + now);
            before = std::move(now);
            rest.remove_prefix(bytes);
        }
    }
    return {grams.begin(), grams.end()};
}

// More than a path needs, so that it also fits a query.
std::string escaped(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (is_name_character(c)) {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out += {'%', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return out;
}

std::string containing(std::string_view text) {
    std::string pattern = "%";
    for (const char c : text) {
        // These have a meaning in LIKE.
        if (c == '%' || c == '_' || c == '!') pattern += '!';
        pattern += c;
    }
    return pattern + "%";
}

}  // namespace tidepool
