// JSON for plain structs, without macros and without describing them.
//
//     #include "tiderace/json.h"
//
//     #include <cstdint>
//     #include <cstdio>
//     #include <optional>
//     #include <string>
//     #include <vector>
//
//     namespace json = tiderace::json;
//
//     struct Item {
//         json::Length<std::string, 1, 80> name;
//         double price;
//     };
//     struct Order {
//         std::uint64_t id;
//         std::vector<Item> items;
//         json::Default<int> priority = 3;    // may be missing
//         std::optional<std::string> note;    // may be missing or null
//
//         std::optional<std::string> validate() const {
//             if (items.empty()) return "an order needs an item";
//             return std::nullopt;
//         }
//     };
//
//     int main() {
//         const auto order =
//             json::read<Order>(R"({"id": 7, "items": [{"name": "tea", "price": 2.5}]})");
//         if (!order) return 1;
//         std::puts(json::write(*order).c_str());
//         // {"id":7,"items":[{"name":"tea","price":2.5}],"priority":3}
//
//         const auto wrong = json::read<Order>(R"({"id": -1, "items": [{"name": ""}]})");
//         for (const json::Fault& fault : wrong.error().faults()) {
//             std::puts(fault.message().c_str());
//         }
//         // id: expected an integer from 0 to 18446744073709551615, found -1 (byte 7)
//         // items[0].name: expected a text of 1 to 80 characters, found "" (byte 30)
//         // items[0].price: is required (byte 21)
//         return 0;
//     }
//
// A struct may name all its members, or some of them, differently in JSON:
//
//     static constexpr json::Case json_case = json::Case::camel;            // retryCount
//     static constexpr json::Name json_names[] = {{"event_type", "@type"}};
//
// JSON, queries, forms and OpenAPI use these names; database rows and templates use the C++ names.
// json::Value (tiderace/json/value.h) holds what no struct describes, and json::Convert
// (tiderace/json/convert.h) gives JSON to a type of yours.
//
// tiderace/json/type_of.h lists the C++ types and their JSON, tiderace/json/checked.h the types
// that check their value (Range, Length, Default, your own), and tiderace/json/writer.h has
// json::Writer, which writes token by token. An empty std::optional member is omitted. A struct may
// have a `validate() const`, which returns a std::optional<std::string> that names the fault, or
// json::Faults, whose paths start at the struct. It is called when every member was read.
//
// Members that a struct does not have are refused. Options::unknown ignores them in the whole text,
// and a line in the struct decides for it alone, wherever it is read:
//
//     static constexpr json::Unknown unknown_members = json::Unknown::ignore;   // or refuse
//
// For the bodies of an App, see AppOptions::unknown_members. Options::missing lets a text lack any
// member, as a file of an older program may.
//
// Thread   Any.
// Errors   A text that cannot be read gives an Error: its kind, and up to 16 faults, each with its
//          path, what was expected, what was found, and the byte offset. Rejected are: text that is
//          not JSON or not UTF-8, lone surrogates, unknown, missing and duplicate members, and
//          integers out of range.
// Limits   Options: 1 MiB of text, 64 levels, 100,000 elements, by default.
#pragma once

#include <concepts>
#include <expected>
#include <string>
#include <type_traits>
#include <utility>

#include "tiderace/base/bytes.h"
#include "tiderace/json/checked.h"
#include "tiderace/json/convert.h"
#include "tiderace/json/fault.h"
#include "tiderace/json/reader.h"
#include "tiderace/json/type_of.h"
#include "tiderace/json/value.h"
#include "tiderace/json/views.h"
#include "tiderace/json/writer.h"

namespace tiderace::json {

template <typename T>
std::expected<T, Error> read(ByteView text, const Options& options = {}) {
    static_assert(!holds_view<T>(),
                  "json::read: a std::string_view would refer to a text that is gone; "
                  "make the member a std::string");
    static_assert(std::is_default_constructible_v<T>, "json::read: makes a T, then fills it");
    std::expected<T, Error> made;
    if (auto done = read_value(text, &*made, type_of<T>, options); !done) {
        made = std::unexpected(std::move(done.error()));
    }
    return made;
}

// Appends to `text`. False: JSON cannot say the value, and something stands in its place (null for
// NaN, infinity and values of an enum without a name, U+FFFD for bytes that are not UTF-8).
template <typename T>
bool append(std::string& text, const T& value) {
    TextOut out(text);
    write_value(out, &value, type_of<T>);
    return out.is_exact();
}

template <typename T>
std::string write(const T& value) {
    std::string text;
    append(text, value);
    return text;
}

// For a Value, once the program has found out which type it holds. Offsets of faults are positions
// in write(value).
template <typename T, std::same_as<Value> V>
std::expected<T, Error> read(const V& value, const Options& options = {}) {
    return read<T>(ByteView(write(value)), options);
}

}  // namespace tiderace::json
