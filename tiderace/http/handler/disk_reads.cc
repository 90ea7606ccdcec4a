#include "tiderace/http/handler/disk_reads.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <utility>

namespace tiderace::http::handler {
namespace {

// How far apart the bytes are that are looked at. A window then costs 17 looks, 4 µs beside the
// 700 µs of sending it.
constexpr std::uint64_t look_every_bytes = 256_KiB;

}  // namespace

// Reads a range into nowhere: afterwards the system has it.
class DiskReads::ReadAhead final : public core::Errand {
  public:
    ReadAhead(WatchedBody& body, core::Kernel& kernel, core::Ref<CachedFile> file,
              std::uint64_t offset, std::uint64_t bytes)
        : body_(&body),
          kernel_(&kernel),
          file_(std::move(file)),
          fd_(file_->descriptor()),
          offset_(offset),
          end_(offset + bytes) {}

    void work() override {
        const std::unique_ptr<char[]> block(new (std::nothrow) char[read_bytes]);
        if (block == nullptr) return;  // sending reads it
        while (offset_ < end_) {
            const auto wanted =
                static_cast<std::size_t>(std::min<std::uint64_t>(read_bytes, end_ - offset_));
            const ssize_t got =
                kernel_->read_at(fd_, block.get(), wanted, static_cast<off_t>(offset_));
            if (got == -EINTR) continue;
            if (got <= 0) return;  // cut short, or faulty: sending it finds out
            offset_ += static_cast<std::uint64_t>(got);
        }
    }
    void done() override;

  private:
    WatchedBody* body_;
    core::Kernel* kernel_;
    core::Ref<CachedFile> file_;  // the loop's: keeps the descriptor open
    int fd_;
    std::uint64_t offset_;
    std::uint64_t end_;
};

class DiskReads::WatchedBody final : public BodySource {
  public:
    // The exchange owns its source, so it outlives this.
    WatchedBody(DiskReads& reads, Exchange& exchange, core::SendQueue&& queue,
                core::Ref<CachedFile> file)
        : reads_(&reads), exchange_(&exchange), rest_(std::move(queue)), file_(std::move(file)) {}
    ~WatchedBody() override {
        if (reading_) reads_->errands_->cancel(reading_);
    }

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        if (reading_) return State::wait;
        if (rest_.empty()) return State::end;
        const core::SendQueue::FileRange front = rest_.front_file();
        const std::uint64_t bytes = front.descriptor < 0 ? bytes_before_file() : next_bytes(front);
        if (reading_) return State::wait;
        out.append_front(blocks, rest_, bytes);
        return rest_.empty() ? State::end : State::more;
    }
    void on_read() {
        reading_ = {};
        exchange_->body_ready();
    }

  private:
    std::uint64_t bytes_before_file() const {
        std::array<iovec, 1> piece;
        return rest_.gather(piece) == 1 ? piece[0].iov_len : 0;
    }
    // How much of the file in front can be sent now; while it is being read, reading_ says so.
    std::uint64_t next_bytes(const core::SendQueue::FileRange& front) {
        if (read_bytes_ > 0) return std::exchange(read_bytes_, 0);
        const std::uint64_t hot = std::min(front.bytes, window_bytes);
        if (reads_->is_resident(front.descriptor, front.offset, hot)) return hot;
        const std::uint64_t cold = std::min(front.bytes, cold_window_bytes);
        std::unique_ptr<core::Errand> errand =
            std::make_unique<ReadAhead>(*this, reads_->loop_->kernel(), file_, front.offset, cold);
        reading_ = reads_->errands_->start(errand);
        if (reading_) read_bytes_ = cold;
        return cold;
    }

    DiskReads* reads_;
    Exchange* exchange_;
    core::SendQueue rest_;
    core::Ref<CachedFile> file_;
    SlotId reading_;
    std::uint64_t read_bytes_ = 0;  // of the front, read or being read by the pool
};

void DiskReads::ReadAhead::done() {
    body_->on_read();
}

DiskReads::DiskReads(core::EventLoop& loop, core::WorkerPool* pool) : loop_(&loop) {
    if (pool != nullptr) errands_.emplace(loop, *pool, errands_max);
}

void DiskReads::set_body(Exchange& exchange, Response& response, core::SendQueue&& queue,
                         CachedFile& file) {
    if (!errands_ || file.in_memory() || queue.empty() || is_resident(file)) {
        response.set_body(std::move(queue));
        return;
    }
    const std::uint64_t bytes = queue.bytes();
    response.set_body(std::make_unique<WatchedBody>(*this, exchange, std::move(queue),
                                                    core::Ref<CachedFile>(&file)),
                      bytes);
}

// All of a file, where it is small enough to be looked at whole.
bool DiskReads::is_resident(CachedFile& file) {
    if (file.size() > window_bytes) return false;
    if (loop_->now() < file.resident_until) return true;
    if (!is_resident(file.descriptor(), 0, file.size())) return false;
    file.resident_until = loop_->now() + resident_for;
    return true;
}

bool DiskReads::is_resident(int fd, std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t last = offset + bytes - 1;
    for (std::uint64_t at = offset; bytes > 0; at = std::min(at + look_every_bytes, last)) {
        char byte;
        const ssize_t got = loop_->kernel().read_now(fd, &byte, 1, static_cast<off_t>(at));
        if (got == -EAGAIN) return false;
        if (got == -EOPNOTSUPP || at == last) break;
    }
    return true;
}

}  // namespace tiderace::http::handler
