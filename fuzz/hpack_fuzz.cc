// HPACK: a connection of field blocks. Whatever the bytes, limits hold; a list that is too large or
// a request that is refused leaves the table as a patient reader does; decoded fields pass
// through an encoder unchanged.
//
// Input: a byte that chooses limits, then blocks, each after its length in one byte.
#include <algorithm>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"
#include "tiderace/http/wire/h2/huffman.h"
#include "tiderace/http/wire/h2/request.h"

namespace tiderace::http::wire {
namespace {

using Status = HpackDecoder::Status;

constexpr std::size_t list_bytes_max = 16'384;

struct Text {
    std::string name;
    std::string value;
    bool operator==(const Text&) const = default;
};

struct List {
    Status status = Status::end;
    std::vector<Text> fields;
    bool good = true;  // of each, HTTP has nothing to say
};

List read_list(HpackDecoder& decoder, ByteView bytes, std::size_t bytes_max) {
    // Allocated with exact sizes, so that ASan detects any access beyond them.
    const std::string block(bytes);
    std::vector<char> arena(decoder.arena_bytes(bytes_max));
    List list;
    std::size_t sum = 0;
    HpackDecoder::Block fields = decoder.read(block, arena, bytes_max);
    while (fields.next() == Status::field) {
        const HpackField& field = fields.field();
        sum += field.name.size() + field.value.size() + hpack_field_overhead;
        TR_CHECK(sum == fields.list_bytes() && sum <= bytes_max);
        TR_CHECK(fields.arena_used() <= arena.size());
        const HpackField judged = judge_hpack_field(field.name, field.value);
        TR_CHECK(judged.refusal == field.refusal && judged.id == field.id);
        TR_CHECK(judged.pseudo == field.pseudo);
        list.good = list.good && field.refusal == Refusal::none;
        list.fields.push_back({std::string(field.name), std::string(field.value)});
    }
    list.status = fields.status();
    TR_CHECK(decoder.table().bytes() <= decoder.table().bytes_max());
    return list;
}

void expect_same_tables(const HpackTable& a, const HpackTable& b) {
    TR_CHECK(a.size() == b.size() && a.bytes() == b.bytes() && a.bytes_max() == b.bytes_max());
    for (std::uint32_t i = 0; i < a.size(); ++i) {
        TR_CHECK(a.at(i).name == b.at(i).name && a.at(i).value == b.at(i).value);
        TR_CHECK(a.at(i).refusal == b.at(i).refusal);
    }
}

// Five readers of the same connection.
class Readers {
  public:
    explicit Readers(std::uint32_t table_bytes)
        : patient_(table_bytes),
          loop_(table_bytes),
          hasty_(table_bytes),
          server_(table_bytes),
          trailers_(table_bytes) {}

    // False when the connection ends.
    bool read(ByteView block) {
        const List list = read_list(patient_, block, list_bytes_max);
        read_in_loop(block, list);
        const List head = read_list(hasty_, block, 100);
        const H2RequestParse parse = read_request(block);
        read_trailers(block);
        if (list.status == Status::corrupt) {
            // A parser that stopped storing fields may have skipped a corrupt text.
            TR_CHECK(parse.status == H2RequestParse::Status::compression_error);
            return false;
        }
        TR_CHECK(head.status != Status::corrupt);
        expect_same_tables(patient_.table(), loop_.table());
        expect_same_tables(patient_.table(), hasty_.table());
        expect_same_tables(patient_.table(), server_.table());
        expect_same_tables(patient_.table(), trailers_.table());
        if (parse.status == H2RequestParse::Status::complete) {
            TR_CHECK(list.good && list.status == Status::end);
        }
        if (list.good && list.status == Status::end) write_and_read(list);
        return list.status != Status::corrupt;
    }

  private:
    void read_in_loop(ByteView block, const List& expected) {
        std::vector<char> arena(loop_.arena_bytes(list_bytes_max));
        HpackDecoder::Block fields = loop_.read(block, arena, list_bytes_max);
        std::vector<Text> got;
        const Status status = fields.for_each([&](const HpackField& field) {
            got.push_back({std::string(field.name), std::string(field.value)});
        });
        TR_CHECK(status == expected.status && got == expected.fields);
    }

    H2RequestParse read_request(ByteView bytes) {
        const std::string block(bytes);
        const H2RequestLimits limits{.list_bytes_max = list_bytes_max, .extended_connect = true};
        std::vector<char> arena(h2_arena_bytes(limits, server_));
        const H2RequestParse parse = parse_h2_request(server_, block, arena, limits, head_);
        TR_CHECK(parse.arena_used <= arena.size());
        if (parse.status != H2RequestParse::Status::complete) return parse;
        TR_CHECK(is_token(head_.method_text()) && !head_.target().empty());
        TR_CHECK(head_.has(FieldName::host) && !head_.repeated(FieldName::host));
        TR_CHECK(!head_.has(FieldName::connection) && !head_.has(FieldName::transfer_encoding));
        TR_CHECK(!head_.repeated(FieldName::cookie));
        for (const Field& field : head_.fields()) {
            TR_CHECK(is_token(field.name) && is_field_value(field.value));
            TR_CHECK(field.value == trim_ows(field.value));
        }
        return parse;
    }

    void read_trailers(ByteView bytes) {
        const H2RequestLimits limits{.list_bytes_max = list_bytes_max};
        std::vector<char> arena(h2_arena_bytes(limits, trailers_));
        parse_h2_trailers(trailers_, bytes, arena, limits, head_);
    }

    void write_and_read(const List& list) {
        std::vector<char> out(2 * list_bytes_max);
        HpackEncoder::Block block(encoder_, out);
        std::vector<Text> sent;
        for (const Text& field : list.fields) {
            if (field.name.starts_with(':') || field.name.size() > 256) continue;
            TR_CHECK(block.field(field.name, field.value));
            sent.push_back(field);
        }
        const List got = read_list(peer_, block.finish(), 2 * list_bytes_max);
        TR_CHECK(got.status == Status::end && got.fields == sent);
        expect_same_tables(encoder_.table(), peer_.table());
    }

    HpackDecoder patient_;
    HpackDecoder loop_;
    HpackDecoder hasty_;
    HpackDecoder server_;
    HpackDecoder trailers_;
    RequestHead head_;
    HpackEncoder encoder_;
    HpackDecoder peer_;
};

void check_huffman(ByteView bytes) {
    std::string code(huffman::encoded_bytes(bytes), '\0');
    huffman::encode(bytes, code);
    std::string text(bytes.size(), '\0');
    const huffman::Decoded back = huffman::decode(code, text);
    TR_CHECK(back.status == huffman::Decoded::Status::complete && text == bytes);
    std::string large(bytes.size() * 8 / 5 + 1, '\0');
    const huffman::Decoded decoded = huffman::decode(bytes, large);
    TR_CHECK(decoded.status != huffman::Decoded::Status::no_room);
    if (decoded.status != huffman::Decoded::Status::complete) return;
    large.resize(decoded.bytes);
    std::string again(huffman::encoded_bytes(large), '\0');
    huffman::encode(large, again);
    TR_CHECK(again == bytes);  // there is one code for each text
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 2048));
    if (bytes.empty()) return 0;
    check_huffman(bytes);
    Readers readers(static_cast<unsigned char>(bytes.front()) * 16U);
    bytes.remove_prefix(1);
    while (!bytes.empty()) {
        const std::size_t length = static_cast<unsigned char>(bytes.front());
        if (!readers.read(bytes.substr(1, length))) return 0;
        bytes.remove_prefix(std::min(bytes.size(), length + 1));
    }
    return 0;
}

}  // namespace tiderace::http::wire
