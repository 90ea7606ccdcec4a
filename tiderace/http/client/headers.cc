#include "tiderace/http/client/headers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http {
namespace {

constexpr std::size_t usual_field_bytes = 40;

}  // namespace

Headers::Headers(std::initializer_list<Header> all) {
    for (const Header& each : all) add(each.name, each.value);
}

void Headers::reserve(std::size_t count) {
    places_.reserve(places_.size() + count);
    text_.reserve(text_.size() + count * usual_field_bytes);
}

// For so many bytes behind the text. If it moves for that, returns the old one, because what is to
// be added may be a view into it.
Headers::Text Headers::make_room(std::size_t bytes) {
    if (text_.capacity() - text_.size() >= bytes) return {};
    Text larger;
    larger.reserve(2 * text_.size() + bytes);
    larger.insert(larger.end(), text_.begin(), text_.end());
    text_.swap(larger);
    return larger;
}

void Headers::add(ByteView name, ByteView value) {
    constexpr ByteView between = ": ";
    constexpr ByteView end = "\r\n";
    const std::size_t bytes = name.size() + between.size() + value.size() + end.size();
    const Text old = make_room(bytes);
    const std::size_t name_at = text_.size();
    const std::size_t value_at = name_at + name.size() + between.size();
    places_.push_back({name_at, name.size(), value_at, value.size()});
    text_.resize(name_at + bytes);
    char* to = text_.data() + name_at;
    for (const ByteView piece : {name, between, value, end}) to += piece.copy(to, piece.size());
}

// The sizes first: nearly all fields of an answer differ in them, which saves a call.
bool Headers::is_called(const Place& place, std::string_view name) const {
    return place.name_bytes == name.size() &&
           equals_ignoring_case({text_.data() + place.name_at, place.name_bytes}, name);
}

void Headers::remove(std::string_view name) {
    if (!has(name)) return;
    Headers kept;
    for (const Place& place : places_) {
        if (!is_called(place, name)) kept.add(at(place).name, at(place).value);
    }
    *this = std::move(kept);
}

void Headers::set(ByteView name, ByteView value) {
    // Copied, because they may be views of what is removed.
    const std::string kept_name(name);
    const std::string kept_value(value);
    remove(kept_name);
    add(kept_name, kept_value);
}

void Headers::add_lines(ByteView lines, std::span<const Place> places) {
    const Text old = make_room(lines.size());
    const std::size_t before = text_.size();
    text_.insert(text_.end(), lines.begin(), lines.end());
    places_.reserve(places_.size() + places.size());
    for (const Place& place : places) {
        places_.push_back(
            {before + place.name_at, place.name_bytes, before + place.value_at, place.value_bytes});
    }
}

const Headers::Place* Headers::first_called(std::string_view name) const {
    for (const Place& place : places_) {
        if (is_called(place, name)) return &place;
    }
    return nullptr;
}

std::string_view Headers::find(std::string_view name) const {
    const Place* const found = first_called(name);
    return found != nullptr ? at(*found).value : std::string_view();
}

bool Headers::has(std::string_view name) const {
    return first_called(name) != nullptr;
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const Place& place : places_) {
        if (is_called(place, name)) values.push_back(at(place).value);
    }
    return values;
}

bool Headers::valid() const {
    return std::ranges::all_of(*this, [](const Header& field) {
        return wire::is_token(field.name) && wire::is_field_value(field.value);
    });
}

}  // namespace tiderace::http
