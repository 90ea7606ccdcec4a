// The first byte picks a file's size, the rest is a Range field. Whatever it says, what is sent
// lies inside the file, is not more than it, and its multipart frame is as long as it says.
#include <array>
#include <cstdint>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/range.h"

namespace tiderace::http::wire {
namespace {

constexpr std::array<std::uint64_t, 8> sizes = {0,    1,          10,         1000,
                                                1024, 1ull << 31, 1ull << 63, ~std::uint64_t{0}};

void check_range(ByteView value, std::uint64_t size) {
    const RangeResult result = parse_range(value, size);
    const bool satisfiable = result.kind == RangeResult::Kind::satisfiable;
    TR_CHECK(!satisfiable || !result.ranges.empty());
    TR_CHECK(result.ranges.size() <= ranges_max);
    if (!satisfiable) return;
    std::uint64_t left = size;
    for (const ByteRange& range : result.ranges) {
        TR_CHECK(range.first <= range.last && range.last < size);
        TR_CHECK(range.bytes() <= left);
        left -= range.bytes();
        TR_CHECK(format_content_range(range, size).size() > 0);
    }
    if (size > 1ull << 62) return;  // no file is that large: its frame may overflow
    const MultipartRanges parts(result.ranges, size, "text/plain", "boundary");
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i <= result.ranges.size(); ++i) bytes += parts.piece(i).size();
    TR_CHECK(parts.content_length() == bytes + (size - left));
}

}  // namespace
}  // namespace tiderace::http::wire

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    const tiderace::ByteView value(reinterpret_cast<const char*>(data) + 1, size - 1);
    tiderace::http::wire::check_range(value, tiderace::http::wire::sizes[data[0] & 7]);
    return 0;
}
