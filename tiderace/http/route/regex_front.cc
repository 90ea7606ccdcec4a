#include "tiderace/http/route/regex_front.h"

#include <algorithm>
#include <iterator>

#include "tiderace/base/ascii.h"

namespace tiderace::http::route {
namespace {

// Behind the ']' of a class that begins at `at`; npos: it has no end.
std::size_t behind_class(ByteView regex, std::size_t at) {
    ++at;
    if (regex.substr(at).starts_with('^')) ++at;
    if (regex.substr(at).starts_with(']')) ++at;
    for (; at < regex.size() && regex[at] != ']'; ++at) {
        // "[:alpha:]" and its like are more than this reads.
        if (regex[at] == '[') return ByteView::npos;
        if (regex[at] == '\\') ++at;
    }
    return at < regex.size() ? at + 1 : ByteView::npos;
}

// Whether it is one expression, and no choice of several; options may change what signs mean.
bool is_single(ByteView regex) {
    constexpr ByteView groups = ":=!<>P";
    std::size_t depth = 0;
    for (std::size_t at = 0; at < regex.size();) {
        const char c = regex[at];
        if (c == '[') {
            at = behind_class(regex, at);
            if (at == ByteView::npos) return false;
            continue;
        }
        const ByteView next = regex.substr(at + 1);
        if (c == '\\' && (next.starts_with('Q') || next.starts_with('K'))) return false;
        if (c == '(' && next.starts_with('*')) return false;
        if (c == '(' && next.starts_with('?') && (next.size() < 2 || !groups.contains(next[1]))) {
            return false;
        }
        if (c == '|' && depth == 0) return false;
        if (c == '(') ++depth;
        if (c == ')' && depth > 0) --depth;
        at += c == '\\' ? 2 : 1;
    }
    return true;
}

bool is_any_path(ByteView rest) {
    constexpr ByteView all[] = {"", ".*", "(.*)", ".*$", "(.*)$"};
    return std::ranges::find(all, rest) != std::end(all);
}

}  // namespace

RegexFront front_of(ByteView regex) {
    if (!regex.starts_with('^')) return {{}, is_any_path(regex)};
    if (!is_single(regex)) return {};
    regex.remove_prefix(1);
    RegexFront front;
    while (!regex.empty()) {
        const bool is_escaped = regex[0] == '\\' && regex.size() > 1;
        const char c = is_escaped ? regex[1] : regex[0];
        // Escaped letters and digits have meanings of their own.
        const bool is_literal = is_escaped ? !is_letter_or_digit(c)
                                           : c != '\\' && !ByteView(".*+?()[]{}|^$").contains(c);
        if (!is_literal) break;
        front.text += c;
        regex.remove_prefix(is_escaped ? 2 : 1);
    }
    front.is_all = is_any_path(regex);
    // It may stand there any number of times, and so none.
    const bool is_repeated = !regex.empty() && ByteView("*+?{").contains(regex[0]);
    if (is_repeated && !front.text.empty()) front.text.pop_back();
    return front;
}

}  // namespace tiderace::http::route
