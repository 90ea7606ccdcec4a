#include "tiderace/core/backend/io_uring.h"

namespace tiderace::core {

bool has_io_uring() {
    return false;
}

Result<std::unique_ptr<Backend>> make_io_uring_backend(const BackendOptions&) {
    return fail(Error(0, "open io_uring", "", "this build is without liburing"));
}

}  // namespace tiderace::core
