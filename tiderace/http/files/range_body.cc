#include "tiderace/http/files/range_body.h"

#include <array>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/base/random.h"

namespace tiderace::http::files {
namespace {

using wire::FieldName;

// All part heads of one answer, in a row: one allocation, kept until the last is sent.
class PartHeads final : public core::Shared {
  public:
    std::string text;
};

core::SendQueue make_parts(const wire::MultipartRanges& frame, const wire::RangeSet& ranges,
                           CachedFile& file) {
    const auto heads = core::make_ref<PartHeads>();
    std::array<std::size_t, wire::ranges_max + 1> ends;
    for (std::size_t i = 0; i <= ranges.size(); ++i) {
        const auto piece = frame.piece(i);
        heads->text += piece.view();
        ends[i] = heads->text.size();
    }
    core::SendQueue queue;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= ranges.size(); ++i) {
        queue.append_shared(ByteView(heads->text).substr(begin, ends[i] - begin), heads);
        begin = ends[i];
        if (i < ranges.size()) file.append_to(queue, ranges[i].first, ranges[i].bytes());
    }
    // The length was announced already; a wrong one would break the connection's framing.
    TR_CHECK(queue.bytes() == frame.content_length(), "a multipart length that does not add up");
    return queue;
}

}  // namespace

core::SendQueue make_range_body(Response& response, const wire::RangeSet& ranges, CachedFile& file,
                                ByteView content_type) {
    response.set_status(206);
    if (ranges.size() == 1) {
        const auto text = wire::format_content_range(ranges[0], file.size());
        response.add(FieldName::content_range, response.keep(text.view()));
        response.add(FieldName::content_type, content_type);
        core::SendQueue queue;
        file.append_to(queue, ranges[0].first, ranges[0].bytes());
        return queue;
    }
    // Random, so that a file cannot contain it on purpose.
    const std::string boundary = random_name(16);
    // A part's head has a bound, so that its length can be computed before; a longer type is left
    // out.
    const ByteView part_type =
        content_type.size() <= wire::MultipartRanges::type_bytes_max ? content_type : ByteView{};
    const wire::MultipartRanges frame(ranges, file.size(), part_type, boundary);
    response.add(FieldName::content_type,
                 response.keep("multipart/byteranges; boundary=" + boundary));
    return make_parts(frame, ranges, file);
}

}  // namespace tiderace::http::files
