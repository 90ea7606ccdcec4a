// Internal. Response head: writes a status line and fields into memory that the caller gives (RFC
// 9112, 4-5).
//
//   ResponseHeadWriter writer(space);
//   writer.status(200);
//   writer.date(now);
//   writer.number(FieldName::content_length, size);
//   writer.end();
//   if (writer.fault() != ResponseHeadWriter::Fault::none) …answer 500 instead
//
// Owner    The caller owns the memory; the writer is a cursor into it.
// Thread   Any; a writer belongs to one thread at a time.
// Errors   Values may come from a user's code, so a bad one is a value too: the call returns false,
//          nothing of that field is written, the fault stays, and every later call returns false.
//          So one check at the end is enough. CR, LF and NUL can never get into a head.
// Memory   None. Never writes past the span.
// Keywords: status line
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/field_name.h"

namespace tiderace::http::wire {

// Of an answer that we send, in every version of HTTP, with all that filters and connection add.
inline constexpr std::size_t response_head_bytes_max = 32_KiB;

class ResponseHeadWriter {
  public:
    enum class Fault : std::uint8_t {
        none,
        overflow,    // the span is full
        bad_status,  // not 100 to 999, or control characters in the reason
        bad_name,    // a field name that is not a token
        bad_value    // a field value with a control character other than HT, or not a date
    };

    static constexpr std::size_t date_bytes = 29;  // "Sun, 06 Nov 1994 08:49:37 GMT"

    explicit ResponseHeadWriter(std::span<char> out) : out_(out) {}

    // "HTTP/1.1 200 OK", first of all. Without `reason` it is the registered one, if any.
    bool status(int code, ByteView reason = {});
    // `name` is not FieldName::other: that one has no spelling.
    bool field(FieldName name, ByteView value);
    bool field(ByteView name, ByteView value);
    bool number(FieldName name, std::uint64_t value);
    // The Date field, of date_bytes.
    bool date(ByteView imf_fixdate);
    // Lines rendered beforehand by our own code ("Server: tiderace\r\n"): copied, not checked.
    bool lines(ByteView rendered);
    // The empty line that ends the head.
    bool end() { return lines("\r\n"); }

    Fault fault() const { return fault_; }
    // What was written so far; "" after a fault.
    ByteView written() const {
        return fault_ == Fault::none ? ByteView(out_.data(), size_) : ByteView();
    }

  private:
    bool fail(Fault fault);
    bool append_line(ByteView start, ByteView middle, ByteView value);

    std::span<char> out_;
    std::size_t size_ = 0;
    Fault fault_ = Fault::none;
};

}  // namespace tiderace::http::wire
