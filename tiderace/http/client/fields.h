// Fields: the fields of a message, owned, in their order.
//
// Thread   One at a time.
// Errors   None: what may stand in a message is decided where it is written (valid()).
// Memory   Two strings a field.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/bytes.h"

namespace tiderace::http {

struct Field {
    // Not an aggregate: g++ 12 destroys temporary ones within a co_await twice.
    Field(std::string n, std::string v) : name(std::move(n)), value(std::move(v)) {}
    // Of views alone: from two literals it would be either.
    template <std::same_as<ByteView> View>
    Field(View n, View v) : name(n), value(v) {}
    Field() = default;

    std::string name;
    std::string value;
};

class Fields {
  public:
    Fields() = default;
    Fields(std::initializer_list<Field> all) : all_(all) {}

    void add(std::string name, std::string value) {
        all_.emplace_back(std::move(name), std::move(value));
    }
    // Copies both, in place: a move of a short string costs as much as a copy.
    void add_copy(ByteView name, ByteView value) { all_.emplace_back(name, value); }
    void reserve(std::size_t count) { all_.reserve(count); }
    // In the place of all of that name.
    void set(std::string name, std::string value);
    void remove(std::string_view name);
    // Whole lines, each with its CR LF, as ResponseReader gives them. It has checked their syntax,
    // so they are only split here.
    void add_lines(ByteView lines);

    // The value of the first field with this name, in any case; "" without one.
    std::string_view find(std::string_view name) const;
    bool has(std::string_view name) const;
    // The values of all of that name.
    std::vector<std::string_view> all(std::string_view name) const;

    // Every name is a token, and no value holds a control character (RFC 9110, 5.1 and 5.5).
    bool valid() const;

    std::size_t size() const { return all_.size(); }
    bool empty() const { return all_.empty(); }
    auto begin() const { return all_.begin(); }
    auto end() const { return all_.end(); }

  private:
    std::vector<Field> all_;
};

}  // namespace tiderace::http
