#include "tiderace/core/watch.h"

#include <cerrno>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/core/contain.h"

namespace tiderace::core {
namespace {

Error cannot_hold(int fd, int error) {
    return Error(-error, "watch", "descriptor " + std::to_string(fd),
                 error == -EMFILE
                     ? "the engine select holds descriptors below 1,024; choose another engine"
                 : error == -EPERM ? "a plain file is always ready; read it without waiting"
                                   : "");
}

}  // namespace

Result<> Watch::watch(int fd, Interest interest) {
    loop_->assert_on_loop();
    TR_CHECK(fd >= 0, "not a descriptor");
    // Also for the same number, which may be another descriptor's by now.
    release();
    auto handle = loop_->backend().attach(fd, *this);
    if (!handle) return fail(handle.error());
    handle_ = *handle;
    return change(interest);
}

Result<> Watch::change(Interest interest) {
    loop_->assert_on_loop();
    TR_CHECK(handle_, "nothing is watched");
    const int outcome = loop_->backend().watch(handle_, interest.readable, interest.writable);
    if (outcome == 0) return {};
    // A descriptor that the engine cannot hold would never be reported: the owner learns it now.
    const int fd = handle_.fd;
    release();
    return fail(cannot_hold(fd, outcome));
}

void Watch::release() {
    loop_->assert_on_loop();
    if (handle_) loop_->backend().detach(handle_);
}

void Watch::on_ready(bool readable, bool writable) {
    loop_->assert_on_loop();
    // The last statement, because the receiver may end this watch.
    contain(loop_->log(), "core", "a watch", [&]() TR_ON_LOOP {
        receiver_->on_ready(*this, {.readable = readable, .writable = writable});
    });
}

}  // namespace tiderace::core
