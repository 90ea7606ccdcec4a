#include "tiderace/http/filter/added_fields.h"

#include <utility>

namespace tiderace::http::filter {
namespace {

using wire::FieldName;

bool may_stand_twice(FieldName name) {
    // Set-Cookie is no list (RFC 9110, 5.3), and a second Vary adds to the first.
    return name == FieldName::set_cookie || name == FieldName::vary;
}

}  // namespace

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
