#include "tiderace/http/wire/h2/hpack_decoder.h"

#include <algorithm>
#include <cstring>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/hpack_integer.h"
#include "tiderace/http/wire/h2/hpack_static_table.h"

namespace tiderace::http::wire {
namespace {

// What the first byte of a representation says (RFC 7541, section 6).
constexpr unsigned indexed_bit = 0x80;
constexpr unsigned insert_bit = 0x40;
constexpr unsigned size_update_bit = 0x20;
constexpr unsigned never_indexed_bit = 0x10;

constexpr unsigned indexed_prefix = 7;
constexpr unsigned insert_prefix = 6;
constexpr unsigned size_update_prefix = 5;
constexpr unsigned literal_prefix = 4;

// The smallest size in force since the last block, and the one in force now (RFC 7541, 4.2).
constexpr int size_updates_max = 2;

}  // namespace

using Block = HpackDecoder::Block;
using KeepStatus = huffman::Decoded::Status;

// Room for the largest list, and for the largest entry of a table: insert_only() unpacks that into
// the same arena.
std::size_t HpackDecoder::arena_bytes(std::size_t list_bytes_max) const {
    return std::max<std::size_t>({list_bytes_max, table_.bytes_max(), table_bytes_max_});
}

Block HpackDecoder::read(ByteView block, std::span<char> arena, std::size_t list_bytes_max) {
    TR_CHECK(arena.size() >= arena_bytes(list_bytes_max), "the arena is too small for the list");
    return {*this, block, arena, list_bytes_max};
}

Block::Block(HpackDecoder& decoder, ByteView block, std::span<char> arena,
             std::size_t list_bytes_max)
    : decoder_(decoder),
      at_(block.data()),
      end_(at_ + block.size()),
      arena_(arena),
      list_bytes_max_(list_bytes_max) {}

// What stands before the first field. False when there is nothing to read any more.
bool Block::begin() {
    if (begun_ || status_ != Status::field) return status_ == Status::field;
    begun_ = true;
    if (read_size_updates() == Step::corrupt) status_ = Status::corrupt;
    return status_ == Status::field;
}

HpackDecoder::Status Block::next() {
    if (!begin()) return status_;
    while (at_ != end_) {
        const unsigned first = static_cast<unsigned char>(*at_);
        Step step = Step::corrupt;  // a size update may stand at the beginning only
        if ((first & indexed_bit) != 0) {
            step = read_indexed();
        } else if ((first & insert_bit) != 0) {
            step = read_literal(insert_prefix, true, false);
        } else if ((first & size_update_bit) == 0) {
            step = read_literal(literal_prefix, false, (first & never_indexed_bit) != 0);
        }
        if (step == Step::given) return Status::field;
        if (step == Step::corrupt) return status_ = Status::corrupt;
    }
    return status_ = too_large_ ? Status::too_large : Status::end;
}

auto Block::read_size_updates() -> Step {
    for (int updates = 0; at_ != end_; ++updates) {
        const unsigned first = static_cast<unsigned char>(*at_);
        const bool update =
            (first & (indexed_bit | insert_bit | size_update_bit)) == size_update_bit;
        if (!update) break;
        std::uint32_t bytes = 0;
        if (updates == size_updates_max || !read_integer(size_update_prefix, bytes) ||
            bytes > decoder_.table_bytes_max_) {
            return Step::corrupt;
        }
        decoder_.table_.set_bytes_max(bytes);
    }
    return Step::passed_over;
}

bool Block::read_integer(unsigned prefix, std::uint32_t& value) {
    const HpackInteger integer = hpack_integer::read(at_, end_, prefix);
    at_ = integer.end;
    value = integer.value;
    return integer.valid;
}

bool Block::read_text(Text& text) {
    if (at_ == end_) return false;
    text.huffman = (static_cast<unsigned char>(*at_) & hpack_text::huffman_bit) != 0;
    std::uint32_t bytes = 0;
    // A block is always whole, so a text that goes beyond it is an error, not a reason to wait.
    if (!read_integer(hpack_text::prefix, bytes) || bytes > static_cast<std::size_t>(end_ - at_)) {
        return false;
    }
    text.coded = {at_, bytes};
    at_ += bytes;
    return true;
}

// The entry of either table; false where there is none.
// One numbering for both (RFC 7541, 2.3.3): 1 to 61 the static table, above it the dynamic one, the
// newest first.
bool Block::find(std::uint32_t index, HpackField& field) const {
    if (index == 0) return false;
    if (index <= hpack_static::entries) {
        field = hpack_static::entry(index);
        return true;
    }
    const std::uint32_t number = index - hpack_static::entries - 1;
    if (number >= decoder_.table_.size()) return false;
    field = decoder_.table_.at(number);
    return true;
}

auto Block::read_indexed() -> Step {
    std::uint32_t index = 0;
    if (!read_integer(indexed_prefix, index) || !find(index, field_)) return Step::corrupt;
    // An index of one byte may stand for 4 KiB, so expanded fields count, not their bytes on the
    // wire.
    if (!count(field_.name.size(), field_.value.size())) return Step::passed_over;
    // A later literal of this block may evict the entry, so its texts are copied.
    if (index > hpack_static::entries) {
        if (!field_.has_constant_name()) field_.name = copy_from_table(field_.name);
        field_.value = copy_from_table(field_.value);
    }
    return Step::given;
}

// Writes a text into the arena.
KeepStatus Block::keep(const Text& text, std::size_t room_bytes, ByteView& kept) {
    const std::span<char> room = arena_.subspan(used_, std::min(room_bytes, arena_.size() - used_));
    std::size_t bytes = text.coded.size();
    if (text.huffman) {
        const huffman::Decoded decoded = huffman::decode(text.coded, room);
        if (decoded.status != KeepStatus::complete) return decoded.status;
        bytes = decoded.bytes;
    } else {
        if (bytes > room.size()) return KeepStatus::no_room;
        if (bytes > 0) std::memcpy(room.data(), text.coded.data(), bytes);
    }
    kept = {room.data(), bytes};
    used_ += bytes;
    return KeepStatus::complete;
}

// The literal as a field, its texts in the arena.
KeepStatus Block::expand(const Literal& literal, std::size_t room_bytes) {
    HpackField field = literal.named;
    const bool constant =
        literal.index != 0 && (literal.index <= hpack_static::entries || field.has_constant_name());
    if (!constant) {
        const Text name = literal.index == 0 ? literal.name : Text{field.name, false};
        const KeepStatus kept = keep(name, room_bytes, field.name);
        if (kept != KeepStatus::complete) return kept;
        room_bytes -= field.name.size();
    }
    const KeepStatus kept = keep(literal.value, room_bytes, field.value);
    if (kept != KeepStatus::complete) return kept;
    // A constant name is valid, so only the value has to be judged.
    if (constant) {
        field.refusal = judge_field_value(field.value);
    } else {
        field = judge_hpack_field(field.name, field.value);
    }
    field.never_indexed = literal.never_indexed;
    field_ = field;
    return KeepStatus::complete;
}

auto Block::read_literal(unsigned prefix, bool insert, bool never_indexed) -> Step {
    Literal literal{.never_indexed = never_indexed};
    if (!read_integer(prefix, literal.index)) return Step::corrupt;
    const bool named =
        literal.index == 0 ? read_text(literal.name) : find(literal.index, literal.named);
    if (!named || !read_text(literal.value)) return Step::corrupt;
    if (!too_large_) {
        const KeepStatus kept = expand(literal, list_bytes_max_ - list_bytes_);
        if (kept == KeepStatus::corrupt) return Step::corrupt;
        too_large_ = kept == KeepStatus::no_room;
        if (!too_large_ && count(field_.name.size(), field_.value.size())) {
            if (insert) decoder_.table_.insert(field_);
            return Step::given;
        }
    }
    return insert ? insert_only(literal) : Step::passed_over;
}

// The list is too large, its fields void and their place in the arena free; but the table goes on.
auto Block::insert_only(const Literal& literal) -> Step {
    used_ = 0;
    const KeepStatus kept = expand(literal, arena_.size());
    if (kept == KeepStatus::corrupt) return Step::corrupt;
    if (kept == KeepStatus::complete) {
        decoder_.table_.insert(field_);
    } else {
        decoder_.table_.clear();  // larger than the arena, so larger than the table
    }
    return Step::passed_over;
}

}  // namespace tiderace::http::wire
