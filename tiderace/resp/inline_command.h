// Inline commands: a line of words, for people with telnet: SET name "two words"
//
// Spaces separate words. "Double quotes" know \n \r \t \b \a \xHH and a backslash before
// any other character; 'single quotes' know \' alone. A closing quote ends its word.
#pragma once

#include <string>
#include <vector>

#include "tiderace/base/bytes.h"

namespace tiderace::resp {

struct Range {
    std::uint32_t offset;
    std::uint32_t bytes;
};

// Appends the words of `line` to `text`, and where each lies in it to `words`. False: a quote is
// not closed, or followed by something else than a space.
bool split_inline(ByteView line, std::string& text, std::vector<Range>& words);

}  // namespace tiderace::resp
