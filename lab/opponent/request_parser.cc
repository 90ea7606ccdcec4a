#include "lab/opponent/request_parser.h"

#include <utility>

#include "tiderace/base/ascii.h"

namespace tiderace::lab::opponent {
RequestParser::Parsed RequestParser::parse(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (++head_bytes_ > head_bytes_max) return {Outcome::too_large, i};
        // Here and not in take_character(), because the caller learns from it where the next
        // request begins.
        if (state_ == State::head_end) {
            return {bytes[i] == '\n' ? Outcome::complete : Outcome::bad, i + 1};
        }
        if (!take_character(bytes[i])) return {Outcome::bad, i};
    }
    return {Outcome::incomplete, bytes.size()};
}

// The drawing is in the header. Whatever the state does not name is refused: a parser that guesses
// would be compared with others that do not.
bool RequestParser::take_character(char letter) {
    switch (state_) {
        case State::method_start:
            if (!is_token_character(letter)) return false;
            request_.method += letter;
            state_ = State::method;
            return true;
        case State::method:
            if (letter == ' ') {
                state_ = State::target;
                return true;
            }
            request_.method += letter;
            return is_token_character(letter);
        case State::target:
            if (letter == ' ') {
                state_ = State::version;
                return !request_.target.empty();
            }
            request_.target += letter;
            return !is_control_character(letter);
        case State::version:
            return take_version(letter);
        case State::line_end:
        case State::field_end:
            // After CR only LF: a bare CR in a field is how requests are smuggled (RFC 9112, 2.2).
            state_ = State::field_start;
            return letter == '\n';
        case State::field_start:
            if (letter == '\r') {
                state_ = State::head_end;
                return true;
            }
            name_ = to_lower(letter);
            value_.clear();
            state_ = State::field_name;
            return is_token_character(letter);  // a folded line begins with a space: refused
        case State::field_name:
            if (letter == ':') {
                state_ = State::field_space;
                return true;
            }
            name_ += to_lower(letter);
            return is_token_character(letter);
        case State::field_space:
            if (letter == ' ' || letter == '\t') return true;
            state_ = State::field_value;
            [[fallthrough]];
        case State::field_value:
            if (letter == '\r') {
                state_ = State::field_end;
                return end_field();
            }
            // In lower case: of the values that are read (end_field()) none depends on it.
            value_ += to_lower(letter);
            return letter == '\t' || !is_control_character(letter);
        case State::head_end:
            break;
    }
    return false;
}

bool RequestParser::take_version(char letter) {
    constexpr std::string_view known = "HTTP/1.";
    if (letter == '\r') {
        state_ = State::line_end;
        return version_.size() == known.size() + 1;
    }
    version_ += letter;
    if (version_.size() <= known.size()) return version_ == known.substr(0, version_.size());
    request_.minor_version = letter - '0';
    return version_.size() == known.size() + 1 && letter >= '0' && letter <= '9';
}

bool RequestParser::end_field() {
    while (!value_.empty() && (value_.back() == ' ' || value_.back() == '\t')) value_.pop_back();
    if (name_ == "connection") {
        request_.closes |= value_.find("close") != std::string::npos;
        // HTTP/1.0 closes unless the client wants otherwise; since 1.1 it is the other way round
        // (RFC 9112, 9.3).
        keeps_alive_ |= value_.find("keep-alive") != std::string::npos;
    } else if (name_ == "transfer-encoding") {
        request_.has_body = true;
    } else if (name_ == "content-length") {
        // Only whether there is one: this server reads none, so it closes after the answer.
        request_.has_body |= value_ != "0";
    }
    return true;
}

Request RequestParser::take() {
    if (request_.minor_version == 0 && !keeps_alive_) request_.closes = true;
    Request taken = std::move(request_);
    // Everything of the last request goes, also its "keep-alive" and its length.
    *this = RequestParser();
    return taken;
}

}  // namespace tiderace::lab::opponent
