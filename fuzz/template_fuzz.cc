// Any bytes as a template and the values in it. A template that is refused has a place and a
// message; one that is taken renders without a value that leaves its place: the same template with
// other values gives the same tags.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/template.h"

namespace tiderace::text {
namespace {

struct Inner {
    std::string a;
    int n = 3;
};
struct Outer {
    std::string a;
    std::string b;
    std::vector<Inner> l;
    std::map<std::string, std::string> m;
    SafeHtml h{"<i>h</i>"};
    bool t = true;
};

std::size_t count(std::string_view text, std::string_view marks) {
    std::size_t found = 0;
    for (const char c : text) found += marks.find(c) != marks.npos;
    return found;
}

Outer outer(std::string_view a, std::string_view b) {
    return {.a = std::string(a),
            .b = std::string(b),
            .l = {{std::string(b)}, {std::string(a)}},
            .m = {{"a", std::string(a)}, {"b", std::string(b)}}};
}

constexpr Limits limits = {
    .source_bytes_max = 4'096, .output_bytes_max = 100'000, .iterations_max = 1'000};

void check_fault(const Fault& fault) {
    TR_CHECK(fault.line >= 1 && fault.column >= 1);
    TR_CHECK(!fault.problem.empty());
    TR_CHECK(fault.message().size() < fault.problem.size() + 1'000);
}

// The template and two values are between bytes 0xFF. Both values are as long as each other, or
// conditions on their length would differ.
void check(std::string_view input) {
    const std::size_t end = input.find('\xFF');
    const std::string_view source = input.substr(0, end);
    const std::string_view value = end == input.npos ? "<\"'>" : input.substr(end + 1);
    auto made = Template::compile("fuzzed", std::string(source), {.limits = limits});
    if (!made) return check_fault(made.error());
    (void)made->check<Outer>();
    std::string hostile;
    std::string harmless;
    const auto done = made->render(hostile, outer(value, value));
    if (!done) {
        TR_CHECK(hostile.empty());
        return check_fault(done.error());
    }
    // Compared values may differ; then the template has another output.
    const bool decides = source.find("{%") != source.npos || source.find('|') != source.npos;
    if (decides || value.empty()) return;
    const std::string same_length(value.size(), 'x');
    if (!made->render(harmless, outer(same_length, same_length))) {
        return;
    }
    // Marks that only the template may write.
    TR_CHECK(count(hostile, "<>`") == count(harmless, "<>`"));
    TR_CHECK(count(hostile, "\n\r") >= count(harmless, "\n\r"));
}

}  // namespace
}  // namespace tiderace::text

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    tiderace::text::check({reinterpret_cast<const char*>(data), size});
    return 0;
}
