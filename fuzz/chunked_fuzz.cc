// The chunked decoder: whole, cut in two and byte by byte come to the same; the data is exactly
// what a second, simple reading of the accepted bytes finds.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/chunked.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

using Status = ChunkedDecoder::Status;

constexpr ChunkLimits limits{.extension_bytes_max = 64, .trailer_bytes_max = 128};

struct Decoded {
    Status status = Status::need_more;
    Refusal refusal = Refusal::none;
    std::size_t used = 0;
    std::string data;
    std::string trailers;
    bool operator==(const Decoded&) const = default;
};

// Feeds bytes[0, end), of which `decoded.used` were used before.
void feed(ChunkedDecoder& decoder, ByteView bytes, std::size_t end, Decoded& decoded) {
    while (true) {
        const std::string piece(bytes.substr(decoded.used, end - decoded.used));
        const ChunkedDecoder::Step step = decoder.step(piece, limits);
        TR_CHECK(step.used <= piece.size());
        TR_CHECK((step.status == Status::refused) == (step.refusal != Refusal::none));
        decoded.used += step.used;
        decoded.status = step.status;
        decoded.refusal = step.refusal;
        if (step.status == Status::data) {
            TR_CHECK(!step.data.empty() && step.data.data() >= piece.data());
            TR_CHECK(step.data.data() + step.data.size() == piece.data() + step.used);
            decoded.data += step.data;
        } else if (step.status == Status::trailer) {
            TR_CHECK(is_token(step.trailer.name) && is_field_value(step.trailer.value));
            TR_CHECK(step.trailer.id != FieldName::content_length);
            TR_CHECK(step.trailer.id != FieldName::transfer_encoding);
            decoded.trailers += std::string(step.trailer.name) + ':';
            decoded.trailers += std::string(step.trailer.value) + '\n';
        } else {
            return;
        }
    }
}

Decoded decode(ByteView bytes, std::size_t piece_bytes) {
    ChunkedDecoder decoder;
    Decoded decoded;
    for (std::size_t end = 0; decoded.status == Status::need_more && end < bytes.size();) {
        end += std::min(piece_bytes, bytes.size() - end);
        feed(decoder, bytes, end, decoded);
    }
    return decoded;
}

Decoded decode_in_two(ByteView bytes, std::size_t cut) {
    ChunkedDecoder decoder;
    Decoded decoded;
    feed(decoder, bytes, cut, decoded);
    if (decoded.status == Status::need_more) feed(decoder, bytes, bytes.size(), decoded);
    return decoded;
}

// Reads a body that was accepted, trusting it: what a naive reader takes for its data.
std::string naive_data(ByteView bytes) {
    std::string data;
    while (true) {
        const std::size_t size =
            std::strtoull(std::string(bytes.substr(0, 17)).c_str(), nullptr, 16);
        if (size == 0) return data;
        bytes.remove_prefix(bytes.find("\r\n") + 2);
        TR_CHECK(bytes.size() > size + 2 && bytes.substr(size, 2) == "\r\n");
        data += bytes.substr(0, size);
        bytes.remove_prefix(size + 2);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 2048));
    if (bytes.empty()) return 0;
    const Decoded whole = decode(bytes, bytes.size());
    TR_CHECK(whole.data.size() <= bytes.size());
    TR_CHECK(whole.trailers.size() <= limits.trailer_bytes_max);
    if (whole.status == Status::done) {
        TR_CHECK(bytes.substr(0, whole.used).ends_with("\r\n"));
        TR_CHECK(naive_data(bytes.substr(0, whole.used)) == whole.data);
    }
    TR_CHECK(decode(bytes, 1) == whole);
    TR_CHECK(decode(bytes, 7) == whole);
    for (std::size_t cut = 0; cut <= bytes.size(); cut += 1 + bytes.size() / 64) {
        TR_CHECK(decode_in_two(bytes, cut) == whole);
    }
    return 0;
}

}  // namespace tiderace::http::wire
