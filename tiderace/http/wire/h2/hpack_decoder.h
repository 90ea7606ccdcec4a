// Internal. HpackDecoder: field blocks to fields (RFC 7541).
//
//   HpackDecoder::Block fields = decoder.read(block, arena, list_bytes_max);
//   while (fields.next() == HpackDecoder::Status::field) use(fields.field());
//   switch (fields.status()) …
//
// A block must be read to its end, wanted or not: the table of every later block depends on it.
//
// Owner    The connection: one for what the peer sends. A Block borrows the decoder, the block and
//          the arena.
// Thread   One at a time.
// Errors   corrupt: the connection ends with COMPRESSION_ERROR. too_large: the list passed its
//          maximum; the rest was read only for the table, the fields given before are void, and the
//          request is answered with 431.
// Limits   list_bytes_max (names, values and 32 for each field, RFC 9113 6.5.2) is checked before
//          anything is written, so a short block of references cannot grow. The table's size is
//          bounded by what we announced.
// Memory   The table. Fields are views into the arena or into constants: they live as long as the
//          arena, whatever happens to the block and the table.
// Keywords: HPACK, header compression, HPACK bomb, header list size, 431
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/h2/hpack_field.h"
#include "tiderace/http/wire/h2/hpack_static_table.h"
#include "tiderace/http/wire/h2/hpack_table.h"
#include "tiderace/http/wire/h2/huffman.h"

namespace tiderace::http::wire {

class HpackDecoder {
  public:
    enum class Status : std::uint8_t { field, end, too_large, corrupt };

    class Block;

    explicit HpackDecoder(std::uint32_t table_bytes_max = 4096)
        : table_(table_bytes_max), table_bytes_max_(table_bytes_max) {}

    // `arena` is not smaller than arena_bytes(list_bytes_max).
    Block read(ByteView block, std::span<char> arena, std::size_t list_bytes_max);
    std::size_t arena_bytes(std::size_t list_bytes_max) const;

    const HpackTable& table() const { return table_; }

  private:
    HpackTable table_;
    std::uint32_t table_bytes_max_;
};

class HpackDecoder::Block {
  public:
    // What comes next; everything but `field` is the last answer, and stays it.
    Status next();
    // The same in a loop, with what is common (a field by its index) in line: take(field) for each,
    // then the last answer. `field` lives as long as the call, its views as long as the arena.
    template <typename Take>
    Status for_each(Take&& take);
    Status status() const { return status_; }
    // After `field`.
    const HpackField& field() const { return field_; }
    // What of the arena the fields given so far take, from its start; the rest is the caller's.
    std::size_t arena_used() const { return used_; }
    // Names, values and 32 for each field so far.
    std::size_t list_bytes() const { return list_bytes_; }

  private:
    friend class HpackDecoder;
    enum class Step : std::uint8_t { given, passed_over, corrupt };
    struct Text {
        ByteView coded;
        bool huffman = false;
    };
    struct Literal {
        std::uint32_t index = 0;  // of `named`; 0: the name is a text
        HpackField named;
        Text name;
        Text value;
        bool never_indexed = false;
    };

    Block(HpackDecoder& decoder, ByteView block, std::span<char> arena, std::size_t list_bytes_max);

    bool begin();
    Step read_size_updates();
    Step read_indexed();
    Step read_literal(unsigned prefix, bool insert, bool never_indexed);
    Step insert_only(const Literal& literal);
    bool read_integer(unsigned prefix, std::uint32_t& value);
    bool read_text(Text& text);
    bool find(std::uint32_t index, HpackField& field) const;
    std::uint32_t next_short_index() const;
    bool count(std::size_t name_bytes, std::size_t value_bytes);
    huffman::Decoded::Status expand(const Literal& literal, std::size_t room_bytes);
    huffman::Decoded::Status keep(const Text& text, std::size_t room_bytes, ByteView& kept);
    ByteView copy_from_table(ByteView text);

    HpackDecoder& decoder_;
    const char* at_;
    const char* end_;
    std::span<char> arena_;
    std::size_t used_ = 0;
    std::size_t list_bytes_ = 0;
    std::size_t list_bytes_max_;
    HpackField field_;
    bool begun_ = false;
    bool too_large_ = false;
    Status status_ = Status::field;
};

// An index of one byte that names an entry, when that is what comes next; else 0.
inline std::uint32_t HpackDecoder::Block::next_short_index() const {
    if (at_ == end_) return 0;
    const std::uint32_t first = static_cast<unsigned char>(*at_);
    const std::uint32_t index = first & 0x7fU;
    const bool there = index <= hpack_static::entries + decoder_.table_.size() && index != 0x7f;
    return (first & 0x80U) != 0 && there ? index : 0;
}

// Adds a field to the list. False, and nothing is given any more, when it does not fit.
inline bool HpackDecoder::Block::count(std::size_t name_bytes, std::size_t value_bytes) {
    const std::size_t left = list_bytes_max_ - list_bytes_;
    const std::size_t size = name_bytes + value_bytes + hpack_field_overhead;
    if (too_large_ || size > left) {
        too_large_ = true;
        return false;
    }
    list_bytes_ += size;
    return true;
}

// A text of the table, in whole pieces: they are short, and this is faster than a call. The last
// piece may be read beyond the text, into text_slack, and written beyond it, into what the field's
// 32 bytes of overhead leave of the arena.
inline ByteView HpackDecoder::Block::copy_from_table(ByteView text) {
    constexpr std::size_t piece = HpackTable::text_slack;
    static_assert(piece <= hpack_field_overhead);
    char* const to = arena_.data() + used_;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        std::memcpy(to + at, text.data() + at, piece);
    }
    used_ += text.size();
    return {to, text.size()};
}

template <typename Take>
HpackDecoder::Status HpackDecoder::Block::for_each(Take&& take) {
    if (!begin()) return status_;
    while (true) {
        const std::uint32_t index = next_short_index();
        const std::uint32_t number = index - hpack_static::entries - 1;
        if (index == 0) {
            if (next() != Status::field) return status_;
            take(field_);
        } else if (index <= hpack_static::entries) {
            const HpackField& field = hpack_static::entry(index);
            ++at_;
            if (count(field.name.size(), field.value.size())) take(field);
        } else {
            HpackField field = decoder_.table_.at(number);
            ++at_;
            if (!count(field.name.size(), field.value.size())) continue;
            if (!field.has_constant_name()) field.name = copy_from_table(field.name);
            field.value = copy_from_table(field.value);
            take(field);
        }
    }
}

}  // namespace tiderace::http::wire
