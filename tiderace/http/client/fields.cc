#include "tiderace/http/client/fields.h"

#include <algorithm>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http {
namespace {

constexpr std::size_t usual_lines = 12;

// The sizes first: nearly all fields of an answer differ in them, which saves a call.
bool is_called(const Field& field, std::string_view name) {
    return field.name.size() == name.size() && wire::equals_ignoring_case(field.name, name);
}

}  // namespace

void Fields::remove(std::string_view name) {
    std::erase_if(all_, [&](const Field& field) { return is_called(field, name); });
}

void Fields::set(std::string name, std::string value) {
    remove(name);
    add(std::move(name), std::move(value));
}

void Fields::add_lines(ByteView lines) {
    all_.reserve(all_.size() + usual_lines);  // one allocation for nearly every answer
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t colon = lines.find(':', at);
        const std::size_t end = lines.find('\r', colon);  // no value holds one
        // The reader of the answer has checked each line, so this is the end, or a bug that loses a
        // field.
        if (colon == ByteView::npos || end == ByteView::npos) return;
        const ByteView value = wire::trim_ows(lines.substr(colon + 1, end - colon - 1));
        // In place, because a move of a short string copies it.
        all_.emplace_back(wire::between(lines, at, colon), value);
        at = end + 2;
    }
}

std::string_view Fields::find(std::string_view name) const {
    for (const Field& field : all_) {
        if (is_called(field, name)) return field.value;
    }
    return {};
}

bool Fields::has(std::string_view name) const {
    return std::ranges::any_of(all_, [&](const Field& field) { return is_called(field, name); });
}

std::vector<std::string_view> Fields::all(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const Field& field : all_) {
        if (is_called(field, name)) values.push_back(field.value);
    }
    return values;
}

bool Fields::valid() const {
    return std::ranges::all_of(all_, [](const Field& field) {
        return wire::is_token(field.name) && wire::is_field_value(field.value);
    });
}

}  // namespace tiderace::http
