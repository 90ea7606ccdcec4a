// Compiled in place of the engine where Asio is not installed.
#include "lab/engine/asio.h"

namespace tiderace::lab::engine {

std::string_view asio_absent() {
    return "Asio was not there when the lab was built";
}

Result<std::unique_ptr<core::Backend>> make_asio_backend(const core::BackendOptions&) {
    return fail(Error(0, "choose the engine", "asio", asio_absent()));
}

std::unique_ptr<ThreadingModel> arrange_asio_per_thread() {
    return nullptr;
}

std::unique_ptr<ThreadingModel> arrange_asio_shared() {
    return nullptr;
}

}  // namespace tiderace::lab::engine
