// Compiled in place of the engine where libevent is not installed.
#include "lab/engine/libevent.h"

namespace tiderace::lab::engine {

std::string_view libevent_absent() {
    return "libevent was not there when the lab was built";
}

Result<std::unique_ptr<core::Backend>> make_libevent_backend(const core::BackendOptions&) {
    return fail(Error(0, "choose the engine", "libevent", libevent_absent()));
}

std::unique_ptr<ThreadingModel> arrange_libevent() {
    return nullptr;
}

}  // namespace tiderace::lab::engine
