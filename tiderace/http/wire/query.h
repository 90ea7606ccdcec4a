// Internal. The pairs of a query or of an urlencoded form ("q=a+b&page=2"), decoded one after
// another.
//
//   std::array<char, 1024> storage;
//   QueryPairs pairs(target.query, storage);
//   while (auto pair = pairs.next()) use(pair->name, pair->value);
//
// '+' is a space and an escape is its byte. A stray '%' stays as it is, as in browsers
// ("100%" is "100%"). Empty pieces ("a&&b") are skipped; the same name may occur again.
//
// Owner    The storage is the caller's and must outlive the pairs: each is a view into it, or into
//          the query where nothing had to be decoded. Both hold any byte, NUL too.
// Thread   One at a time.
// Errors   A pair that does not fit in what is left of the storage ends the iteration:
//          overflowed().
// Memory   The storage; as many bytes as the query has are always enough.
// Keywords: query string, urlencoded
#pragma once

#include <optional>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

struct QueryPair {
    ByteView name;
    ByteView value;
    bool has_value = false;  // there was a '='
};

class QueryPairs {
  public:
    QueryPairs(ByteView query, std::span<char> storage) : rest_(query), decoded_(storage) {}

    std::optional<QueryPair> next();
    bool overflowed() const { return overflowed_; }

  private:
    std::optional<ByteView> decode(ByteView text);

    ByteView rest_;
    BoundedText decoded_;
    bool overflowed_ = false;
};

// Appends "name=value" as QueryPairs reads it, behind a '&' unless it is the first. False, and
// nothing appended: no room.
bool append_query_pair(BoundedText& out, ByteView name, ByteView value);

}  // namespace tiderace::http::wire
