#include "tiderace/core/backend/uring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>

#include "tiderace/base/check.h"

// Names that the headers of liburing 2.3 may lack; the numbers are the kernel's.
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)
#endif

namespace tiderace::core {
namespace {

constexpr std::uint16_t buffer_group = 0;
constexpr std::size_t page_bytes = 4_KiB;
constexpr std::size_t buffer_ring_bytes =
    (Uring::buffers * sizeof(io_uring_buf) + page_bytes - 1) / page_bytes * page_bytes;

// Zero pages until they are touched: an idle loop's buffers cost nothing.
void* map(std::size_t bytes) {
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
}

Error refused(int error) {
    return {-error, "open io_uring", "",
            error == -EPERM    ? "this system forbids it (kernel.io_uring_disabled, seccomp)"
            : error == -EINVAL ? "Linux 6.1 or newer is needed"
                               : ""};
}

}  // namespace

Result<std::unique_ptr<Uring>> Uring::open() {
    std::unique_ptr<Uring> made(new Uring);
    io_uring_params parameters{};
    // Disabled until the loop's own thread turns: that one becomes the single issuer.
    // DEFER_TASKRUN, which requires SINGLE_ISSUER: completions are made inside our own enter()
    // only, so none interrupts a handler. TASKRUN_FLAG shows without a call that some are due.
    // CQSIZE: a multishot operation completes many times, so there are more completions than
    // submissions.
    parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                       IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE | IORING_SETUP_R_DISABLED;
    parameters.cq_entries = completions;
    // A kernel before 6.1 lacks DEFER_TASKRUN and fails with EINVAL.
    const int opened = io_uring_queue_init_params(submissions, &made->ring_, &parameters);
    // So that the destructor does not end a ring that is none.
    if (opened < 0) {
        made->ring_.ring_fd = -1;
        return fail(refused(opened));
    }
    made->buffer_ring_ = static_cast<io_uring_buf_ring*>(map(buffer_ring_bytes));
    made->buffer_memory_ = static_cast<char*>(map(buffers * buffer_bytes));
    if (made->buffer_ring_ == nullptr || made->buffer_memory_ == nullptr) {
        return fail(refused(-ENOMEM));
    }
    // Receives take a buffer from this ring when bytes have come, in the kernel, without a call of
    // ours.
    io_uring_buf_reg ring{};
    ring.ring_addr = reinterpret_cast<std::uintptr_t>(made->buffer_ring_);
    ring.ring_entries = buffers;
    ring.bgid = buffer_group;
    const int registered = io_uring_register_buf_ring(&made->ring_, &ring, 0);
    if (registered < 0) return fail(refused(registered));
    io_uring_buf_ring_init(made->buffer_ring_);
    for (unsigned i = 0; i < buffers; ++i) {
        io_uring_buf_ring_add(made->buffer_ring_, made->buffer_memory_ + i * buffer_bytes,
                              buffer_bytes, static_cast<std::uint16_t>(i),
                              io_uring_buf_ring_mask(buffers), static_cast<int>(i));
    }
    io_uring_buf_ring_advance(made->buffer_ring_, buffers);
    return made;
}

Uring::~Uring() {
    if (ring_.ring_fd >= 0) io_uring_queue_exit(&ring_);
    if (buffer_ring_ != nullptr) ::munmap(buffer_ring_, buffer_ring_bytes);
    if (buffer_memory_ != nullptr) ::munmap(buffer_memory_, buffers * buffer_bytes);
}

io_uring_sqe& Uring::take(std::uint64_t tag) {
    // Behind the ones that wait already, because a cancellation must not pass what it cancels.
    io_uring_sqe* empty = waiting_.empty() ? io_uring_get_sqe(&ring_) : nullptr;
    if (empty == nullptr) {
        // The ring is full of this turn's submissions.
        submit();
        if (waiting_.empty()) empty = io_uring_get_sqe(&ring_);
    }
    // Nothing could be submitted: before the first enter(), or where the kernel lacks memory.
    if (empty == nullptr) empty = &waiting_.emplace_back();
    empty->user_data = tag;
    ++under_way_;
    return *empty;
}

void Uring::refill() {
    while (!waiting_.empty()) {
        io_uring_sqe* empty = io_uring_get_sqe(&ring_);
        if (empty == nullptr) {
            io_uring_submit(&ring_);
            empty = io_uring_get_sqe(&ring_);
        }
        if (empty == nullptr) return;
        *empty = waiting_.front();
        waiting_.pop_front();
    }
}

void Uring::enable() {
    if (enabled_) return;
    enabled_ = true;
    issuer_ = std::this_thread::get_id();
    // By its number: liburing 2.3 forgot to export io_uring_enable_rings.
    const long done =
        ::syscall(__NR_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    TR_CHECK(done == 0, "an io_uring that cannot be enabled");
}

// A withdrawn one goes to the kernel all the same, and does nothing there.
bool Uring::withdraw(std::uint64_t tag) {
    // Entries between the last submission and the tail are ours alone; those before belong to the
    // kernel.
    for (unsigned at = ring_.sq.sqe_tail - io_uring_sq_ready(&ring_); at != ring_.sq.sqe_tail;
         ++at) {
        io_uring_sqe& asked = ring_.sq.sqes[at & ring_.sq.ring_mask];
        if (asked.user_data != tag) continue;
        io_uring_prep_nop(&asked);
        asked.user_data = 0;
        return true;
    }
    for (io_uring_sqe& asked : waiting_) {
        if (asked.user_data != tag) continue;
        io_uring_prep_nop(&asked);
        asked.user_data = 0;
        return true;
    }
    return false;
}

void Uring::end_batch() {
    // An interrupted call may leave some unsubmitted: those still belong to this batch.
    if (io_uring_sq_ready(&ring_) == 0 && waiting_.empty()) ++batch_;
}

void Uring::submit() {
    if (!enabled_) return;
    refill();
    io_uring_submit(&ring_);
    end_batch();
}

// What these calls return besides (interrupted, timed out, another thread's after the loop ended)
// adds nothing to the completions.
void Uring::enter(Duration wait_max) {
    enable();
    refill();
    if (wait_max == Duration::zero()) {
        // Not a plain submit: with DEFER_TASKRUN, completions that are due are only made when asked
        // for.
        io_uring_submit_and_get_events(&ring_);
    } else if (wait_max < Duration::zero()) {
        io_uring_submit_and_wait(&ring_, 1);
    } else {
        __kernel_timespec until{};
        const auto seconds = std::chrono::floor<std::chrono::seconds>(wait_max);
        until.tv_sec = seconds.count();
        until.tv_nsec = (wait_max % 1s).count();
        // A time-out of this call, not an operation of its own, which would be one more completion
        // a turn.
        io_uring_cqe* first = nullptr;
        io_uring_submit_and_wait_timeout(&ring_, &first, 1, &until, nullptr);
    }
    end_batch();
}

bool Uring::has_more() const {
    // Written by the kernel meanwhile, so it is read once, and not from a register.
    return (IO_URING_READ_ONCE(*ring_.sq.kflags) & IORING_SQ_TASKRUN) != 0;
}

void Uring::cancel_all(std::vector<Completion>& out) {
    if (!enabled_) return;
    // Cancelling misses operations that are just running, so it is repeated.
    constexpr Duration round = 10ms;
    constexpr int rounds_max = 100;
    for (int i = 0; under_way_ > 0 && i < rounds_max; ++i) {
        // ANY matches every operation, also on descriptors that were closed in between.
        io_uring_sqe& ask = take(0);
        io_uring_prep_cancel64(&ask, {}, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
        ask.user_data = 0;
        enter(Duration::zero());
        collect(out);
        if (under_way_ == 0) return;
        enter(round);
        collect(out);
    }
}

void Uring::collect(std::vector<Completion>& out) {
    // Room first, so that nothing that is taken from the ring is lost. Without memory the rest
    // stays there.
    // Completions beyond the ring's size wait in the kernel (IORING_FEAT_NODROP) until there is
    // room.
    std::size_t room = io_uring_cq_ready(&ring_);
    if (room > out.capacity() - out.size()) {
        try {
            out.reserve(out.size() + std::max(room, out.size()));
        } catch (const std::bad_alloc&) {
            room = out.capacity() - out.size();
        }
    }
    unsigned head = 0;
    unsigned count = 0;
    io_uring_cqe* each = nullptr;
    io_uring_for_each_cqe(&ring_, head, each) {
        if (count == room) break;
        out.push_back({each->user_data, each->res, each->flags});
        // MORE: the same operation will complete again.
        if ((each->flags & IORING_CQE_F_MORE) == 0) --under_way_;
        ++count;
    }
    io_uring_cq_advance(&ring_, count);
}

ByteView Uring::received(const Completion& completion) const {
    const std::size_t index = completion.flags >> IORING_CQE_BUFFER_SHIFT;
    return {buffer_memory_ + index * buffer_bytes, static_cast<std::size_t>(completion.result)};
}

void Uring::give_back(const Completion& completion) {
    const auto index = static_cast<std::uint16_t>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
    io_uring_buf_ring_add(buffer_ring_, buffer_memory_ + index * buffer_bytes, buffer_bytes, index,
                          io_uring_buf_ring_mask(buffers), 0);
    // Only this makes it visible to the kernel; until then its bytes are ours.
    io_uring_buf_ring_advance(buffer_ring_, 1);
}

}  // namespace tiderace::core
