#include "tiderace/resp/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "tiderace/base/check.h"
#include "tiderace/resp/number.h"

namespace tiderace::resp {
namespace {

// Type, sign, digits10 + 1 digits and CR LF.
constexpr std::size_t head_bytes_max = std::numeric_limits<std::int64_t>::digits10 + 5;

// "$12\r\n"; returns how many bytes.
std::size_t write_head(char* at, char type, std::int64_t number) {
    *at = type;
    const auto [end, error] = std::to_chars(at + 1, at + head_bytes_max - 2, number);
    static_cast<void>(error);  // there is room for each number
    end[0] = '\r';
    end[1] = '\n';
    return static_cast<std::size_t>(end + 2 - at);
}

}  // namespace

void Writer::head(char type, std::int64_t number) {
    if (full()) return;
    std::array<char, head_bytes_max> text;
    out_->append(text.data(), write_head(text.data(), type, number));
}

void Writer::line(char type, ByteView text) {
    if (full()) return;
    out_->push_back(type);
    const std::size_t first = out_->size();
    out_->append(text);
    // A line's end in an error's text, which may quote a client, would begin another reply.
    const auto is_end = [](char c) { return c == '\r' || c == '\n'; };
    std::replace_if(out_->begin() + static_cast<std::ptrdiff_t>(first), out_->end(), is_end, ' ');
    out_->append("\r\n");
}

void Writer::bulk(ByteView text) {
    if (full()) return;
    std::array<char, head_bytes_max> head;
    const std::size_t bytes = write_head(head.data(), '$', static_cast<std::int64_t>(text.size()));
    // In one step if it is short: most are, and append() costs more than their bytes.
    constexpr std::size_t short_bytes_max = 64;
    if (text.size() <= short_bytes_max) {
        std::array<char, head_bytes_max + short_bytes_max + 2> whole;
        char* at = std::copy_n(head.data(), bytes, whole.data());
        at = std::copy(text.begin(), text.end(), at);
        *at++ = '\r';
        *at++ = '\n';
        out_->append(whole.data(), static_cast<std::size_t>(at - whole.data()));
        return;
    }
    out_->append(head.data(), bytes);
    out_->append(text);
    out_->append("\r\n");
}

void Writer::null() {
    literal(protocol_ == Protocol::resp3 ? "_\r\n" : "$-1\r\n");
}

// RESP 2 has two nulls; the commands that return arrays send this one.
void Writer::null_array() {
    literal(protocol_ == Protocol::resp3 ? "_\r\n" : "*-1\r\n");
}

void Writer::boolean(bool value) {
    if (protocol_ == Protocol::resp3) {
        literal(value ? "#t\r\n" : "#f\r\n");
    } else {
        integer(value ? 1 : 0);
    }
}

void Writer::real(double value) {
    const DoubleText text(value);
    if (protocol_ == Protocol::resp3) {
        line(',', text.view());
    } else {
        bulk(text.view());
    }
}

void Writer::big_number(ByteView digits) {
    TR_CHECK(is_big_number(digits), "a big number is digits with an optional sign");
    if (protocol_ == Protocol::resp3) {
        line('(', digits);
    } else {
        bulk(digits);
    }
}

void Writer::verbatim(ByteView format, ByteView text) {
    if (protocol_ == Protocol::resp2) {
        bulk(text);
        return;
    }
    TR_CHECK(format.size() == 3, "the format of a verbatim string has three characters");
    if (full()) return;
    head('=', format.size() + 1 + text.size());
    out_->append(format);
    out_->push_back(':');
    out_->append(text);
    out_->append("\r\n");
}

void Writer::map(std::size_t pairs) {
    if (protocol_ == Protocol::resp3) {
        head('%', pairs);
    } else {
        array(2 * pairs);
    }
}

void Writer::attribute(std::size_t pairs) {
    TR_CHECK(protocol_ == Protocol::resp3, "RESP 2 has no attributes");
    head('|', pairs);
}

void Writer::command(std::span<const ByteView> arguments) {
    array(arguments.size());
    for (const ByteView argument : arguments) bulk(argument);
}

}  // namespace tiderace::resp
