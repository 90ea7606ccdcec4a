// Whatever a regular expression and a path hold: compiling and matching end, groups are parts of
// the path, and each path that matches begins with the plain front (route/regex_front.h).
//
// The first line of the input is the expression, and the rest is the path.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/check.h"
#include "tiderace/http/route/regex.h"
#include "tiderace/http/route/regex_front.h"

namespace tiderace::http::route {
namespace {

using Answer = Regex::Answer;

void check(std::string_view input) {
    const std::string_view expression = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(expression.size() + 1, input.size()));
    const std::string path = "/" + std::string(input);
    const auto regex = compile_regex(expression);
    if (!regex) {
        TR_CHECK(!regex.error().what.empty() && regex.error().at <= expression.size());
        return;
    }
    Captures captures;
    const Answer answer = (*regex)->match(path, &captures);
    TR_CHECK((*regex)->match(path) == answer, "the same again");
    const RegexFront front = front_of(expression);
    if (answer == Answer::yes) {
        TR_CHECK(std::string_view(path).starts_with(front.text));
        TR_CHECK(captures.count <= (*regex)->groups());
        for (std::size_t i = 0; i < captures.count; ++i) {
            const ByteView text = captures.texts[i];
            TR_CHECK(text.empty() || (text.data() >= path.data() &&
                                      text.data() + text.size() <= path.data() + path.size()));
        }
    }
    const bool has_front = std::string_view(path).starts_with(front.text);
    TR_CHECK(!front.is_all || !has_front || answer == Answer::yes);
}

}  // namespace
}  // namespace tiderace::http::route

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tiderace::http::route::check({reinterpret_cast<const char*>(data), size});
    return 0;
}
