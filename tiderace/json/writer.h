// Writer: JSON into a std::string, token by token, where a struct does not fit.
//
//     std::string text;
//     json::Writer out(text);
//     out.begin_object().key("total").value(3).key("items").begin_array();
//     for (const Item& item : items) out.value(item);
//     out.end_array().end_object();
//
// Commas and colons are added by the writer. A call that would not make JSON (in an object a value
// without a key, an end without a begin) is a bug of the caller and aborts.
//
// Owner    The caller; the text is complete after flush() or the end of the writer.
// Errors   is_exact() is false after a value that JSON cannot express: NaN, infinity, times beyond
//          the years 0001 to 9999 and values below write_depth_max are written as null, bytes that
//          are not UTF-8 as U+FFFD.
// Memory   TextOut's block, on the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "tiderace/json/text.h"
#include "tiderace/json/type.h"
#include "tiderace/json/type_of.h"

namespace tiderace::json {

inline constexpr std::size_t write_depth_max = 128;  // levels of nested values

// Appends the value at `value`, whose type `type` describes.
void write_value(TextOut& out, const void* value, const Type& type, std::size_t depth = 0);

class Writer {
  public:
    static constexpr std::size_t open_max = 64;  // objects and arrays that are open at once

    explicit Writer(std::string& to) : out_(to) {}

    Writer& begin_object() { return begin('{', true); }
    Writer& end_object() { return end('}', true); }
    Writer& begin_array() { return begin('[', false); }
    Writer& end_array() { return end(']', false); }
    Writer& key(std::string_view name);
    Writer& null();
    template <typename T>
    Writer& value(const T& value) {
        before_value();
        if constexpr (std::is_convertible_v<const T&, std::string_view>) {
            out_.string(value);
        } else {
            write_value(out_, &value, type_of<T>);
        }
        return *this;
    }

    bool is_exact() const { return out_.is_exact(); }
    // One value is written and nothing is open.
    bool is_complete() const { return open_ == 0 && has_value_; }
    void flush() { out_.flush(); }

  private:
    Writer& begin(char c, bool is_object);
    Writer& end(char c, bool is_object);
    void before_value();

    TextOut out_;
    std::uint64_t objects_ = 0;  // bit i: level i is an object, not an array
    std::uint64_t started_ = 0;  // bit i: level i has a member or an element
    std::size_t open_ = 0;
    bool after_key_ = false;
    bool has_value_ = false;
};

}  // namespace tiderace::json
