#include "tiderace/core/shared_notices.h"

#include <fcntl.h>

#include <algorithm>
#include <new>
#include <utility>

namespace tiderace::core {
namespace {

bool is_among(const std::vector<NoticeReader*>& readers, const NoticeReader& reader) {
    return std::ranges::find(readers, &reader) != readers.end();
}

}  // namespace

// --- what all loops share ----------------------------------------------------------------------

Result<> SharedNotices::add(NoticeReader& reader) {
    const std::lock_guard held(lock_);
    if (!notices_) {
        auto opened = open_();
        if (!opened) return fail(opened.error());
        notices_ = std::move(*opened);
    }
    readers_.push_back(&reader);
    return {};
}

void SharedNotices::remove(NoticeReader& reader) {
    const std::lock_guard held(lock_);
    std::erase(readers_, &reader);
    // Collected first: forget_locked() removes entries from the map.
    std::vector<int> watched;
    for (const auto& [id, readers] : watching_) {
        if (is_among(readers, reader)) watched.push_back(id);
    }
    for (const int id : watched) forget_locked(reader, id);
}

Result<int> SharedNotices::watch(NoticeReader& reader, int fd, std::string_view only_entry) {
    const std::lock_guard held(lock_);
    // The kernel returns the same id for a file that is watched already.
    const auto id = notices_->watch(fd, only_entry);
    if (!id) return id;
    // The id is the process's, so the loops that watch one folder share a watch of the kernel.
    std::vector<NoticeReader*>& readers = watching_[*id];
    if (!is_among(readers, reader)) readers.push_back(&reader);
    return id;
}

void SharedNotices::forget(NoticeReader& reader, int id) {
    const std::lock_guard held(lock_);
    forget_locked(reader, id);
}

void SharedNotices::forget_locked(NoticeReader& reader, int id) {
    const auto found = watching_.find(id);
    if (found == watching_.end()) return;
    std::erase(found->second, &reader);
    // Another loop still watches it.
    if (!found->second.empty()) return;
    watching_.erase(found);
    notices_->forget(id);
}

void SharedNotices::take(NoticeReader& reader) {
    const std::lock_guard held(lock_);
    // Before the kernel's queue is emptied: a thread that finds it empty then sees this flag.
    taking_.store(true, std::memory_order_seq_cst);
    try {
        // Notices of other loops' watches, too: all share one queue, and read each notice once.
        for (const ChangeNotice& notice : notices_->take()) hand_round(notice, reader);
    } catch (const std::bad_alloc&) {
        // Some notices are lost, so every reader has to assume that anything changed.
        lose(reader);
    }
    taking_.store(false, std::memory_order_release);
    // The list is taken under the same lock: a later notice finds waiting_ false, and wakes us.
    reader.taken_.clear();
    std::swap(reader.taken_, reader.list_);
    if (std::exchange(reader.lost_, false)) reader.taken_.assign(1, ChangeNotice{});
    reader.waiting_.store(false, std::memory_order_release);
}

void SharedNotices::hand_round(const ChangeNotice& notice, const NoticeReader& taker) {
    if (notice.kind == ChangeNotice::Kind::lost) return lose(taker);
    const auto found = watching_.find(notice.id);
    if (found == watching_.end()) return;  // reported before the watch was forgotten
    for (NoticeReader* const reader : found->second) {
        if (reader->list_.size() < ChangeNotices::notices_max) {
            reader->list_.push_back(notice);
        } else {
            reader->lost_ = true;
        }
        reader->tell(taker);
    }
    if (notice.kind == ChangeNotice::Kind::ended) watching_.erase(found);
}

void SharedNotices::lose(const NoticeReader& taker) {
    for (NoticeReader* const reader : readers_) {
        reader->lost_ = true;
        reader->tell(taker);
    }
}

Result<int> SharedNotices::descriptor_for(NoticeReader& reader) {
    const std::lock_guard held(lock_);
    const auto first = std::ranges::find(readers_, reader.loop_, &NoticeReader::loop_);
    if (*first == &reader) return notices_->descriptor();
    reader.copy_ = Descriptor(system_kernel(), ::fcntl(notices_->descriptor(), F_DUPFD_CLOEXEC, 3));
    if (!reader.copy_) return fail(Error::last("copy a descriptor of", "changed files"));
    return reader.copy_.get();
}

// --- one loop's part ---------------------------------------------------------------------------

Result<std::unique_ptr<NoticeReader>> NoticeReader::create(EventLoop& loop,
                                                           std::shared_ptr<SharedNotices> shared,
                                                           Receiver& receiver) {
    std::unique_ptr<NoticeReader> reader(new NoticeReader(loop, std::move(shared), receiver));
    if (auto added = reader->shared_->add(*reader); !added) return fail(added.error());
    if (auto told = reader->listen(true); !told) return fail(told.error());
    return reader;
}

NoticeReader::NoticeReader(EventLoop& loop, std::shared_ptr<SharedNotices> shared,
                           Receiver& receiver)
    : Wakeup(loop),
      loop_(&loop),
      shared_(std::move(shared)),
      receiver_(&receiver),
      watch_(loop, *this) {}

NoticeReader::~NoticeReader() {
    shared_->remove(*this);
}

const std::vector<ChangeNotice>& NoticeReader::take() {
    shared_->take(*this);
    return taken_;
}

Result<> NoticeReader::listen(bool on) {
    listening_.store(on, std::memory_order_relaxed);
    const Interest interest{.readable = on};
    if (watch_.descriptor() >= 0) return watch_.change(interest);
    const auto descriptor = shared_->descriptor_for(*this);
    return descriptor ? watch_.watch(*descriptor, interest) : fail(descriptor.error());
}

// Called under the lock. The taker has emptied the kernel's queue for all, so the others are woken;
// one that waits already was woken before.
void NoticeReader::tell(const NoticeReader& taker) {
    if (waiting_.exchange(true, std::memory_order_release) || this == &taker) return;
    // A reader that does not listen calls behind() before each request, so no extra turn is needed.
    if (listening_.load(std::memory_order_relaxed)) wake();
}

void NoticeReader::on_ready(Watch&, Interest) {
    loop_->assert_on_loop();
    receiver_->on_notices();
}

void NoticeReader::on_woken() {
    loop_->assert_on_loop();
    if (waiting_.load(std::memory_order_acquire)) receiver_->on_notices();
}

}  // namespace tiderace::core
