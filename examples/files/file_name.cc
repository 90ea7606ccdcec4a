#include "examples/files/file_name.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/utf8.h"

namespace {

constexpr std::size_t extension_bytes_max = 20;

struct Range {
    std::uint32_t first, last;
};

// Controls, marks that change the direction of the text behind them, and what shows nothing. Not
// the selectors of variants (U+FE00 to FE0F), which choose between two pictures of a character.
constexpr Range invisible[] = {
    {0x00, 0x1F},       {0x7F, 0x9F},      {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},
    {0x115F, 0x1160},   {0x17B4, 0x17B5},  {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},
    {0x2060, 0x206F},   {0x3164, 0x3164},  {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB},
    {0x1D173, 0x1D17A}, {0xE0000, 0xE007F}};

constexpr Range spaces[] = {{0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                            {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};

template <std::size_t count>
bool is_one_of(const Range (&ranges)[count], std::uint32_t code) {
    return std::ranges::any_of(
        ranges, [code](const Range& one) { return code >= one.first && code <= one.last; });
}

std::string visible(std::string_view text) {
    std::string made;
    while (!text.empty()) {
        const tiderace::Utf8Char one = tiderace::first_utf8_char(text);
        const std::size_t bytes = one.valid ? one.size : 1;
        if (!one.valid || std::string_view("<>:\"|?*").contains(text[0])) {
            made += '_';
        } else if (is_one_of(spaces, one.code)) {
            made += ' ';
        } else if (!is_one_of(invisible, one.code)) {
            made += text.substr(0, bytes);
        }
        text.remove_prefix(bytes);
    }
    return made;
}

// Where the extension begins, with its dot; the end if there is none.
std::size_t extension_of(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    const bool is_one =
        dot != std::string_view::npos && dot > 0 && name.size() - dot <= extension_bytes_max;
    return is_one ? dot : name.size();
}

std::string joined(std::string_view stem, std::string_view added, std::string_view extension) {
    // The stem gives way: the extension names the type of a file, and the number makes it one of
    // its own.
    const std::size_t room = name_bytes_max - added.size() - extension.size();
    std::string made(tiderace::whole_characters(stem, room));
    return made.append(added).append(extension);
}

}  // namespace

namespace {

std::string_view without_end(std::string_view name) {
    while (name.ends_with('.') || name.ends_with(' ')) name.remove_suffix(1);
    return name;
}

}  // namespace

// The last part only, without the dots that hide a file or lead to its folder, and without the
// characters that Windows does not take. Every space is " ", or one would hide a dot behind it.
std::string safe_name(std::string_view wanted) {
    if (const std::size_t slash = wanted.find_last_of("/\\"); slash != std::string_view::npos) {
        wanted.remove_prefix(slash + 1);
    }
    const std::string text = visible(wanted);
    std::string_view name = text;
    const std::size_t first = name.find_first_not_of(". ");
    name.remove_prefix(first == std::string_view::npos ? name.size() : first);
    name = without_end(name);
    if (name.empty()) return "file";
    const std::size_t extension = extension_of(name);
    const std::string made = joined(name.substr(0, extension), "", name.substr(extension));
    return std::string(without_end(made));
}

std::string numbered_name(std::string_view name, unsigned number) {
    const std::size_t extension = extension_of(name);
    return joined(name.substr(0, extension), " (" + std::to_string(number) + ")",
                  name.substr(extension));
}
