// Internal. KeptFrame: a frame that may outlive the tasks which used it, but not their Runner: a
// Generator's.
//
// It may stand at an await of this loop, and hold what ends with the loop, such as a connection.
//
// Owner    Its holder, or the Runner (Runner::keep), whichever ends first.
// Thread   The loop's.
#pragma once

#include "tiderace/base/intrusive_list.h"

namespace tiderace::task {

class KeptFrame : private ListHook {
  public:
    // The Runner ends: it destroys itself, and its holder forgets it.
    virtual void end() = 0;

  protected:
    virtual ~KeptFrame() = default;

  private:
    friend class Runner;
    friend class IntrusiveList<KeptFrame>;
};

}  // namespace tiderace::task
