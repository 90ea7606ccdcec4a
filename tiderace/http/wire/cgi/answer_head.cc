#include "tiderace/http/wire/cgi/answer_head.h"

#include <algorithm>

#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/framing.h"

namespace tiderace::http::wire::cgi {
namespace {

// Of most programs, so that a head takes one allocation.
constexpr std::size_t usual_fields = 12;

// They describe the connection between the program and us, or are made by ours.
bool is_dropped(ByteView name, FieldName id) {
    switch (id) {
        case FieldName::connection:
        case FieldName::transfer_encoding:
        case FieldName::keep_alive:
        case FieldName::upgrade:
        case FieldName::te:
        case FieldName::trailer:
        case FieldName::date:
        case FieldName::server:
            return true;
        default:
            return equals_ignoring_case(name, "Proxy-Connection");
    }
}

}  // namespace

std::string_view to_string(AnswerFault fault) {
    switch (fault) {
        case AnswerFault::none:
            return "nothing is wrong";
        case AnswerFault::too_long:
            return "its head is longer than 28 KiB";
        case AnswerFault::too_many:
            return "its head has more than 100 fields";
        case AnswerFault::bad_line:
            return "its head has a line that is no field";
        case AnswerFault::bad_value:
            return "its head has a control character";
        case AnswerFault::bad_status:
            return "its status is not a number from 200 to 599";
        case AnswerFault::bad_length:
            return "its Content-Length is not one number";
        case AnswerFault::nothing_useful:
            return "its head has neither Content-Type nor Location nor Status";
    }
    return "";
}

void AnswerHeadReader::refuse(AnswerFault fault) {
    fault_ = fault;
    state_ = State::refused;
}

// Behind the empty line that ends it; 0: it is not all there.
std::size_t AnswerHeadReader::end_of_whole_head(ByteView bytes) {
    for (std::size_t line = 0;;) {
        const std::size_t newline = bytes.find('\n', line);
        if (newline == ByteView::npos) return 0;
        const bool is_empty = newline == line || (newline == line + 1 && bytes[line] == '\r');
        line = newline + 1;
        if (is_empty) return line;
    }
}

std::size_t AnswerHeadReader::feed(ByteView bytes) {
    // Nearly every head comes in one piece, and is read where it lies.
    if (text_.empty() && state_ == State::need_more) {
        const std::size_t whole = end_of_whole_head(bytes.substr(0, head_bytes_max));
        if (whole > 0) {
            parse(bytes.substr(0, whole));
            return whole;
        }
    }
    std::size_t used = 0;
    while (state_ == State::need_more && used < bytes.size()) {
        // RFC 3875, 7.2: a script's line ends with LF, and CR LF is also accepted.
        const std::size_t newline = bytes.find('\n', used);
        const std::size_t end = newline == ByteView::npos ? bytes.size() : newline + 1;
        const std::size_t room = head_bytes_max - text_.size();
        if (end - used > room) {
            refuse(AnswerFault::too_long);
            break;
        }
        text_.append(bytes.substr(used, end - used));
        used = end;
        if (newline == ByteView::npos) break;
        const ByteView line = ByteView(text_).substr(line_begin_);
        line_begin_ = text_.size();
        if (line == "\n" || line == "\r\n") parse(text_);
    }
    return used;
}

// Once, when the head is complete: the text no longer moves, so views into it may be kept.
void AnswerHeadReader::parse(ByteView head) {
    ByteView rest = head;
    bool first = true;
    head_.fields.reserve(usual_fields);
    while (!rest.empty()) {
        const std::size_t newline = rest.find('\n');
        ByteView line = rest.substr(0, newline);
        rest.remove_prefix(newline + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) break;
        const bool is_status_line = first && form_ == Form::whole_answer;
        first = false;
        const AnswerFault fault = is_status_line ? take_status_line(line) : take_line(line);
        if (fault != AnswerFault::none) return refuse(fault);
    }
    bool has_type = false;
    bool has_location = false;
    for (const Field& field : head_.fields) {
        has_type = has_type || field.id == FieldName::content_type;
        has_location = has_location || (field.id == FieldName::location && !field.value.empty());
    }
    if (!has_type && !has_status_ && !has_location) return refuse(AnswerFault::nothing_useful);
    // RFC 3875, 6.2.3: a Location alone is a redirect.
    if (has_location && !has_status_) head_.status = 302;
    state_ = State::complete;
}

// "HTTP/1.1 200 OK"
AnswerFault AnswerHeadReader::take_status_line(ByteView line) {
    if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ') {
        return AnswerFault::bad_status;
    }
    return take_status(line.substr(9));
}

// "200 OK", "200"
AnswerFault AnswerHeadReader::take_status(ByteView value) {
    const ByteView digits = value.substr(0, 3);
    if (digits.size() < 3 || !std::ranges::all_of(digits, is_digit) ||
        (value.size() > 3 && value[3] != ' ')) {
        return AnswerFault::bad_status;
    }
    const int status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
    // A program gives the final answer; 1xx would leave the client waiting.
    if (status < 200 || status > 599) return AnswerFault::bad_status;
    head_.status = status;
    has_status_ = true;
    return AnswerFault::none;
}

AnswerFault AnswerHeadReader::take_length(ByteView value) {
    const ContentLength length = parse_content_length(value);
    if (length.refusal != Refusal::none) return AnswerFault::bad_length;
    // Two lengths that agree do no harm.
    if (head_.content_length && *head_.content_length != length.value) {
        return AnswerFault::bad_length;
    }
    head_.content_length = length.value;
    return AnswerFault::none;
}

AnswerFault AnswerHeadReader::take_line(ByteView line) {
    const std::size_t colon = line.find(':');
    if (colon == ByteView::npos || !is_token(line.substr(0, colon))) return AnswerFault::bad_line;
    const ByteView name = line.substr(0, colon);
    const ByteView value = trim_ows(line.substr(colon + 1));
    if (!is_field_value(value)) return AnswerFault::bad_value;
    if (form_ == Form::cgi && equals_ignoring_case(name, "Status")) return take_status(value);
    const FieldName id = intern_field_name(name);
    if (id == FieldName::content_length) return take_length(value);
    if (is_dropped(name, id)) return AnswerFault::none;
    if (head_.fields.size() == fields_max) return AnswerFault::too_many;
    head_.fields.push_back({name, value, id});
    return AnswerFault::none;
}

}  // namespace tiderace::http::wire::cgi
