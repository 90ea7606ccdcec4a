// RequestParser: the head of an HTTP/1 request, one character at a time.
//
// The way Asio's example servers read: a state, a switch, no look back. It is here to be measured
// as that; Tiderace's own is http/wire/request_head.h.
//
// Thread   One at a time.
// Limits   head_bytes_max: above it, too_large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tiderace::lab::opponent {

struct Request {
    std::string method;
    std::string target;
    int minor_version = 1;
    bool closes = false;  // Connection: close, or 1.0 without keep-alive
    bool has_body = false;
};

class RequestParser {
  public:
    static constexpr std::size_t head_bytes_max = 16'384;

    enum class Outcome : std::uint8_t { incomplete, complete, bad, too_large };

    struct Parsed {
        Outcome outcome;
        std::size_t used;  // characters taken; the rest belongs to the next request
    };

    // Goes on where the last call ended.
    Parsed parse(std::string_view bytes);
    // The parsed request, once complete. Then the parser begins anew.
    Request take();

  private:
    //   method_start -> method -' '-> target -' '-> version -CR-> line_end -LF-> field_start
    //   field_start -> field_name -:-> field_space -> field_value -CR-> field_end -LF-> field_start
    //              '-CR-> head_end -LF-> done
    enum class State : std::uint8_t {
        method_start,
        method,
        target,
        version,
        line_end,
        field_start,
        field_name,
        field_space,
        field_value,
        field_end,
        head_end,
    };

    // False: no request has this character here.
    bool take_character(char letter);
    bool take_version(char letter);
    bool end_field();

    State state_ = State::method_start;
    std::size_t head_bytes_ = 0;
    std::string version_;
    std::string name_;
    std::string value_;
    Request request_;
    bool keeps_alive_ = false;
};

}  // namespace tiderace::lab::opponent
