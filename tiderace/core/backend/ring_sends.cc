#include "tiderace/core/backend/ring_sends.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::core {
namespace {

constexpr std::size_t pieces_max = 8;

// The bytes that the kernel did not take, on their way back.
struct Leftover final : Shared {
    explicit Leftover(ByteView text) : bytes(text) {}
    std::string bytes;
};

}  // namespace

// Answers that are small, in memory and few pieces travel by the ring; others are sent directly.
bool RingSends::fits(const SendQueue& queue) const {
    if (queue.bytes() > ring_send_bytes_max) return false;
    if (queue.bytes() > ring_sends_bytes_max - used_ || slots_.size() == ring_sends_max)
        return false;
    std::array<iovec, pieces_max> pieces;
    const std::size_t count = queue.gather(pieces);
    // Fewer bytes than the queue has: there is a file in it, or more pieces than we take.
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].iov_len;
    return bytes == queue.bytes();
}

RingSends::Asked RingSends::take(IoHandle handle, SendQueue& queue) {
    // Made when first needed: a loop without small answers never pays for it.
    if (memory_ == nullptr) memory_ = std::make_unique_for_overwrite<char[]>(ring_sends_bytes_max);
    TR_CHECK(used_ + queue.bytes() <= ring_sends_bytes_max);
    std::array<iovec, pieces_max> pieces;
    const std::size_t count = queue.gather(pieces);
    char* const begin = memory_.get() + used_;
    char* end = begin;
    for (std::size_t i = 0; i < count; ++i) {
        end = std::copy_n(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len, end);
    }
    // The kernel reads our copy until the send completes, whatever becomes of the connection.
    queue.clear();
    const ByteView bytes(begin, static_cast<std::size_t>(end - begin));
    used_ += bytes.size();
    ++under_way_;
    slots_.push_back({.handle = handle, .bytes = bytes, .from = &queue});
    return {static_cast<std::uint32_t>(slots_.size() - 1), bytes};
}

IoHandle RingSends::finish(std::uint32_t slot, std::uint64_t taken) {
    const Slot done = std::exchange(slots_[slot], {});
    const ByteView rest = done.bytes.substr(taken);
    if (done.from != nullptr && !rest.empty()) {
        // In front of what the connection queued meanwhile, so that the order of bytes stays.
        const auto leftover = make_ref<Leftover>(rest);
        SendQueue whole;
        whole.append_shared(leftover->bytes, leftover);
        whole.append_queue(std::move(*done.from));
        *done.from = std::move(whole);
    }
    // The memory is one area that only grows: it begins anew when no send refers to it.
    if (--under_way_ == 0) {
        slots_.clear();
        used_ = 0;
    }
    return done.from != nullptr ? done.handle : IoHandle{};
}

RingSends::Asked RingSends::find(IoHandle handle) const {
    const auto found = std::ranges::find_if(slots_, [&](const Slot& each) {
        return each.handle.fd == handle.fd && each.handle.generation == handle.generation;
    });
    TR_CHECK(found != slots_.end(), "no send of this handle is under way");
    return {static_cast<std::uint32_t>(found - slots_.begin()), found->bytes};
}

}  // namespace tiderace::core
