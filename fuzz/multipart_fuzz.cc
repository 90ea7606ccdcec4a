// A multipart form: whole, cut in two and byte by byte come to the same, within what may be held
// back. The first line is the Content-Type.
#include <algorithm>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/multipart.h"

namespace tiderace::http::wire {
namespace {

using Event = MultipartReader::Event;
constexpr MultipartLimits limits{.parts_max = 5, .head_bytes_max = 200, .part_bytes_max = 300};

// Up to a fault, whose data before it may come in more pieces or fewer.
std::string read_form(ByteView boundary, ByteView body, std::size_t first, std::size_t piece) {
    MultipartReader reader(boundary, limits);
    std::string held;
    std::string out;
    std::string data;
    for (std::size_t at = 0; at < body.size();) {
        const std::size_t bytes = std::min(at == 0 ? first : piece, body.size() - at);
        held += body.substr(at, bytes);
        at += bytes;
        for (;;) {
            const std::string copy = held;
            const auto step = reader.next(copy);
            TR_CHECK(step.bytes <= copy.size());
            if (step.event == Event::failed) return out + std::string(to_string(reader.fault()));
            if (step.event == Event::data) {
                TR_CHECK(!step.data.empty() && step.data.data() >= copy.data());
                TR_CHECK(step.data.data() + step.data.size() <= copy.data() + step.bytes);
                data += step.data;
                TR_CHECK(data.size() <= limits.part_bytes_max);
            }
            if (step.event == Event::part) {
                out += "<" + std::string(reader.name()) + ">";
                out += std::string(reader.filename().value_or("")) + "/";
                out += std::string(reader.content_type()) + "/";
            }
            if (step.event == Event::part_end) {
                out += data + ".";
                data.clear();
            }
            held.erase(0, step.bytes);
            const bool over = step.event == Event::end && held.empty();
            if (step.event == Event::need_more || over) break;
        }
        TR_CHECK(held.size() <= reader.held_bytes_max());
    }
    TR_CHECK(reader.parts() <= limits.parts_max);
    reader.finish();
    return out + std::string(to_string(reader.fault()));
}

}  // namespace
}  // namespace tiderace::http::wire

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    namespace wire = tiderace::http::wire;
    const tiderace::ByteView bytes(reinterpret_cast<const char*>(data), size);
    const std::size_t line = std::min(bytes.find('\n'), size);
    const auto boundary = wire::multipart_boundary(bytes.substr(0, line));
    if (!boundary) return 0;
    const tiderace::ByteView body = bytes.substr(std::min(line + 1, size));
    const std::string whole = wire::read_form(*boundary, body, size, size);
    TR_CHECK(wire::read_form(*boundary, body, 1, 1) == whole);
    TR_CHECK(wire::read_form(*boundary, body, std::max<std::size_t>(body.size() / 2, 1), size) ==
             whole);
    TR_CHECK(wire::read_form(*boundary, body, 7, 3) == whole);
    return 0;
}
