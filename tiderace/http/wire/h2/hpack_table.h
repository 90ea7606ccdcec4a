// Internal. HpackTable: the dynamic table of HPACK (RFC 7541, sections 2.3.2 and 4), the newest
// entry first.
//
//   records   a ring; the newest is number 0
//   texts     one buffer: | evicted | oldest … newest | free |   moved to the front when the end
//             is reached, so every text is contiguous and no byte is moved more than once for
//             each byte inserted. Names that FieldName or PseudoField know are not kept here.
//
// Owner    A decoder or an encoder.
// Thread   One at a time.
// Errors   None: an entry larger than the table empties it, as the RFC has it.
// Limits   What set_bytes_max was given, at most table_bytes_max.
// Memory   None until the first insertion; then what is in use, doubled as it grows: at most twice
//          the table's size for texts, and 16 bytes for each 32 of its size for records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tiderace/base/bytes.h"
#include "tiderace/base/check.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/h2/hpack_field.h"

namespace tiderace::http::wire {

class HpackTable {
  public:
    static constexpr std::uint32_t table_bytes_max = 64_KiB - 1;  // so that sizes fit 16 bits

    explicit HpackTable(std::uint32_t bytes_max);

    std::uint32_t size() const { return count_; }   // entries
    std::uint32_t bytes() const { return bytes_; }  // as RFC 7541, 4.1 counts them
    std::uint32_t bytes_max() const { return bytes_max_; }
    // Since the beginning: what a peer makes us copy has its price (h2_budget.h).
    std::uint64_t insertions() const { return insertions_; }

    // Evicts until the entries fit. `bytes_max` is at most table_bytes_max.
    void set_bytes_max(std::uint32_t bytes_max);
    void clear();

    // number < size(); 0 is the newest. The views live until the next insert(); a name that has an
    // id or is a known pseudo field lives for ever.
    HpackField at(std::uint32_t number) const;

    // Evicts what must go, then adds a copy. The views of `field` are not into this table.
    // False when the field is larger than the table, which is empty then.
    bool insert(const HpackField& field);

    // The number of an entry with that name and value, the newest, or `none`. `name` is compared
    // only where `id` is FieldName::other. For encoders.
    static constexpr std::uint32_t none = 0xffff'ffff;
    std::uint32_t find(FieldName id, ByteView name, ByteView value) const;

    // Behind each text of an entry so many bytes may be read: copies need not end exactly.
    static constexpr std::size_t text_slack = 16;

    // What the buffers take.
    std::size_t memory_bytes() const;

  private:
    struct Record {
        std::uint32_t at;   // of its text in texts_
        std::uint32_t tag;  // of name and value: what differs in it differs
        std::uint16_t name_bytes;
        std::uint16_t value_bytes;
        FieldName id;
        PseudoField pseudo;
        Refusal refusal;
    };

    static_assert(sizeof(Record) == 16);

    Record& record(std::uint32_t number) const {
        TR_CHECK(number < count_, "the table has no such entry");
        return records_[(newest_ - number) & (records_room_ - 1)];
    }
    void evict_oldest();
    void make_record_room();
    void make_text_room(std::uint32_t bytes);

    std::unique_ptr<Record[]> records_;
    std::unique_ptr<char[]> texts_;
    std::uint32_t records_room_ = 0;  // a power of two, or 0
    std::uint32_t newest_ = 0;        // its place in records_
    std::uint32_t count_ = 0;
    std::uint32_t bytes_ = 0;
    std::uint32_t bytes_max_;
    std::uint32_t texts_room_ = 0;
    std::uint32_t texts_begin_ = 0;
    std::uint32_t texts_end_ = 0;
    std::uint64_t insertions_ = 0;
};

// Inline: it is called for each field of each request.
inline HpackField HpackTable::at(std::uint32_t number) const {
    const Record& entry = record(number);
    const char* text = texts_.get() + entry.at;
    HpackField field{.id = entry.id, .pseudo = entry.pseudo, .refusal = entry.refusal};
    if (field.has_constant_name()) {
        field.name = field.constant_name();
    } else {
        field.name = {text, entry.name_bytes};
        text += entry.name_bytes;
    }
    field.value = {text, entry.value_bytes};
    return field;
}

}  // namespace tiderace::http::wire
