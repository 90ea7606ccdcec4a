#include "server/config/problems.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "server/terminal.h"
#include "tiderace/base/utf8.h"

namespace tiderace::server::config {
namespace {

// Wider lines are shown around the mark.
constexpr std::size_t shown_characters_max = 100;

// No control character, and none that changes the order in which others are shown.
bool is_shown(const Utf8Char& character) {
    const char32_t code = character.code;
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool turns_text =
        (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return character.valid && !is_control && !turns_text;
}

struct Excerpt {
    std::string text;
    std::size_t mark_at = 0;  // in characters
};

// The line as a terminal may show it: no control character reaches it, and a tab is one column.
Excerpt excerpt_of(std::string_view line, std::size_t column) {
    std::vector<std::string_view> characters;
    while (!line.empty()) {
        const Utf8Char next = first_utf8_char(line);
        characters.push_back(is_shown(next) ? line.substr(0, next.size) : " ");
        line.remove_prefix(next.size);
    }
    std::size_t begin = 0;
    if (characters.size() > shown_characters_max) {
        const std::size_t middle = std::min(column, characters.size());
        begin = middle > shown_characters_max / 2 ? middle - shown_characters_max / 2 : 0;
    }
    const std::size_t end = std::min(characters.size(), begin + shown_characters_max);
    Excerpt excerpt;
    if (begin > 0) excerpt.text += "… ";
    excerpt.mark_at = (begin > 0 ? 2 : 0) + (column > begin ? column - begin - 1 : 0);
    for (std::size_t i = begin; i < end; ++i) excerpt.text += characters[i];
    if (end < characters.size()) excerpt.text += " …";
    return excerpt;
}

// What a problem quotes may be any byte of a file, or what an escape in it stands for.
std::string text_of(const Problem& problem, const Sources& sources) {
    std::string text = printable(sources.name_of(problem.at));
    text += problem.severity == Severity::error ? ": error: " : ": warning: ";
    text += printable(problem.what) + "\n";
    std::string margin = "  ";
    if (problem.at.line > 0) {
        const std::string number = std::to_string(problem.at.line);
        margin = std::string(number.size() + 1, ' ');
        const Excerpt excerpt = excerpt_of(sources.line_of(problem.at), problem.at.column);
        text += " " + number + " | " + excerpt.text + "\n";
        const std::size_t width = std::clamp<std::size_t>(problem.at.width, 1, 60);
        text += margin + " | " + std::string(excerpt.mark_at, ' ') + std::string(width, '^') + "\n";
    }
    if (!problem.advice.empty()) text += margin + " = " + printable(problem.advice) + "\n";
    return text;
}

}  // namespace

std::uint32_t Sources::add(SourceFile file) {
    Lines lines;
    lines.begins.push_back(0);
    for (std::size_t at = file.text.find('\n'); at != std::string::npos;
         at = file.text.find('\n', at + 1)) {
        lines.begins.push_back(at + 1);
    }
    files_.push_back(std::move(file));
    lines_.push_back(std::move(lines));
    return static_cast<std::uint32_t>(files_.size() - 1);
}

std::string Sources::name_of(Place at) const {
    std::string name = at.file < files_.size() ? files_[at.file].name : "";
    if (at.line > 0) name += ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
    return name;
}

std::string_view Sources::line_of(Place at) const {
    if (at.file >= files_.size() || at.line == 0) return {};
    const std::vector<std::size_t>& begins = lines_[at.file].begins;
    if (at.line > begins.size()) return {};
    std::string_view line = std::string_view(files_[at.file].text).substr(begins[at.line - 1]);
    line = line.substr(0, line.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

void Problems::add(Problem problem) {
    ++(problem.severity == Severity::error ? errors_ : warnings_);
    if (kept_.size() < problems_max) kept_.push_back(std::move(problem));
}

std::vector<Problem> Problems::sorted() const {
    std::vector<Problem> all = kept_;
    std::ranges::stable_sort(all, {}, [](const Problem& each) {
        return std::tuple(each.at.file, each.at.line, each.at.column);
    });
    return all;
}

std::string Problems::text(const Sources& sources) const {
    if (errors_ + warnings_ == 0) return {};
    std::string text;
    for (const Problem& each : sorted()) text += text_of(each, sources);
    const std::size_t left_out = errors_ + warnings_ - kept_.size();
    if (left_out > 0) text += "… and " + std::to_string(left_out) + " more\n";
    if (errors_ > 0) text += counted(errors_, "error");
    if (errors_ > 0 && warnings_ > 0) text += ", ";
    if (warnings_ > 0) text += counted(warnings_, "warning");
    return text + "\n";
}

}  // namespace tiderace::server::config
