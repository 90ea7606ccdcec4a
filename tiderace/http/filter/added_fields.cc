#include "tiderace/http/filter/added_fields.h"

#include <utility>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::filter {
namespace {

using wire::FieldName;

bool is_connections_own(FieldName name) {
    switch (name) {
        case FieldName::connection:
        case FieldName::content_length:
        case FieldName::date:
        case FieldName::keep_alive:
        case FieldName::te:
        case FieldName::trailer:
        case FieldName::transfer_encoding:
        case FieldName::upgrade:
            return true;
        default:
            return false;
    }
}

bool may_stand_twice(FieldName name) {
    // Set-Cookie is no list (RFC 9110, 5.3), and a second Vary adds to the first.
    return name == FieldName::set_cookie || name == FieldName::vary;
}

}  // namespace

Result<AddedField> parse_added_field(ByteView text) {
    const std::size_t colon = text.find(':');
    if (colon == ByteView::npos) {
        return fail(Error(0, "added field", text, "it has the form NAME:VALUE"));
    }
    const ByteView name = text.substr(0, colon);
    const ByteView value = trim_ows(text.substr(colon + 1));
    if (!wire::is_token(name)) {
        return fail(Error(0, "added field", text, "the name before the colon is not a field name"));
    }
    if (!wire::is_field_value(value)) {
        return fail(Error(0, "added field", text, "the value holds control characters"));
    }
    // A second length or coding would let two readers see two answers.
    if (is_connections_own(wire::intern_field_name(name))) {
        return fail(Error(0, "added field", text, "the server itself sets this field"));
    }
    return AddedField{std::string(name), std::string(value)};
}

AddedFields::AddedFields(std::vector<AddedField> fields) {
    for (AddedField& field : fields) {
        const FieldName id = wire::intern_field_name(field.name);
        fields_.push_back({id, std::move(field)});
    }
}

void AddedFields::filter(Exchange&, Response& response) {
    for (const auto& [id, field] : fields_) {
        if (!field.value) {
            response.remove(field.name);
        } else if (may_stand_twice(id)) {
            response.add(id, *field.value);
        } else if (id != FieldName::other) {
            response.set(id, *field.value);
        } else {
            response.set(field.name, *field.value);
        }
    }
}

}  // namespace tiderace::http::filter
