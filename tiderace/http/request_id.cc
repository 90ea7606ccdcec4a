#include "tiderace/http/request_id.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tiderace/base/ascii.h"
#include "tiderace/base/random.h"
#include "tiderace/http/request.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http {
namespace {

struct Counters {
    std::uint64_t high;
    std::uint64_t low;
};

Counters random_counters() {
    Random random = Random::with_system_seed();
    return {random.next(), random.next()};
}

// SplitMix64: a bijection of 64 bits.
std::uint64_t mixed(std::uint64_t number) {
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

// The eight digits of 32 bits at once, the lowest half byte first.
void write_digits(std::uint64_t bits, char* to) {
    bits = (bits | bits << 16) & 0x0000ffff0000ffff;
    bits = (bits | bits << 8) & 0x00ff00ff00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0f;
    const std::uint64_t is_letter = (bits + 0x0606060606060606) >> 4 & 0x0101010101010101;
    bits += 0x3030303030303030 + is_letter * ('a' - '0' - 10);
    std::memcpy(to, &bits, sizeof bits);
}

// Ids end up in logs and in shells, so only harmless characters pass.
bool is_id(ByteView text) {
    return !text.empty() && text.size() <= Request::id_bytes_max &&
           std::ranges::all_of(text, [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
           });
}

}  // namespace

void MadeId::make() {
    thread_local Counters counters = random_counters();
    const std::uint64_t high = mixed(++counters.high);
    // Its digits are also the id of a span, which must not be all zeros.
    const std::uint64_t low = mixed(++counters.low);
    write_digits(high & 0xffffffff, text_.data());
    write_digits(high >> 32, text_.data() + 8);
    write_digits(low & 0xffffffff, text_.data() + 16);
    write_digits(low >> 32 | (low == 0 ? 1 : 0), text_.data() + 24);
    is_made_ = true;
}

ByteView Request::id() const {
    if (trusts_id) {
        for (const ByteView name : {ByteView("X-Request-Id"), ByteView("Request-Id")}) {
            if (const ByteView given = header(name); is_id(given)) return given;
        }
    }
    return made_id.text();
}

std::string_view Request::method_name() const {
    if (head == nullptr) return "";
    const std::string_view known = wire::to_string(method());
    return known.empty() ? "other" : known;
}

log::TraceContext Request::trace() const {
    log::TraceContext trace(made_id.text());
    // Of two, neither can be the right one.
    const wire::Field* const parent = head->find("traceparent");
    if (parent == nullptr || head->next(*parent) != nullptr) return trace;
    if (!trace.continue_trace(wire::trim_ows(parent->value))) return trace;
    for (const wire::Field* state = head->find("tracestate"); state != nullptr;
         state = head->next(*state)) {
        if (!trace.add_state(wire::trim_ows(state->value))) break;
    }
    return trace;
}

}  // namespace tiderace::http
