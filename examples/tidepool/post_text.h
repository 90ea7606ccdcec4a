// The text of a post: plain text with #tags, @names and addresses, which are shown as links.
//
// Text is UTF-8, as the forms check it. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tidepool {

inline constexpr std::size_t body_characters_max = 2'000;
inline constexpr std::size_t tags_max = 10;      // of one post; the others stay text
inline constexpr std::size_t mentions_max = 10;  // members notified of one post

struct Part {
    std::string text;
    std::string href = {};  // "": plain text
    bool outside = false;   // the address of another site
};

// In order; together their texts are the body.
std::vector<Part> parts_of(std::string_view body);
// Without # and @, small letters, each once.
std::vector<std::string> tags_of(std::string_view body);
std::vector<std::string> mentions_of(std::string_view body);

// Characters, not bytes.
std::size_t count_characters(std::string_view text);
// At most `characters` of them, then "…".
std::string shortened(std::string_view text, std::size_t characters);
// UTF-8.
bool is_text(std::string_view text);
// Something to be seen, and not white space or joiners alone.
bool is_visible(std::string_view text);
// Without white space at both ends, with \n as the end of a line, and no other control characters:
// neither characters that turn the direction of the following text, nor marks on a character beyond
// marks_max, which would cover the lines above.
inline constexpr std::size_t marks_max = 4;
std::string tidied(std::string_view text);
// 3 to 30 of a-z, 0-9 and _.
bool is_username(std::string_view text);
// 1 to body_characters_max, one of them visible.
bool is_body(std::string_view text);
std::string small_letters(std::string_view text);
// With small letters of the Latin, Greek and Cyrillic alphabets: what a search compares.
std::string folded(std::string_view text);
// Separated by white space.
std::vector<std::string> words_of(std::string_view text);
// Each pair of neighbouring characters inside the words of a folded text, as hexadecimal words
// between spaces, each once. An index of them finds text in any writing, Chinese
// without spaces too. A search for a text requires all pairs of it.
std::vector<std::string> grams_of(std::string_view folded_text);
// One segment of a path, or a value in a query, as it may stand in an address.
std::string escaped(std::string_view text);
// An SQL pattern (`like ? escape '!'`) for what contains a text as it is: its own % and _ stand for
// themselves.
std::string containing(std::string_view text);

}  // namespace tidepool
