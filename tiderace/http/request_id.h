// Internal. MadeId: the id that a request is given here: 32 hexadecimal digits, no two alike.
//
// Two counters that begin at random run through all numbers of 64 bits, and each number is mixed,
// which maps no two to one. So a thread never repeats an id, and two threads or processes meet with
// the chance of two random numbers of 128 bits. Unique, not secret.
//
// Owner    The Request.
// Thread   Any; each has counters of its own, because an id costs no more than they do.
// Keywords: X-Request-Id, correlation
#pragma once

#include <array>
#include <cstring>

#include "tiderace/base/bytes.h"

namespace tiderace::http {

class MadeId {
  public:
    MadeId() {}  // NOLINT: its bytes are not touched before there is an id
    MadeId(const MadeId& other) { *this = other; }
    MadeId& operator=(const MadeId& other) {
        is_made_ = other.is_made_;
        if (is_made_) std::memcpy(text_.data(), other.text_.data(), text_.size());
        return *this;
    }
    ~MadeId() = default;

    // Makes it when it is first asked for: most requests need none.
    ByteView text() {
        if (!is_made_) make();
        return {text_.data(), text_.size()};
    }

  private:
    void make();

    bool is_made_ = false;
    std::array<char, 32> text_;
};

}  // namespace tiderace::http
