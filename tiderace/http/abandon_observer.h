// Internal. AbandonObserver: notified when the client of an exchange is gone.
//
// Owner    Its creator. Unhooks itself when it ends; unlink() does so before.
// Thread   The loop's.
#pragma once

#include "tiderace/base/intrusive_list.h"

namespace tiderace::http {

class AbandonObserver : public ListHook {
  public:
    // Called once. It may release the exchange, and end any observer, this one too.
    virtual void on_abandoned() = 0;

  protected:
    ~AbandonObserver() = default;
};

// In the order in which they came. Its end leaves each of them without a list.
class AbandonObservers final : public IntrusiveList<AbandonObserver> {
  public:
    ~AbandonObservers() { clear(); }
    void clear() {
        while (!empty()) pop_front();
    }
};

}  // namespace tiderace::http
