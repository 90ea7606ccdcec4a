// EdgePoller: epoll, edge-triggered. The kernel reports once that a descriptor became ready, and
// again only after a call has taken all there was.
//
// The poller remembers each report until then, so that above it the engine behaves as a
// level-triggered one. An interest change costs no call, and the kernel does not look again at a
// socket that it has reported. That saves a hundredth of a request, too little for core.
//
//            reported by the kernel              a call takes all (note_call)
//   silent ---------------------------> ready ---------------------------------> silent
//                                       | ^
//                                       v | wanted: reported at every wait
//                                   the backend
//
// The calls are seen through kernel(). A descriptor for which none was ever seen is another
// library's (core/watch.h), which takes its bytes itself: what is remembered of it may be out of
// date, so that an epoll_ctl before each wait makes the kernel report it anew.
//
// Owner    A ReadinessBackend, which makes its calls through kernel().
// Thread   The loop's, except wake().
// Memory   A byte a descriptor number.
#pragma once

#include <vector>

#include "lab/engine/epoll_set.h"
#include "lab/engine/noting_kernel.h"
#include "tiderace/core/backend/poller.h"

namespace tiderace::lab::engine {

class EdgePoller final : public core::Poller, private CallNotes {
  public:
    explicit EdgePoller(core::Kernel& below) : kernel_(below, *this) {}

    // The backend makes its calls through this one.
    core::Kernel& kernel() { return kernel_; }

    int set(int fd, std::uint32_t generation, core::Interest interest, bool known) override;
    void remove(int fd, core::Afterwards) override;
    int wait(std::span<core::Ready> out, Duration wait) override;
    void wake() override { epoll_.wake(); }

  private:
    // What the kernel reported of a descriptor, and what of that is wanted.
    struct State {
        bool wants_readable : 1 = false;
        bool wants_writable : 1 = false;
        bool readable : 1 = false;  // reported, and not exhausted since
        bool writable : 1 = false;
        bool ended : 1 = false;   // the peer's end is among what is to be read
        bool failed : 1 = false;  // reported, and not passed on yet
        bool listed : 1 = false;  // in due_
        bool called : 1 = false;  // a call of ours was seen

        bool is_due() const {
            return failed || (readable && wants_readable) || (writable && wants_writable);
        }
    };
    static_assert(sizeof(State) == 1);
    struct Named {
        int fd;
        std::uint32_t generation;
    };

    void note_call(int fd, core::Interest exhausted) override;
    State& state(int fd) { return states_[static_cast<std::size_t>(fd)]; }
    int ask_again(int fd, std::uint32_t generation);
    void list(State& which, int fd, std::uint32_t generation);
    void forget_those_not_due();
    void take_edges(int count);

    EpollSet epoll_;
    NotingKernel kernel_;
    std::vector<State> states_;  // by descriptor number
    std::vector<Named> due_;     // all that is due, the longest wait first, and some more
};

}  // namespace tiderace::lab::engine
