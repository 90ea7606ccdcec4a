#include "tiderace/http/wire/multipart.h"

#include <algorithm>
#include <cstring>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_parameters.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

// bchars (RFC 2046 5.1.1): digits, letters, some punctuation, and a space that is not the last.
bool is_boundary(ByteView text) {
    if (text.empty() || text.size() > MultipartReader::boundary_bytes_max || text.back() == ' ') {
        return false;
    }
    return std::ranges::all_of(text, [](char c) {
        return is_letter_or_digit(c) || ByteView("'()+_,-./:=? ").contains(c);
    });
}

}  // namespace

std::string_view to_string(MultipartFault fault) {
    switch (fault) {
        case MultipartFault::none:
            return "";
        case MultipartFault::no_delimiter:
            return "the body does not begin with its boundary";
        case MultipartFault::bad_delimiter:
            return "a boundary is not followed by the end of its line";
        case MultipartFault::bad_head:
            return "the head of a part is not valid";
        case MultipartFault::not_form_data:
            return "a part has no \"Content-Disposition: form-data\" with a name";
        case MultipartFault::name_too_long:
            return "the name of a part or of a file is too long";
        case MultipartFault::head_too_large:
            return "the head of a part is too large";
        case MultipartFault::too_many_parts:
            return "the form has too many parts";
        case MultipartFault::part_too_large:
            return "a part is too large";
        case MultipartFault::cut_off:
            return "the body ends before its last boundary";
    }
    return "";
}

std::optional<ByteView> multipart_boundary(ByteView content_type) {
    FieldParameters parameters(content_type);
    if (!equals_ignoring_case(parameters.essence(), "multipart/form-data")) return std::nullopt;
    std::optional<ByteView> found;
    while (auto one = parameters.next()) {
        if (!equals_ignoring_case(one->name, "boundary")) continue;
        // Two of them would let two readers see two forms.
        if (found || !is_boundary(one->value)) return std::nullopt;
        found = one->value;
    }
    return parameters.malformed() ? std::nullopt : found;
}

MultipartReader::MultipartReader(ByteView boundary, const MultipartLimits& limits)
    : limits_(limits), delimiter_bytes_(boundary.size() + 4) {
    TR_CHECK(!boundary.empty() && boundary.size() <= boundary_bytes_max,
             "a boundary has 1 to 70 bytes");
    // The line's end before a boundary belongs to the delimiter, not to the part (RFC 2046, 5.1.1).
    std::memcpy(delimiter_.data(), "\r\n--", 4);
    std::memcpy(delimiter_.data() + 4, boundary.data(), boundary.size());
}

std::size_t MultipartReader::held_bytes_max() const {
    // What a step may need at once: a head with its empty line, or a delimiter with its padding.
    return std::max(limits_.head_bytes_max + 4, delimiter_bytes_ + 64);
}

MultipartReader::Step MultipartReader::fail(MultipartFault fault) {
    state_ = State::failed;
    fault_ = fault;
    content_type_ = {};
    return {Event::failed};
}

MultipartReader::Step MultipartReader::next(ByteView input) {
    content_type_ = {};
    std::size_t used = 0;
    for (;;) {
        Step step = step_once(input.substr(used));
        used += step.bytes;
        const bool goes_on = step.event == Event::need_more && step.bytes > 0;
        if (goes_on) continue;
        step.bytes = used;
        return step;
    }
}

// One step; need_more with bytes used: there may be more to do at once.
MultipartReader::Step MultipartReader::step_once(ByteView input) {
    switch (state_) {
        case State::preamble:
            return step_preamble(input);
        case State::after_delimiter:
            return step_after_delimiter(input);
        case State::head:
            return step_head(input);
        case State::data:
            return step_data(input);
        case State::ended:
            // The epilogue is dropped (RFC 2046, 5.1.1).
            return {Event::end, input.size()};
        case State::failed:
            break;
    }
    return {Event::failed};
}

bool MultipartReader::finish() {
    if (state_ == State::ended) return true;
    if (state_ != State::failed) fail(MultipartFault::cut_off);
    return false;
}

// Whether a line begins here with the boundary; nullopt: more bytes will show.
std::optional<bool> MultipartReader::begins_with_boundary(ByteView input) const {
    const ByteView boundary = delimiter().substr(2);
    if (input.size() >= boundary.size()) return input.starts_with(boundary);
    if (boundary.starts_with(input)) return std::nullopt;
    return false;
}

// At the start of the body or of a part's data. True: the boundary is there, and used.
std::optional<bool> MultipartReader::skip_boundary_at_start(ByteView input) {
    if (!at_start_) return false;
    const auto begins = begins_with_boundary(input);
    if (begins) at_start_ = false;
    if (begins == true) state_ = State::after_delimiter;
    return begins;
}

// Bytes before the next delimiter, as far as they are certain.
std::size_t MultipartReader::bytes_before(ByteView input, std::size_t delimiter_at) const {
    if (delimiter_at != ByteView::npos) return delimiter_at;
    // A delimiter that is not found as a whole may still begin in the last bytes, of which one is
    // missing at least. These are held back, and come again with the next input.
    const std::size_t end = input.size() - std::min(input.size(), delimiter_bytes_ - 1);
    // Only bytes from a CR on may begin a delimiter.
    return std::min(input.find('\r', end), input.size());
}

// The first boundary stands at the start, or begins a line of a short preamble.
MultipartReader::Step MultipartReader::step_preamble(ByteView input) {
    const auto skipped = skip_boundary_at_start(input);
    if (!skipped) return {Event::need_more};
    if (*skipped) return {Event::need_more, delimiter_bytes_ - 2};
    const std::size_t at = input.find(delimiter());
    const std::size_t over = bytes_before(input, at);
    // Browsers do not send a preamble. Without a limit, a body without its boundary would be
    // searched to its end.
    preamble_bytes_ += over;
    if (preamble_bytes_ > preamble_bytes_max) return fail(MultipartFault::no_delimiter);
    if (at == ByteView::npos) return {Event::need_more, over};
    state_ = State::after_delimiter;
    return {Event::need_more, at + delimiter_bytes_};
}

// "--" ends the form; spaces and a line's end begin a part.
MultipartReader::Step MultipartReader::step_after_delimiter(ByteView input) {
    if (input.starts_with("--")) {
        state_ = State::ended;
        return {Event::end, 2};
    }
    if (input.empty() || input == "-") return {Event::need_more};
    std::size_t end = 0;
    while (end < input.size() && is_ows(input[end])) ++end;
    // RFC 2046 allows padding after a delimiter; real writers send little, so we bound it.
    if (end > 64) return fail(MultipartFault::bad_delimiter);
    const ByteView rest = input.substr(end);
    if (rest.empty() || rest == "\r") return {Event::need_more};
    if (!rest.starts_with("\r\n")) return fail(MultipartFault::bad_delimiter);
    if (parts_ >= limits_.parts_max) return fail(MultipartFault::too_many_parts);
    ++parts_;
    state_ = State::head;
    scanned_ = 0;
    return {Event::need_more, end + 2};
}

MultipartReader::Step MultipartReader::step_head(ByteView input) {
    const std::size_t end = input.find("\r\n\r\n", scanned_);
    const std::size_t least =
        end != ByteView::npos ? end : input.size() - std::min<std::size_t>(input.size(), 3);
    // `least` is what the head takes at least: a limit that does not depend on how the bytes
    // arrived.
    if (least > limits_.head_bytes_max) return fail(MultipartFault::head_too_large);
    if (end == ByteView::npos) {
        // All but the three bytes that may begin the empty line, so that each byte is searched
        // once.
        scanned_ = least;
        return {Event::need_more};
    }
    name_bytes_ = filename_bytes_ = 0;
    is_named_ = is_file_ = false;
    if (!read_head(input.substr(0, end))) return {Event::failed};
    if (!is_named_) return fail(MultipartFault::not_form_data);
    state_ = State::data;
    at_start_ = true;
    part_bytes_ = 0;
    return {Event::part, end + 4};
}

bool MultipartReader::read_head(ByteView head) {
    while (!head.empty()) {
        const std::size_t end = std::min(head.find("\r\n"), head.size());
        const ByteView line = head.substr(0, end);
        head.remove_prefix(std::min(end + 2, head.size()));
        const std::size_t colon = line.find(':');
        const ByteView name = line.substr(0, colon);
        if (colon == ByteView::npos || !is_token(name) || !is_field_value(line.substr(colon + 1))) {
            fail(MultipartFault::bad_head);
            return false;
        }
        const ByteView value = trim_ows(line.substr(colon + 1));
        // Other fields are valid and mean nothing here (RFC 7578, 4.8).
        if (equals_ignoring_case(name, "content-type")) content_type_ = value;
        if (!equals_ignoring_case(name, "content-disposition")) continue;
        if (is_named_) {
            fail(MultipartFault::bad_head);  // twice
            return false;
        }
        if (!read_disposition(value)) return false;
    }
    return true;
}

bool MultipartReader::read_disposition(ByteView value) {
    FieldParameters parameters(value);
    // Not an error yet: step_head() reports a part that has no name in the end.
    if (!equals_ignoring_case(parameters.essence(), "form-data")) return true;
    bool named = false;
    while (auto one = parameters.next()) {
        const bool is_name = equals_ignoring_case(one->name, "name");
        const bool is_file = equals_ignoring_case(one->name, "filename");
        if (!is_name && !is_file) continue;
        if ((is_name && named) || (is_file && is_file_)) {
            fail(MultipartFault::bad_head);  // twice
            return false;
        }
        // Copied, because the head's bytes are gone when the part's data comes.
        BoundedText text(is_name ? std::span<char>(name_) : std::span<char>(filename_));
        if (!append_unquoted(text, *one)) {
            fail(MultipartFault::name_too_long);
            return false;
        }
        (is_name ? name_bytes_ : filename_bytes_) = text.size();
        (is_name ? named : is_file_) = true;
    }
    if (parameters.malformed()) {
        fail(MultipartFault::bad_head);
        return false;
    }
    is_named_ = named;
    return true;
}

MultipartReader::Step MultipartReader::step_data(ByteView input) {
    // An empty part may end with the line's end of its head (RFC 2046 5.1.1).
    const auto skipped = skip_boundary_at_start(input);
    if (!skipped) return {Event::need_more};
    if (*skipped) return {Event::part_end, delimiter_bytes_ - 2};
    const std::size_t at = input.find(delimiter());
    if (at == 0) {
        state_ = State::after_delimiter;
        return {Event::part_end, delimiter_bytes_};
    }
    const std::size_t whole = bytes_before(input, at);
    if (whole == 0) return {Event::need_more};
    part_bytes_ += whole;
    if (part_bytes_ > limits_.part_bytes_max) return fail(MultipartFault::part_too_large);
    return {Event::data, whole, input.substr(0, whole)};
}

}  // namespace tiderace::http::wire
