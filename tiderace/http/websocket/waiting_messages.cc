#include "tiderace/http/websocket/waiting_messages.h"

#include <vector>

namespace tiderace::http {

void WaitingMessages::Holder::grow_to(std::size_t bytes) {
    if (bytes <= bytes_) return;
    if (bytes_ == 0) {
        all_->all_.push_back(*this);
        ++all_->count_;
    }
    all_->bytes_ += bytes - bytes_;
    bytes_ = bytes;
    if (all_->bytes_ > all_->bytes_max_) all_->make_room();
}

void WaitingMessages::Holder::shrink_to(std::size_t bytes) {
    if (bytes >= bytes_) return;
    all_->bytes_ -= bytes_ - bytes;
    bytes_ = bytes;
    if (bytes > 0) return;
    unlink();
    --all_->count_;
}

// In one pass, so that a full room costs little for each byte that it takes.
void WaitingMessages::make_room() {
    const std::size_t wanted = bytes_max_ - bytes_max_ / 16;
    const std::size_t average = bytes_ / count_;
    std::size_t left = bytes_;
    std::vector<Holder*> refused;
    all_.for_each([&](Holder& holder) {
        if (left <= wanted || holder.bytes_ < average) return;
        left -= holder.bytes_;
        refused.push_back(&holder);
    });
    // Behind the walk, because each of them leaves the list.
    for (Holder* const holder : refused) holder->refuse();
}

}  // namespace tiderace::http
