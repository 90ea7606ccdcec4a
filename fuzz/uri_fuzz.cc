// Any bytes as a raw path and as a query: a canonical path is canonical, and a query always fits in
// as many bytes as it has.
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/percent.h"
#include "tiderace/http/wire/query.h"

namespace tiderace::http::wire {
namespace {

void check_path(ByteView raw) {
    std::vector<char> scratch(raw.size());
    const PathResult result = canonicalize(raw, scratch);
    if (result.fault != PathFault::none) {
        TR_CHECK(result.path.empty());
        return;
    }
    const std::string seen = std::string(result.path) + "/";
    TR_CHECK(result.path.starts_with('/') && result.path.size() <= raw.size());
    TR_CHECK(result.path.find("//") == ByteView::npos);
    TR_CHECK(seen.find("/./") == std::string::npos && seen.find("/../") == std::string::npos);
    TR_CHECK(result.path.find('\0') == ByteView::npos);
    TR_CHECK(result.rewritten == (result.path != raw));
    TR_CHECK(result.trailing_slash == result.path.ends_with('/'));
    TR_CHECK(result.hidden == has_hidden_segment(result.path));

    std::vector<char> memory(result.path.size() * 3);
    BoundedText link(memory);
    TR_CHECK(append_path(link, result.path));
    std::vector<char> again(link.size());
    TR_CHECK(canonicalize(link.view(), again).path == result.path);
}

void check_query(ByteView query) {
    std::vector<char> storage(query.size());
    QueryPairs pairs(query, storage);
    std::size_t bytes = 0;
    while (const auto pair = pairs.next()) bytes += pair->name.size() + pair->value.size();
    TR_CHECK(!pairs.overflowed() && bytes <= query.size());
}

}  // namespace
}  // namespace tiderace::http::wire

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const tiderace::ByteView text(reinterpret_cast<const char*>(data), size);
    tiderace::http::wire::check_path(text);
    tiderace::http::wire::check_query(text);
    return 0;
}
