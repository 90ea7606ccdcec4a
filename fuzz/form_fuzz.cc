// Forms and queries as plain structs. A text that is not read has a fault. A struct that is read is
// valid, and reads the same when it is written as a form again.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/app/form.h"
#include "tiderace/http/client/content.h"
#include "tiderace/json.h"

namespace tiderace::http {
namespace {

enum class Size { small, large };

struct Order {
    std::string item;
    std::optional<std::string> note;
    std::optional<int> count;
    json::Default<json::Range<int, 1, 100>> page = 1;
    bool gift = false;
    Size size = Size::small;
    std::vector<std::string> tag;
    std::vector<std::uint8_t> digits;
    std::int64_t number = 0;

    std::optional<std::string> validate() const {
        if (item == "nothing") return "an order is for something";
        return std::nullopt;
    }
};

std::string write(const Order& order) {
    std::vector<std::pair<std::string, std::string>> all{
        {"item", order.item},
        {"page", std::to_string(*order.page)},
        {"gift", order.gift ? "true" : "false"},
        {"size", order.size == Size::small ? "small" : "large"},
        {"number", std::to_string(order.number)}};
    if (order.note) all.emplace_back("note", *order.note);
    if (order.count) all.emplace_back("count", std::to_string(*order.count));
    for (const std::string& tag : order.tag) all.emplace_back("tag", tag);
    for (const unsigned digit : order.digits) all.emplace_back("digits", std::to_string(digit));
    const std::vector<FormPair> pairs(all.begin(), all.end());
    return form(pairs).bytes();
}

void read(ByteView text) {
    Order order;
    const json::Faults faults = app_parts::read_pairs(text, &order, json::type_of<Order>);
    for (const json::Fault& fault : faults) TR_CHECK(!fault.problem.empty());
    if (!faults.empty()) return;
    TR_CHECK(*order.page >= 1 && *order.page <= 100 && !order.validate());
    TR_CHECK(order.tag.size() + order.digits.size() <= app_parts::pairs_max);
    const std::string written = write(order);
    // The defaults that were not sent are written, too: these could be one too many.
    if (order.tag.size() + order.digits.size() + 7 > app_parts::pairs_max) return;
    Order again;
    const json::Faults none = app_parts::read_pairs(written, &again, json::type_of<Order>);
    TR_CHECK(none.empty());
    TR_CHECK(json::write(again) == json::write(order));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    read(ByteView(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 16'384)));
    return 0;
}

}  // namespace tiderace::http
