#include "tiderace/http/wire/method.h"

#include <array>

namespace tiderace::http::wire {
namespace {

constexpr std::array<std::string_view, 10> names = {
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", ""};

}  // namespace

Method parse_method(ByteView text) {
    // The common one first; then one comparison for each other method.
    if (text == "GET") return Method::get;
    for (std::size_t i = 1; i < names.size() - 1; ++i) {
        if (text == names[i]) return static_cast<Method>(i);
    }
    return Method::other;
}

std::string_view to_string(Method method) {
    return names[static_cast<std::size_t>(method)];
}

}  // namespace tiderace::http::wire
