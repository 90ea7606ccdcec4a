#include "tiderace/http/files/disk_reads.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <utility>

namespace tiderace::http::files {
namespace {

// Distance of the sampled bytes: a window of 4 MiB costs 17 samples of one byte. It is a guess: a
// hole between two samples makes one send wait for the disk.
constexpr std::uint64_t look_every_bytes = 256_KiB;

}  // namespace

// Reads a range and drops the bytes: afterwards they are in the page cache.
class DiskReads::ReadAhead final : public core::BlockingJob {
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

//   pull: part head      -> queue
//         range, cached  -> queue, a window at a time
//         range, cold    -> a thread reads it; wait -> on_read -> body_ready -> pull: queue
//
// sendfile() of bytes that are not in the page cache would make the whole loop wait for the disk.
class DiskReads::WatchedBody final : public BodySource {
  public:
    // The exchange owns its source, so it outlives this.
    WatchedBody(DiskReads& reads, Exchange& exchange, core::SendQueue&& queue,
                core::Ref<CachedFile> file)
        : reads_(&reads), exchange_(&exchange), rest_(std::move(queue)), file_(std::move(file)) {}
    ~WatchedBody() override {
        if (reading_) reads_->jobs_->cancel(reading_);
    }

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        // While the pool reads, the exchange waits; on_read() resumes it.
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
    // How much of the file in front can be sent now; sets reading_ while the pool reads it.
    std::uint64_t next_bytes(const core::SendQueue::FileRange& front) {
        // A range that the pool has read is sent without sampling it again: if the cache is too
        // small to keep it, we would read it for ever.
        if (read_bytes_ > 0) return std::exchange(read_bytes_, 0);
        // Each window is checked just before it is queued; a whole large file would be out of date,
        // or out of the cache, by its end.
        const std::uint64_t hot = std::min(front.bytes, window_bytes);
        if (reads_->is_resident(front.descriptor, front.offset, hot)) return hot;
        const std::uint64_t cold = std::min(front.bytes, cold_window_bytes);
        std::unique_ptr<core::BlockingJob> job =
            std::make_unique<ReadAhead>(*this, reads_->loop_->kernel(), file_, front.offset, cold);
        reading_ = reads_->jobs_->start(job);
        // Refused, because the pool is full: the loop reads it itself, and waits.
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
    if (pool != nullptr) jobs_.emplace(loop, *pool, jobs_max);
}

void DiskReads::set_body(Exchange& exchange, Response& response, core::SendQueue&& queue,
                         CachedFile& file) {
    // The usual cases do without a source: the queue goes to the connection as it is.
    if (!jobs_ || file.in_memory() || queue.empty() || is_resident(file)) {
        response.set_body(std::move(queue));
        return;
    }
    const std::uint64_t bytes = queue.bytes();
    response.set_body(std::make_unique<WatchedBody>(*this, exchange, std::move(queue),
                                                    core::Ref<CachedFile>(&file)),
                      bytes);
}

// Whether all of a file is in memory, if it is small enough to be sampled whole.
bool DiskReads::is_resident(CachedFile& file) {
    if (file.size() > window_bytes) return false;
    if (loop_->now() < file.resident_until) return true;
    if (!is_resident(file.descriptor(), 0, file.size())) return false;
    // A hot file is not sampled for each request.
    file.resident_until = loop_->now() + resident_for;
    return true;
}

bool DiskReads::is_resident(int fd, std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t last = offset + bytes - 1;
    for (std::uint64_t at = offset; bytes > 0; at = std::min(at + look_every_bytes, last)) {
        char byte;
        const ssize_t got = loop_->kernel().read_now(fd, &byte, 1, static_cast<off_t>(at));
        if (got == -EAGAIN) return false;
        // The system cannot report what it has cached, so assume that it has it.
        if (got == -EOPNOTSUPP || at == last) break;
    }
    return true;
}

}  // namespace tiderace::http::files
