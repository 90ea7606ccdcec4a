// FastCGI records (version 1 of the specification): what a server writes, and a reader of what a
// peer answers.
//
//   header: version 1, type, request id, content length, padding length, 0; content; padding
//
// Owner    The connection. The reader's views live as long as the bytes that it was given.
// Thread   One at a time.
// Errors   A record that no application may send ends the reading: the bytes after it mean nothing.
// Limits   Contents of 65,535 bytes, which is the format's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire::cgi {

enum class FcgiType : std::uint8_t {
    begin_request = 1,
    end_request = 3,
    params = 4,
    standard_input = 5,
    standard_output = 6,
    standard_error = 7,
};

enum class FcgiEnd : std::uint8_t { complete = 0, overloaded = 2, role = 3 };

// A whole record. At most 65,535 bytes of content; none ends a stream.
void append_record(std::string& out, FcgiType type, std::uint16_t id, ByteView content);

// The records that begin a request: its start, its variables, and the end of an empty input. Its
// memory is used for one request after the other, and stays as large as the largest needed.
//
//   begin(id) -> add_meta_variables(params, facts) -> end() -> the bytes, until the next begin()
class FcgiParams {
  public:
    // Forgets the request before.
    void begin(std::uint16_t id);
    void add(ByteView name, ByteView value);
    void add(ByteView name, std::uint64_t value);
    // As HTTP_NAME.
    void add_field(ByteView field, ByteView value);
    enum class Input : std::uint8_t { follows, empty };
    ByteView end(Input input);

  private:
    char* room(std::size_t bytes);
    [[gnu::cold]] void grow(std::size_t bytes);
    [[gnu::cold]] void divide();

    std::string text_;
    std::size_t size_ = 0;
    std::uint16_t id_ = 0;
};

struct FcgiEvent {
    enum class Kind : std::uint8_t {
        need_more,
        output,       // `bytes` of standard output; empty: its end
        errors,       // `bytes` of standard error; empty: its end
        end_request,  // `end`, `application_status`
        fault,        // no record
    };
    Kind kind = Kind::need_more;
    std::uint16_t id = 0;
    ByteView bytes;
    FcgiEnd end = FcgiEnd::complete;
    std::uint32_t application_status = 0;
};

class FcgiReader {
  public:
    // Takes bytes from the front of `data` up to the next event; `need_more`: took them all. The
    // event's bytes are a view of `data`.
    FcgiEvent next(ByteView& data);

  private:
    static constexpr std::size_t header_bytes = 8;
    static constexpr std::size_t end_bytes = 8;

    [[gnu::cold]] FcgiEvent fail();
    bool take_header(ByteView& data);
    bool is_sound() const;
    FcgiEvent take_stream(ByteView& data);
    FcgiEvent take_end(ByteView& data);

    std::array<unsigned char, header_bytes> header_{};
    std::size_t header_got_ = 0;
    FcgiType type_{};
    std::uint16_t id_ = 0;
    std::size_t content_left_ = 0;
    std::size_t padding_left_ = 0;
    bool in_record_ = false;
    bool failed_ = false;
    std::array<unsigned char, end_bytes> end_{};  // the content of an end_request
};

}  // namespace tiderace::http::wire::cgi
