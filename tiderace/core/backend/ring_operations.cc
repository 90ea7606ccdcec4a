#include "tiderace/core/backend/ring_operations.h"

#include <poll.h>
#include <sys/socket.h>

#include "tiderace/base/check.h"

namespace tiderace::core {

void prepare(io_uring_sqe& ask, Operation operation, int fd, unsigned watched) {
    switch (operation) {
        case Operation::accept:
            io_uring_prep_multishot_accept(&ask, fd, nullptr, nullptr,
                                           SOCK_NONBLOCK | SOCK_CLOEXEC);
            break;
        case Operation::receive:
            io_uring_prep_recv_multishot(&ask, fd, nullptr, 0, 0);
            ask.flags |= IOSQE_BUFFER_SELECT;
            ask.buf_group = 0;
            break;
        case Operation::room:
        case Operation::connect:
            io_uring_prep_poll_add(&ask, fd, POLLOUT);
            break;
        case Operation::watch:
            io_uring_prep_poll_add(
                &ask, fd,
                ((watched & 1U) != 0 ? POLLIN : 0U) | ((watched & 2U) != 0 ? POLLOUT : 0U));
            break;
        case Operation::hang_up:
            io_uring_prep_poll_add(&ask, fd, 0);
            break;
        case Operation::send:
        case Operation::wake:
        case Operation::none:
            TR_CHECK(false, "asked for elsewhere");
    }
}

}  // namespace tiderace::core
