// A client reads a server's bytes: the same responses and the same fault however the bytes were
// cut; no more of a body than its length said; nothing behind a fault.
#include <algorithm>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/response_reader.h"

namespace tiderace::http::wire {
namespace {

using Status = ResponseReader::Status;

constexpr ResponseLimits limits{.head_bytes_max = 512, .interim_max = 3};

// All that was read, in a form that does not depend on the cuts.
std::string read_in_pieces(ByteView bytes, std::size_t first, std::size_t rest, bool to_head) {
    ResponseReader reader(limits);
    reader.next(to_head);
    std::string told;
    std::size_t used = 0;
    std::size_t end = std::min(first, bytes.size());
    std::uint64_t body = 0;
    while (true) {
        const std::string piece(bytes.substr(used, end - used));  // so that ASan sees its end
        const ResponseReader::Step step = reader.step(piece);
        TR_CHECK(step.used <= piece.size());
        used += step.used;
        const ResponseStart& start = reader.start();
        switch (step.status) {
            case Status::head:
                TR_CHECK(start.status >= 100 && start.status <= 999);
                told += std::to_string(start.status) + (start.keep_alive ? "+" : "-") +
                        static_cast<char>('0' + static_cast<int>(start.body));
                body = 0;
                break;
            case Status::data:
                TR_CHECK(!step.data.empty() && step.data.size() <= step.used);
                body += step.data.size();
                TR_CHECK(start.body != ResponseStart::Body::none);
                TR_CHECK(start.body != ResponseStart::Body::length || body <= start.length);
                told += step.data;
                break;
            case Status::trailer:
                TR_CHECK(start.body == ResponseStart::Body::chunked && !step.trailer.name.empty());
                told += '<' + std::string(step.trailer.name) + '=' +
                        std::string(step.trailer.value) + '>';
                break;
            case Status::done:
                TR_CHECK(start.body != ResponseStart::Body::length || body == start.length);
                told += ';';
                reader.next(to_head);
                break;
            case Status::refused:
                TR_CHECK(reader.fault() != ResponseFault::none);
                TR_CHECK(reader.step("HTTP/1.1 200\r\n\r\n").status == Status::refused);
                TR_CHECK(!reader.end_of_stream());
                return told + '!' + std::string(to_string(reader.fault()));
            case Status::need_more:
                if (end < bytes.size()) {
                    end = std::min(end + rest, bytes.size());
                    break;
                }
                told += reader.end_of_stream() ? "|" : "...";
                return told;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 2048));
    if (bytes.empty()) return 0;
    for (const bool to_head : {false, true}) {
        const std::string whole = read_in_pieces(bytes, bytes.size(), 1, to_head);
        TR_CHECK(read_in_pieces(bytes, 1, 1, to_head) == whole);
        TR_CHECK(read_in_pieces(bytes, 7, 7, to_head) == whole);
        for (std::size_t cut = 1; cut < bytes.size(); cut += 1 + bytes.size() / 32) {
            TR_CHECK(read_in_pieces(bytes, cut, bytes.size(), to_head) == whole);
        }
    }
    return 0;
}

}  // namespace tiderace::http::wire
