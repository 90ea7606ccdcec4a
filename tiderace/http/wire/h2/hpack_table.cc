#include "tiderace/http/wire/h2/hpack_table.h"

#include <algorithm>
#include <cstring>

#include "tiderace/base/check.h"

namespace tiderace::http::wire {
namespace {

std::uint32_t size_of(std::size_t name_bytes, std::size_t value_bytes) {
    return static_cast<std::uint32_t>(name_bytes + value_bytes) + hpack_field_overhead;
}

// The first and the last four bytes, the rest of a shorter text.
std::uint32_t ends_of(ByteView text) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    if (text.size() >= 4) {
        std::memcpy(&first, text.data(), 4);
        std::memcpy(&last, text.data() + text.size() - 4, 4);
    } else if (!text.empty()) {
        std::memcpy(&first, text.data(), text.size());
    }
    return first * 31 + last;
}

// Compared before the texts, so that the texts of most entries are not read. Texts with equal tags
// gain an attacker nothing: the search is linear anyway, and 4 KiB hold at most 128 entries.
std::uint32_t tag_of(FieldName id, ByteView name, ByteView value) {
    const std::uint32_t of_name =
        id == FieldName::other ? ends_of(name) : static_cast<std::uint32_t>(id);
    const auto sizes = static_cast<std::uint32_t>(name.size() << 16 ^ value.size());
    return (of_name * 0x9e3779b1U ^ ends_of(value)) * 0x85ebca77U + sizes;
}

constexpr std::uint32_t records_room_min = 8;
constexpr std::uint32_t texts_room_min = 256;

}  // namespace

HpackTable::HpackTable(std::uint32_t bytes_max) : bytes_max_(bytes_max) {
    TR_CHECK(bytes_max <= table_bytes_max, "a table larger than its records can count");
}

void HpackTable::set_bytes_max(std::uint32_t bytes_max) {
    TR_CHECK(bytes_max <= table_bytes_max, "a table larger than its records can count");
    bytes_max_ = bytes_max;
    while (bytes_ > bytes_max_) evict_oldest();
}

void HpackTable::clear() {
    count_ = 0;
    bytes_ = 0;
    texts_begin_ = 0;
    texts_end_ = 0;
}

void HpackTable::evict_oldest() {
    const Record& oldest = record(count_ - 1);
    bytes_ -= size_of(oldest.name_bytes, oldest.value_bytes);
    if (--count_ == 0) {
        clear();
    } else {
        // Texts lie in the order of insertion, so the oldest ends where the next one begins.
        texts_begin_ = record(count_ - 1).at;
    }
}

bool HpackTable::insert(const HpackField& field) {
    const bool fits = field.name.size() <= bytes_max_ && field.value.size() <= bytes_max_ &&
                      size_of(field.name.size(), field.value.size()) <= bytes_max_;
    // RFC 7541, 4.4: an entry larger than the table empties it, and is no error.
    if (!fits) {
        clear();
        return false;
    }
    const std::uint32_t size = size_of(field.name.size(), field.value.size());
    while (bytes_ + size > bytes_max_) evict_oldest();
    const bool keep_name = !field.has_constant_name();
    const std::size_t text_bytes = (keep_name ? field.name.size() : 0) + field.value.size();
    make_record_room();
    make_text_room(static_cast<std::uint32_t>(text_bytes));

    // The records are a ring whose room is a power of two, so a mask wraps it.
    newest_ = (newest_ + 1) & (records_room_ - 1);
    ++count_;
    ++insertions_;
    bytes_ += size;
    records_[newest_] = {.at = texts_end_,
                         .tag = tag_of(field.id, field.name, field.value),
                         .name_bytes = static_cast<std::uint16_t>(field.name.size()),
                         .value_bytes = static_cast<std::uint16_t>(field.value.size()),
                         .id = field.id,
                         .pseudo = field.pseudo,
                         .refusal = field.refusal};
    char* to = texts_.get() + texts_end_;
    if (keep_name) to = std::copy(field.name.begin(), field.name.end(), to);
    std::copy(field.value.begin(), field.value.end(), to);
    texts_end_ += static_cast<std::uint32_t>(text_bytes);
    return true;
}

void HpackTable::make_record_room() {
    if (count_ < records_room_) return;
    const std::uint32_t room = std::max(records_room_min, 2 * records_room_);
    auto grown = std::make_unique_for_overwrite<Record[]>(room);
    for (std::uint32_t i = 0; i < count_; ++i) grown[count_ - 1 - i] = record(i);
    records_ = std::move(grown);
    records_room_ = room;
    newest_ = (count_ - 1) & (room - 1);
}

// Room for `bytes` behind the newest text: by moving all to the front when that frees at least half
// of the buffer, else by a larger buffer.
void HpackTable::make_text_room(std::uint32_t bytes) {
    if (bytes <= texts_room_ - texts_end_) return;
    const std::uint32_t live = texts_end_ - texts_begin_;
    const std::uint32_t wanted = 2 * (live + bytes);
    const char* from = texts_.get() + texts_begin_;
    if (wanted <= texts_room_) {
        std::memmove(texts_.get(), from, live);
    } else {
        const std::uint32_t room = std::max(texts_room_min, wanted);
        auto grown = std::make_unique_for_overwrite<char[]>(room + text_slack);
        if (live > 0) std::memcpy(grown.get(), from, live);
        texts_ = std::move(grown);
        texts_room_ = room;
    }
    for (std::uint32_t i = 0; i < count_; ++i) record(i).at -= texts_begin_;
    texts_begin_ = 0;
    texts_end_ = live;
}

std::uint32_t HpackTable::find(FieldName id, ByteView name, ByteView value) const {
    const std::uint32_t tag =
        tag_of(id, id == FieldName::other ? name : to_lower_string(id), value);
    for (std::uint32_t number = 0; number < count_; ++number) {
        if (record(number).tag != tag) continue;
        const HpackField field = at(number);
        if (field.id == id && field.value == value &&
            (id != FieldName::other || field.name == name))
            return number;
    }
    return none;
}

std::size_t HpackTable::memory_bytes() const {
    return (texts_room_ > 0 ? texts_room_ + text_slack : 0) + records_room_ * sizeof(Record);
}

}  // namespace tiderace::http::wire
