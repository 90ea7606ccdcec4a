// Internal. ResponseFields: the fields of a Response in their order, views all of them.
//
// Thread   One at a time.
// Memory   No allocation up to inline_max fields. More lie in a vector, all of them together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/field_name.h"

namespace tiderace::http {

struct ResponseField {
    wire::FieldName id;  // FieldName::other: `name` has it
    ByteView name;
    ByteView value;
};

class ResponseFields {
  public:
    static constexpr std::size_t inline_max = 8;

    ResponseFields() {}  // NOLINT: leaves the fields uninitialised
    ResponseFields(ResponseFields&& other) noexcept { take(other); }
    ResponseFields& operator=(ResponseFields&& other) noexcept {
        if (this != &other) take(other);
        return *this;
    }

    void push(const ResponseField& field) {
        if (!more_.empty() || count_ == inline_max) return push_more(field);
        inline_[count_++] = field;
    }
    std::span<const ResponseField> all() const {
        return more_.empty() ? std::span<const ResponseField>(inline_, count_)
                             : std::span<const ResponseField>(more_);
    }
    std::span<ResponseField> all() {
        return more_.empty() ? std::span<ResponseField>(inline_, count_)
                             : std::span<ResponseField>(more_);
    }
    // Drops the last ones.
    void shrink_to(std::size_t count) {
        if (!more_.empty()) more_.resize(count);
        // An emptied vector means that the inline ones count again: they are none then.
        if (more_.empty()) count_ = count;
    }

  private:
    void push_more(const ResponseField& field);
    void take(ResponseFields& other) noexcept;

    std::size_t count_ = 0;
    std::vector<ResponseField> more_;  // all of them, once there are more than fit inside
    union {  // so that they are not initialised: a request is answered in 300 ns
        ResponseField inline_[inline_max];
    };
};

}  // namespace tiderace::http
