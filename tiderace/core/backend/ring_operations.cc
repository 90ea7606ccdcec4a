#include "tiderace/core/backend/ring_operations.h"

#include <poll.h>
#include <sys/socket.h>

#include "tiderace/base/check.h"

namespace tiderace::core {

void prepare(io_uring_sqe& ask, Operation operation, int fd, unsigned watched) {
    switch (operation) {
        // One request to the kernel, and a completion for each connection.
        case Operation::accept:
            io_uring_prep_multishot_accept(&ask, fd, nullptr, nullptr,
                                           SOCK_NONBLOCK | SOCK_CLOEXEC);
            break;
        // The kernel takes a buffer of group 0 when bytes come: idle connections have none.
        case Operation::receive:
            io_uring_prep_recv_multishot(&ask, fd, nullptr, 0, 0);
            ask.flags |= IOSQE_BUFFER_SELECT;
            ask.buf_group = 0;
            break;
        // A connection is decided, and a full buffer has room again, when it is writable.
        case Operation::room:
        case Operation::connect:
            io_uring_prep_poll_add(&ask, fd, POLLOUT);
            break;
        case Operation::watch:
            io_uring_prep_poll_add(
                &ask, fd,
                ((watched & 1U) != 0 ? POLLIN : 0U) | ((watched & 2U) != 0 ? POLLOUT : 0U));
            break;
        // An empty mask: a hang-up and an error are reported all the same.
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
