// Internal. Attachment: what middleware leaves on a request for the handler behind it.
//
// Owner    The Exchange, until it is answered to its last byte; whoever else holds a reference.
// Thread   The loop's.
#pragma once

#include "tiderace/core/shared.h"

namespace tiderace::http {

class Attachment : public core::Shared {
  public:
    // `key`: the address of something that only its maker and its taker know.
    explicit Attachment(const void* key) : key_(key) {}

  private:
    friend class Exchange;
    const void* key_;
    core::Ref<Attachment> next_;
};

}  // namespace tiderace::http
