#include "tiderace/http/field_block.h"

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http {

bool FieldBlock::add(wire::FieldName name, ByteView value) {
    if (!wire::is_field_value(value)) {
        clear();
        return false;
    }
    entries_.push_back({name, std::string(value)});
    lines_.append(wire::to_line_start(name)).append(value).append("\r\n");
    return true;
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
}

}  // namespace tiderace::http
