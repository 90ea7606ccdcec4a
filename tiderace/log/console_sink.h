// ConsoleSink: a descriptor that was there before us: standard error, standard output.
//
// Never blocks for good: a terminal stopped by Ctrl-S or a full pipe is trouble that is retried.
//
// Owner    Does not own the descriptor, and does not change its flags: others share them.
// Errors   An unread or closed pipe: as for any Sink. The writer's thread blocks
//          SIGPIPE.
#pragma once

#include "tiderace/log/sink.h"

namespace tiderace::log {

class ConsoleSink final : public Sink {
  public:
    explicit ConsoleSink(int descriptor) : descriptor_(descriptor) {}

    Written write(ByteView lines) override;

  private:
    int descriptor_;
};

}  // namespace tiderace::log
