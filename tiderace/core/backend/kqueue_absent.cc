// Compiled where there is no kqueue.
#include "tiderace/core/backend/kqueue.h"

namespace tiderace::core {

std::unique_ptr<Poller> make_kqueue_poller() {
    return nullptr;
}

bool has_kqueue() {
    return false;
}

}  // namespace tiderace::core
