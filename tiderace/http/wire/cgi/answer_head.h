// AnswerHead: the head of what a CGI program writes (RFC 3875, section 6): fields, an empty line,
// the body. FastCGI programs write the same.
//
//   AnswerHeadReader reader(AnswerHeadReader::Form::cgi);
//   used = reader.feed(bytes)  ->  need_more … complete: reader.head()
//                                           -> refused:  reader.fault()
//
// A program whose name begins with "nph-" writes a whole HTTP answer itself (section 5): a status
// line first. It is read as one, because a client may speak HTTP/2.
//
// Lines may end with LF alone, as most programs write them. Field names are tokens and values hold
// no control characters; everything else is refused, because a program often copies what its client
// sent. Fields that frame a message or belong to one connection are dropped.
//
// A Location without a status is a redirect of the client (302), also where it is a path: we do not
// answer with another path of this server instead (RFC 3875, 6.2.2).
//
// Owner    The reader of one answer. The head's views point into the reader, or into the bytes of
//          the feed() that completed it.
// Thread   One at a time.
// Errors   AnswerFault. The result does not depend on how the bytes were split.
// Limits   head_bytes_max, fields_max.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/response_head.h"

namespace tiderace::http::wire::cgi {

enum class AnswerFault : std::uint8_t {
    none,
    too_long,        // above head_bytes_max
    too_many,        // above fields_max
    bad_line,        // no colon, a name that is no token, a folded line
    bad_value,       // a control character
    bad_status,      // not 200 to 599, or a status line that is none
    bad_length,      // a Content-Length that is no number, or two that differ
    nothing_useful,  // neither Content-Type nor Location nor Status
};
// "its head has a line that is no field"
std::string_view to_string(AnswerFault fault);

struct AnswerHead {
    int status = 200;
    std::optional<std::uint64_t> content_length;
    std::vector<Field> fields;  // without Status, Content-Length and the dropped ones
};

class AnswerHeadReader {
  public:
    // What we send leaves room for the fields that filters and the connection add.
    static constexpr std::size_t head_bytes_max = response_head_bytes_max - 4_KiB;
    static constexpr std::size_t fields_max = 100;

    enum class Form : std::uint8_t { cgi, whole_answer };
    enum class State : std::uint8_t { need_more, complete, refused };

    explicit AnswerHeadReader(Form form = Form::cgi) : form_(form) {}

    // Returns how many bytes were used: all, or only the head's where the head ends in them.
    std::size_t feed(ByteView bytes);
    State state() const { return state_; }
    AnswerFault fault() const { return fault_; }
    const AnswerHead& head() const { return head_; }
    // Nothing was fed. Until the head is complete.
    bool empty() const { return text_.empty(); }

  private:
    [[gnu::cold]] void refuse(AnswerFault fault);
    static std::size_t end_of_whole_head(ByteView bytes);
    void parse(ByteView head);
    AnswerFault take_line(ByteView line);
    AnswerFault take_status_line(ByteView line);
    AnswerFault take_status(ByteView value);
    AnswerFault take_length(ByteView value);

    Form form_;
    State state_ = State::need_more;
    AnswerFault fault_ = AnswerFault::none;
    std::string text_;
    std::size_t line_begin_ = 0;
    AnswerHead head_;
    bool has_status_ = false;
};

}  // namespace tiderace::http::wire::cgi
