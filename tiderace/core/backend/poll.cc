#include "tiderace/core/backend/poll.h"

#include <poll.h>

#include <cerrno>
#include <new>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/waker.h"

namespace tiderace::core {
namespace {

class PollPoller final : public Poller {
  public:
    PollPoller() { list_.push_back({.fd = waker_.descriptor(), .events = POLLIN, .revents = 0}); }

    int set(int fd, std::uint32_t generation, Interest interest, bool known) override {
        const auto number = static_cast<std::size_t>(fd);
        if (!known) {
            try {
                make_room(number);
            } catch (const std::bad_alloc&) {
                return -ENOMEM;
            }
            place_of_[number] = list_.size();
            list_.push_back({.fd = fd, .events = 0, .revents = 0});
            generations_.push_back(0);
        }
        const std::size_t place = place_of_[number];
        // POLLERR, POLLHUP and POLLNVAL are always reported.
        list_[place].events = static_cast<short>((interest.readable ? POLLIN : 0) |
                                                 (interest.writable ? POLLOUT : 0));
        generations_[place] = generation;
        return 0;
    }

    void remove(int fd, Afterwards) override {
        const std::size_t place = place_of_[static_cast<std::size_t>(fd)];
        TR_CHECK(place > 0 && list_[place].fd == fd);
        // The last one takes its place, so that removing costs the same however many there are.
        list_[place] = list_.back();
        generations_[place] = generations_.back();
        place_of_[static_cast<std::size_t>(list_[place].fd)] = place;
        list_.pop_back();
        generations_.pop_back();
    }

    int wait(std::span<Ready> out, Duration wait) override {
        const int count = ::poll(list_.data(), list_.size(), timeout_ms(wait));
        if (count < 0) return -errno;
        // It only ends the wait; the mailbox has the rest.
        if (list_[0].revents != 0) waker_.clear();
        int told = 0;
        // Starts where the last one stopped, so that a full `out` does not starve the tail.
        for (std::size_t i = 0; i < list_.size() && static_cast<std::size_t>(told) < out.size();
             ++i) {
            const std::size_t place = (start_ + i) % list_.size();
            const pollfd& polled = list_[place];
            if (place == 0 || polled.revents == 0) continue;
            out[static_cast<std::size_t>(told++)] = {
                .fd = polled.fd,
                .generation = generations_[place],
                .readable = (polled.revents & POLLIN) != 0,
                .writable = (polled.revents & POLLOUT) != 0,
                .failed = (polled.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0,
            };
            if (static_cast<std::size_t>(told) == out.size()) start_ = place + 1;
        }
        return told;
    }

    void wake() override { waker_.wake(); }

  private:
    // For one more, in all of the lists or in none.
    // By half, so that descriptors that are numbered upwards do not copy the tables each time.
    void make_room(std::size_t number) {
        if (number >= place_of_.size()) place_of_.resize(number + number / 2 + 64);
        const std::size_t places = list_.size() + list_.size() / 2 + 64;
        if (list_.size() == list_.capacity()) list_.reserve(places);
        if (generations_.size() == generations_.capacity()) generations_.reserve(places);
    }

    Waker waker_;
    std::vector<pollfd> list_;                   // [0] is the waker
    std::vector<std::uint32_t> generations_{0};  // beside list_
    std::vector<std::size_t> place_of_;          // descriptor number -> place in list_
    std::size_t start_ = 0;
};

}  // namespace

std::unique_ptr<Poller> make_poll_poller() {
    return std::make_unique<PollPoller>();
}

}  // namespace tiderace::core
