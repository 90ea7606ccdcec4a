// within the text; a value that is read, written and read again stays the same: a struct with each
// kind of member, and a Value, which takes every text but one that has a name twice.
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/json.h"
#include "tiderace/json/scan.h"

namespace tiderace::json {
namespace {

enum class Mood { calm, rough };

struct Leaf {
    int number;
};
struct Even : Checked<int> {
    using Checked<int>::Checked;
    static bool holds(int value) { return value % 2 == 0; }
    static std::string expected() { return "an even number"; }
};
struct Word {
    std::string text;
};

}  // namespace

template <>
struct Convert<Word> {
    static std::string write(const Word& word) { return word.text; }
    static std::optional<Word> read(const std::string& text) {
        if (text.size() > 3) return std::nullopt;
        return Word{text};
    }
};

namespace {

// Every member may be missing, so that a small text reaches far.
struct Node {
    Default<bool> b;
    Default<std::int8_t> i;
    Default<std::uint64_t> u;
    Default<double> d;
    Default<float> f;
    Default<std::string> s;
    Default<Mood> m;
    Default<std::chrono::sys_time<std::chrono::nanoseconds>> t;
    Default<std::vector<Node>> l;
    Default<std::deque<bool>> q;
    Default<std::array<int, 2>> a;
    Default<std::map<std::string, Node>> o;
    std::unique_ptr<Node> n;
    Default<std::variant<bool, double, std::string, std::vector<int>>> v;
    Default<std::variant<Leaf, int, double>> w;
    Default<Range<int, 1, 9>> r = 1;
    Default<Length<std::string, 0, 4>> e;
    Default<Even> p = 2;
    Default<Value> x;
    std::optional<Word> c;
    Default<std::map<std::int8_t, int>> k;
    Default<std::map<Mood, bool>> y;

    static constexpr Name json_names[] = {{"c", "word"}};
};

bool is_json(ByteView text, const Options& options) {
    std::vector<Leaf> nothing;  // every fault of content comes after the syntax is checked
    const auto result = read_value(text, &nothing, type_of<std::vector<Leaf>>, options);
    return result || result.error().kind() == Error::Kind::content;
}

void check_faults(ByteView text, const Error& error) {
    TR_CHECK(!error.faults().empty() && error.faults().size() <= faults_max);
    for (const Fault& fault : error.faults()) TR_CHECK(fault.offset <= text.size());
    TR_CHECK(!error.message().empty());
}

void check_value(ByteView text, const Options& options) {
    const auto value = read<Value>(text, options);
    if (!value) {
        const bool is_content = value.error().kind() == Error::Kind::content;
        TR_CHECK(is_content == !first_fault(text, options.depth_max));
        return check_faults(text, value.error());
    }
    std::string once;
    TR_CHECK(append(once, *value));
    const auto again = read<Value>(once, {.size_bytes_max = once.size()});
    TR_CHECK(again.has_value());
    TR_CHECK(write(*again) == once);
}

void check(ByteView text) {
    const Options options = {.unknown = Unknown::ignore};
    TR_CHECK(is_json(text, options) == !first_fault(text, options.depth_max));
    check_value(text, options);
    const auto node = read<Node>(text, options);
    if (!node) return check_faults(text, node.error());
    std::string once;
    TR_CHECK(append(once, *node));
    const auto again = read<Node>(once);
    TR_CHECK(again.has_value());
    TR_CHECK(write(*again) == once);
}

}  // namespace
}  // namespace tiderace::json

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    tiderace::json::check({reinterpret_cast<const char*>(data), size});
    return 0;
}
