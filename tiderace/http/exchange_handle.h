// Internal. ExchangeHandle: names an exchange on any thread, so that work elsewhere can come back
// to it.
//
//   loop: exchange.handle() -> any thread: handle.post(f) -> the loop's mailbox -> f(exchange),
//   if that exchange still waits; otherwise the call is counted as late, and that is all
//
// A pointer or Ref never leaves its loop: a handle is a number and a generation.
//
// Owner    A value; copies name the same exchange.
// Thread   Any.
// Errors   post() is false where the call can never run: the loop ended, or its mailbox is full.
#pragma once

#include <memory>
#include <utility>

#include "tiderace/base/slot_map.h"
#include "tiderace/base/unique_function.h"

namespace tiderace::http {

class Exchange;
class ExchangeRegistry;  // exchange_registry.h

class ExchangeHandle {
  public:
    using Call = unique_function<void(Exchange&)>;

    ExchangeHandle() = default;  // names none
    // Calls `call` on the exchange's loop, in a later turn, if the exchange was neither answered
    // nor abandoned by then. An exception is answered as a handler's is.
    bool post(Call call) const;

  private:
    friend class Exchange;
    ExchangeHandle(std::shared_ptr<ExchangeRegistry> registry, SlotId id)
        : registry_(std::move(registry)), id_(id) {}

    std::shared_ptr<ExchangeRegistry> registry_;
    SlotId id_;
};

}  // namespace tiderace::http
