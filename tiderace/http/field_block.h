// Internal. FieldBlock: response fields that many answers have in common, checked and rendered
// once.
//
// Sending it is one copy, in HTTP/1 and in HTTP/2.
//
// Owner    Its renderer (a cached file); outlives the respond() of each answer that has it.
// Thread   The loop's.
// Errors   A value that cannot be sent (CR, LF, NUL) makes add() return false and the block empty:
//          use the fields one by one then, and the answer becomes a 500.
#pragma once

#include <string>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/field_name.h"

namespace tiderace::http {

class FieldBlock {
  public:
    struct Entry {
        wire::FieldName id;
        std::string value;
    };

    bool add(wire::FieldName name, ByteView value);

    bool empty() const { return entries_.empty(); }
    // "ETag: …\r\nVary: …\r\n"
    ByteView lines() const { return lines_; }
    // The same as a piece of a field block of HTTP/2, without tables; made at the first call.
    ByteView hpack() const;
    const std::vector<Entry>& entries() const { return entries_; }
    const Entry* find(wire::FieldName name) const;
    void clear();

  private:
    std::vector<Entry> entries_;
    std::string lines_;
    mutable std::string hpack_;
};

}  // namespace tiderace::http
