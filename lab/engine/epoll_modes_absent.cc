// Compiled where there is no epoll.
#include "lab/engine/epoll_modes.h"

namespace tiderace::lab::engine {
namespace {

Error absent() {
    return Error(0, "choose the engine", "epoll", epoll_modes_absent());
}

}  // namespace

std::string_view epoll_modes_absent() {
    return "epoll is Linux's";
}

Result<std::unique_ptr<core::Backend>> make_level_backend(const core::BackendOptions&) {
    return fail(absent());
}

Result<std::unique_ptr<core::Backend>> make_edge_backend(const core::BackendOptions&) {
    return fail(absent());
}

Result<std::unique_ptr<core::Backend>> make_oneshot_backend(const core::BackendOptions&) {
    return fail(absent());
}

std::unique_ptr<ThreadingModel> arrange_level() {
    return nullptr;
}

std::unique_ptr<ThreadingModel> arrange_edge() {
    return nullptr;
}

std::unique_ptr<ThreadingModel> arrange_oneshot() {
    return nullptr;
}

}  // namespace tiderace::lab::engine
