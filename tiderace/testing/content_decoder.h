// ContentDecoder: undoes a content coding, for tests of what compresses.
//
// Apart from http/coding/content_decoder.h, which a client reads with: that one has limits, and the
// tests of an encoder should not stand on it. This one calls the libraries with no options.
//
// Thread   One at a time.
// Errors   broken(): the input is not of that coding. Tests check it.
#pragma once

#include <memory>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::testing {

class ContentDecoder {
  public:
    virtual ~ContentDecoder() = default;
    // Everything that can be decoded from the bytes so far.
    virtual std::string decode(ByteView bytes) = 0;
    // The stream's own end was seen, and nothing came after it.
    virtual bool ended() const = 0;
    virtual bool broken() const = 0;
};

// nullptr where the coding is not built in.
std::unique_ptr<ContentDecoder> make_decoder(http::wire::ContentCoding coding);

// A whole body; "(broken)" if it is not whole, or not of that coding.
std::string decode_all(http::wire::ContentCoding coding, ByteView bytes);

}  // namespace tiderace::testing
