// FieldParameters: the parameters behind a field's first word (RFC 9110 5.6.6):
//
//   form-data; name="a \\"b\\""; filename=c.txt      essence() "form-data", then name, filename
//
// In a quoted string a backslash takes the meaning from a quote or a backslash and stands for
// itself before anything else: browsers of old sent whole Windows paths as file names.
//
// Thread   Any; no state.
// Errors   malformed(): a parameter without '=', an empty name or value, a string without an end.
// Memory   None; unquoted() writes to the caller's.
#pragma once

#include <optional>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

struct FieldParameter {
    ByteView name;
    ByteView value;  // as it came, without the quotes around it
    bool quoted = false;
};

class FieldParameters {
  public:
    explicit FieldParameters(ByteView value);

    // What stands before the first ';', trimmed.
    ByteView essence() const { return essence_; }
    // nullopt: no more, or malformed().
    std::optional<FieldParameter> next();
    bool malformed() const { return malformed_; }

  private:
    bool take_value(FieldParameter& parameter);

    ByteView essence_;
    ByteView rest_;
    bool malformed_ = false;
};

// The value that a parameter stands for, appended to `out`. False, and nothing appended: no room.
bool append_unquoted(BoundedText& out, const FieldParameter& parameter);

}  // namespace tiderace::http::wire
