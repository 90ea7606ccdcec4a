// Utf8Validator: says as soon as it is certain that a stream of bytes is not UTF-8 (RFC 3629).
//
// ASCII goes by sixteen bytes at a time; the rest byte by byte against the range that the lead byte
// leaves open, so overlong forms, surrogates and what is above U+10FFFF never pass.
//
// Thread   Any one at a time.
// Memory   Three bytes: what a character that was cut off still needs.
#pragma once

#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

class Utf8Validator {
  public:
    // The next bytes. False: whatever follows, it is not UTF-8; ask no more.
    bool take(ByteView bytes);
    // True when no character is cut off.
    bool complete() const { return followers_ == 0; }

  private:
    bool begin(unsigned char lead);

    std::uint8_t followers_ = 0;  // still to come of the present character
    unsigned char low_ = 0x80;    // and what the next of them may be
    unsigned char high_ = 0xBF;
};

inline bool is_utf8(ByteView bytes) {
    Utf8Validator validator;
    return validator.take(bytes) && validator.complete();
}

}  // namespace tiderace::http::wire
