// wire_oracle: what our codecs make of requests, told in lines, for comparison with another parser.
//
// stdin: requests, each after its length in four bytes, little-endian. stdout, one line for each:
//   refused STATUS NAME
//   incomplete                              more bytes are needed
//   request METHOD TARGET MINOR FIELDS BODY TRAILERS USED
// METHOD, TARGET, names, values and BODY are hexadecimal; FIELDS and TRAILERS are name:value with
// commas between; "-" is an empty piece; USED counts the bytes of the request.
#include <cstdint>
#include <iostream>
#include <iterator>
#include <string>

#include "tiderace/http/wire/chunked.h"
#include "tiderace/http/wire/framing.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http::wire {
namespace {

std::string hex(ByteView bytes) {
    constexpr ByteView digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += digits[static_cast<unsigned char>(c) >> 4];
        text += digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

void append_field(std::string& list, const Field& field) {
    if (!list.empty()) list += ',';
    list += hex(field.name) + ':' + hex(field.value);
}

struct Body {
    std::string data;
    std::string trailers;
    std::size_t used = 0;
    bool complete = false;
    Refusal refusal = Refusal::none;
};

Body read_chunked(ByteView bytes) {
    Body body;
    ChunkedDecoder decoder;
    while (true) {
        const ChunkedDecoder::Step step = decoder.step(bytes.substr(body.used));
        body.used += step.used;
        body.refusal = step.refusal;
        body.complete = step.status == ChunkedDecoder::Status::done;
        if (step.status == ChunkedDecoder::Status::data) {
            body.data += step.data;
        } else if (step.status == ChunkedDecoder::Status::trailer) {
            append_field(body.trailers, step.trailer);
        } else {
            return body;
        }
    }
}

Body read_body(const RequestFraming& framing, ByteView bytes) {
    if (framing.body == RequestFraming::Body::chunked) return read_chunked(bytes);
    Body body;
    body.complete = bytes.size() >= framing.length;
    body.data = bytes.substr(0, framing.length);
    body.used = body.data.size();
    return body;
}

std::string refused(Refusal refusal) {
    return "refused " + std::to_string(status_of(refusal)) + ' ' + std::string(to_string(refusal));
}

std::string describe(ByteView bytes) {
    RequestHead head;
    const HeadParse parse = parse_request_head(bytes, {}, head);
    if (parse.status == ParseStatus::need_more) return "incomplete";
    if (parse.status == ParseStatus::refused) return refused(parse.refusal);
    const RequestFraming framing = frame_request(head);
    if (framing.refusal != Refusal::none) return refused(framing.refusal);
    const Body body = read_body(framing, bytes.substr(parse.bytes));
    if (body.refusal != Refusal::none) return refused(body.refusal);
    if (!body.complete) return "incomplete";
    std::string fields;
    for (const Field& field : head.fields()) append_field(fields, field);
    return "request " + hex(head.method_text()) + ' ' + hex(head.target()) + ' ' +
           std::to_string(head.version_minor()) + ' ' + or_dash(fields) + ' ' +
           or_dash(hex(body.data)) + ' ' + or_dash(body.trailers) + ' ' +
           std::to_string(parse.bytes + body.used);
}

int run() {
    const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
    ByteView rest = input;
    while (rest.size() >= 4) {
        std::size_t size = 0;
        for (int byte = 3; byte >= 0; --byte) {
            size = size << 8 | static_cast<unsigned char>(rest[static_cast<std::size_t>(byte)]);
        }
        rest.remove_prefix(4);
        if (size > rest.size()) return 1;
        std::cout << describe(rest.substr(0, size)) << '\n';
        rest.remove_prefix(size);
    }
    return rest.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tiderace::http::wire

int main() {
    return tiderace::http::wire::run();
}
