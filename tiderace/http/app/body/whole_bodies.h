// WholeBodies: the bodies that one loop reads whole, and one bound for what they hold while they
// arrive. A client may send its body a byte at a time for hours, so the limit of each is none for
// all.
//
//   on_body -> keep() -> within bytes_max -> held
//                   \-> above -> those of at least the average size, the oldest first, are answered
//                                503, until a sixteenth of the room is free
//
// Small bodies pass, therefore, whatever others hold.
//
// Owner    The loop's AppLoop, and the bodies.
// Thread   The loop's.
// Limits   bytes_max: AppOptions::bodies_bytes_max, and more where a route's limit is larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/shared.h"
#include "tiderace/http/exchange.h"

namespace tiderace::http::app {

class WholeBodies;

// One of them, for the receiver that reads it.
class WholeBody : public BodyReceiver, private ListHook {
  protected:
    WholeBody(core::Ref<WholeBodies> all, Exchange& exchange);
    ~WholeBody() override;

    // False: the request was answered meanwhile.
    bool keep(ByteView bytes);
    ByteView held() const { return body_; }
    // What is held: from here on the caller's, and no part of the bound.
    std::string take();

  private:
    friend class WholeBodies;
    template <typename T>
    friend class tiderace::IntrusiveList;

    core::Ref<WholeBodies> all_;
    Exchange* exchange_;
    std::string body_;
};

class WholeBodies final : public core::Shared {
  public:
    explicit WholeBodies(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    std::size_t bytes() const { return bytes_; }

  private:
    friend class WholeBody;

    void make_room();
    void leave(WholeBody& body);

    const std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    std::size_t count_ = 0;
    IntrusiveList<WholeBody> all_;  // the oldest first
};

}  // namespace tiderace::http::app
