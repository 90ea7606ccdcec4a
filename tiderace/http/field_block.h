// FieldBlock: response fields that many answers have in common, checked and rendered once.
//
// What HTTP/1 sends of it is one copy; other versions of HTTP walk its fields.
//
// Owner    Whoever renders it (a cached file); outlives the respond() of each answer that has it.
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
    const std::vector<Entry>& entries() const { return entries_; }
    const Entry* find(wire::FieldName name) const;
    void clear();

  private:
    std::vector<Entry> entries_;
    std::string lines_;
};

}  // namespace tiderace::http
