// Internal. Headers: the fields of a message, owned, in their order.
//
//   text_     Accept: text/html CRLF Cookie: a=1 CRLF    the lines of a head (RFC 9112, 5)
//   places_   |       |              |       |           where each name and value stands in it
//
// Thread   One at a time.
// Errors   None: what may stand in a message is decided where it is written (valid()).
// Memory   One text for all of them, and their places, from the thread's FramePool: a turn brings
//          many messages, which end with the tasks that it resumes, as frames do.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/response_reader.h"
#include "tiderace/task/frame_pool.h"

namespace tiderace::http {

// One of Headers: valid until these are changed, or end. A move of them keeps it.
struct Header {
    ByteView name;
    ByteView value;
};

class Headers {
  public:
    class Iterator;

    Headers() = default;
    Headers(std::initializer_list<Header> all);

    // Copies both.
    void add(ByteView name, ByteView value);
    // Room for so many of the usual size.
    void reserve(std::size_t count);
    // In the place of all of that name.
    void set(ByteView name, ByteView value);
    void remove(std::string_view name);
    // The lines of a head, and where its fields stand in them, as ResponseReader gives both.
    void add_lines(ByteView lines, std::span<const wire::FieldPlace> places);

    // The value of the first field with this name, in any case; "" without one.
    std::string_view find(std::string_view name) const;
    bool has(std::string_view name) const;
    // The values of all of that name.
    std::vector<std::string_view> all(std::string_view name) const;

    // Every name is a token, and no value holds a control character (RFC 9110, 5.1 and 5.5).
    bool valid() const;

    std::size_t size() const { return places_.size(); }
    bool empty() const { return places_.empty(); }
    // As HTTP/1.1 has them, each line with its CR LF; if they are valid().
    ByteView lines() const { return {text_.data(), text_.size()}; }
    Iterator begin() const;
    Iterator end() const;

  private:
    using Place = wire::FieldPlace;  // in the text
    using Text = std::vector<char, task::FrameAllocator<char>>;

    Header at(const Place& place) const {
        return {.name = {text_.data() + place.name_at, place.name_bytes},
                .value = {text_.data() + place.value_at, place.value_bytes}};
    }
    bool is_called(const Place& place, std::string_view name) const;
    const Place* first_called(std::string_view name) const;
    [[nodiscard]] Text make_room(std::size_t bytes);

    Text text_;  // no std::string, which moves the bytes of a short one
    std::vector<Place, task::FrameAllocator<Place>> places_;
};

class Headers::Iterator {
  public:
    using value_type = Header;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Header operator*() const { return fields_->at(*place_); }
    Iterator& operator++() {
        ++place_;
        return *this;
    }
    Iterator operator++(int) {
        Iterator before = *this;
        ++place_;
        return before;
    }
    bool operator==(const Iterator& other) const { return place_ == other.place_; }

  private:
    friend class Headers;

    Iterator(const Headers& fields, const Place* place) : fields_(&fields), place_(place) {}

    const Headers* fields_ = nullptr;
    const Place* place_ = nullptr;
};

inline Headers::Iterator Headers::begin() const {
    return {*this, places_.data()};
}
inline Headers::Iterator Headers::end() const {
    return {*this, places_.data() + places_.size()};
}

}  // namespace tiderace::http
