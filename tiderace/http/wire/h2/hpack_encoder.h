// HpackEncoder: the fields of an answer, or of a request, to a field block (RFC 7541).
//
//   HpackEncoder::Block block(encoder, out);
//   block.status(200);
//   block.field(FieldName::server, "tiderace");
//   block.rendered(file.fields);                  // made once by append_hpack_field
//   block.number(FieldName::content_length, n);
//   ByteView bytes = block.finish();              // "" after a fault: see fault()
//
// How a field is sent follows from its name. What is the same on most answers (server, date,
// content-type, vary, cache-control …) goes into the table and is one byte from then on. What
// changes (content-length, etag, last-modified, location …) is sent as text. A name that we do not
// know goes into the table when its value is seen for the second time. Set-Cookie and the like are
// marked as never indexed. Space round a value is not sent.
//
// Owner    The connection: one for what we send. A Block borrows it and `out`; one Block at a time.
// Thread   One at a time.
// Errors   As ResponseHeadWriter: a bad value makes the call return false, the fault stays, and
//          finish() is empty. A block that was not finished never happened: if it put something in
//          the table, the next one begins by clearing the peer's, so both stay in step.
// Limits   The table: the smaller of the peer's SETTINGS_HEADER_TABLE_SIZE and table_bytes_max.
// Memory   The table, and 64 bytes. Never writes past `out`.
// Keywords: HPACK, header compression
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/h2/hpack_field.h"
#include "tiderace/http/wire/h2/hpack_table.h"

namespace tiderace::http::wire {

class HpackEncoder {
  public:
    enum class Fault : std::uint8_t {
        none,
        overflow,    // the span is full
        bad_status,  // not 100 to 999
        bad_name,    // not a token, or of more than 256 bytes
        bad_value    // a control character other than HT
    };

    class Block;

    static constexpr std::uint32_t default_table_bytes = 4096;  // RFC 9113, 6.5.2

    explicit HpackEncoder(std::uint32_t table_bytes_max = default_table_bytes);

    // The peer's SETTINGS_HEADER_TABLE_SIZE; 4096 until it says otherwise. The next block tells the
    // peer of the change.
    void set_peer_table_bytes_max(std::uint32_t bytes);

    const HpackTable& table() const { return table_; }

  private:
    static constexpr std::size_t seen_places = 16;

    void set_table_bytes(std::uint32_t bytes);
    void start_over();
    bool seen_before(ByteView name, ByteView value);

    HpackTable table_;
    std::uint32_t table_bytes_max_;
    std::uint32_t smallest_;  // size since the last block, which the peer must hear of first
    bool size_changed_ = false;
    std::array<std::uint32_t, seen_places> seen_{};  // hashes of fields that were sent as text
};

class HpackEncoder::Block {
  public:
    Block(HpackEncoder& encoder, std::span<char> out);
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block();

    // ":status", first of all; not for trailers.
    bool status(int code);
    // For a request, before its other fields: authority, method, path and scheme. The caller made
    // sure that the value may stand there.
    bool pseudo(PseudoField field, ByteView value);
    // `name` is not FieldName::other: that one has no spelling.
    bool field(FieldName name, ByteView value);
    // In any case; sent in lower case.
    bool field(ByteView name, ByteView value);
    bool number(FieldName name, std::uint64_t value);
    // Fields made by append_hpack_field: copied, not parsed.
    bool rendered(ByteView fields);

    Fault fault() const { return fault_; }
    // The block; "" after a fault.
    ByteView finish();

  private:
    bool fail(Fault fault);
    bool indexed(std::uint32_t index);
    struct Spelling {
        bool insert = false;
        bool secret = false;
    };
    bool text(const HpackField& field, std::uint32_t name_index, Spelling how);

    HpackEncoder& encoder_;
    std::span<char> out_;
    std::uint64_t insertions_before_;
    std::size_t size_ = 0;
    Fault fault_ = Fault::none;
    bool finished_ = false;
};

// Appends one field in a form that stands by itself, with no table and in the shorter spelling.
// Many of them make what HpackEncoder::Block::rendered takes, on any connection. Names in any case.
// False, and nothing is appended, when the field cannot be sent.
bool append_hpack_field(std::string& fields, FieldName name, ByteView value);
bool append_hpack_field(std::string& fields, ByteView name, ByteView value);

}  // namespace tiderace::http::wire
