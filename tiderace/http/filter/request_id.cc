#include "tiderace/http/filter/request_id.h"

#include <algorithm>
#include <array>

#include "tiderace/base/ascii.h"

namespace tiderace::http::filter {
namespace {

bool is_id(ByteView text) {
    // Such ids end up in logs and in shells, so only harmless characters pass.
    return !text.empty() && text.size() <= RequestId::id_bytes_max &&
           std::ranges::all_of(text, [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
           });
}

}  // namespace

RequestId::RequestId(bool trust_client)
    : trust_client_(trust_client), random_(Random::with_system_seed()) {}

void RequestId::filter(Exchange& exchange, Response& response) {
    const ByteView given = exchange.request().field(wire::FieldName::x_request_id);
    if (trust_client_ && is_id(given)) {
        response.set(wire::FieldName::x_request_id, response.keep(given));
        return;
    }
    constexpr ByteView digits = "0123456789abcdef";
    std::array<char, 32> text;
    for (std::size_t i = 0; i < text.size(); i += 16) {
        std::uint64_t bits = random_.next();
        for (std::size_t k = 0; k < 16; ++k, bits >>= 4) text[i + k] = digits[bits & 15];
    }
    response.set(wire::FieldName::x_request_id, response.keep(ByteView(text.data(), text.size())));
}

}  // namespace tiderace::http::filter
