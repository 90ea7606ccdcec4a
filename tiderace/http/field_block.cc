#include "tiderace/http/field_block.h"

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"

namespace tiderace::http {

bool FieldBlock::add(wire::FieldName name, ByteView value) {
    if (!wire::is_field_value(value)) {
        clear();
        return false;
    }
    entries_.push_back({name, std::string(value)});
    lines_.append(wire::to_line_start(name)).append(value).append("\r\n");
    hpack_.clear();
    return true;
}

ByteView FieldBlock::hpack() const {
    if (hpack_.empty()) {
        for (const Entry& entry : entries_) {
            wire::append_hpack_field(hpack_, entry.id, entry.value);
        }
    }
    return hpack_;
}

const FieldBlock::Entry* FieldBlock::find(wire::FieldName name) const {
    for (const Entry& entry : entries_) {
        if (entry.id == name) return &entry;
    }
    return nullptr;
}

void FieldBlock::clear() {
    entries_.clear();
    lines_.clear();
    hpack_.clear();
}

}  // namespace tiderace::http
