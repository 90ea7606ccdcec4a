// Internal. SendQueue: a connection's unsent bytes, as a chain of pieces in order.
//
//   [block: copied bytes] -> [shared: borrowed bytes, held] -> [file: a range of an open file] ->
//   …
//
// Owner    One connection or one message body; the pieces' memory comes from the loop's BlockPool.
// Thread   The loop's.
// Memory   Empty: four words, no allocation. Copied bytes fill blocks of block_bytes, which go back
//          to the pool as soon as their last byte was taken by the transport.
// Limits   None here: Connection counts bytes() against its own.
// Keywords: back-pressure, sendfile, writev, gathering write
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/core/shared.h"

namespace tiderace::core {

// Memory held for a peer that is slow to read.
struct HeldBytes {
    std::uint64_t copied = 0;
    std::uint64_t shared = 0;  // in bodies that count (SendQueue::append_shared)

    Duration waits{};  // since the peer took enough

    HeldBytes& operator+=(const HeldBytes& other) {
        copied += other.copied;
        shared += other.shared;
        if (other.waits > waits) waits = other.waits;
        return *this;
    }
    std::uint64_t all() const { return copied + shared; }
};

// Memory for send queues, reused last in first out, so that a busy loop works in cached memory.
class BlockPool {
  public:
    static constexpr std::size_t block_bytes = 32_KiB;
    static constexpr std::size_t free_blocks_max = 32;
    // the part that a queue can use
    static constexpr std::size_t block_room_bytes = block_bytes - 64;

    BlockPool() = default;
    BlockPool(const BlockPool&) = delete;
    BlockPool& operator=(const BlockPool&) = delete;
    ~BlockPool();

    void* take();
    void give_back(void* block);
    std::size_t taken() const { return taken_; }  // blocks in use
    std::size_t taken_bytes() const { return taken_ * block_bytes; }

    // Bytes of queued bodies that were handed over and not copied, besides the blocks.
    std::uint64_t shared_bytes() const { return shared_bytes_; }

    // The limit of blocks in use. A block is never refused; above the limit the connection that
    // holds most is cut at the end of the turn (budget.h), and while blocks alone pass it,
    // writers are pushed back on.
    void set_bytes_max(std::size_t bytes) { taken_max_ = bytes / block_bytes; }
    std::size_t bytes_max() const { return taken_max_ * block_bytes; }
    bool scarce() const { return taken_ > taken_max_; }
    bool passes_limit() const { return taken_bytes() + shared_bytes_ > bytes_max(); }

  private:
    friend class SendQueue;

    struct Free {
        Free* next;
    };
    Free* free_ = nullptr;
    std::uint64_t shared_bytes_ = 0;
    std::size_t free_count_ = 0;
    std::size_t taken_ = 0;
    std::size_t taken_max_ = std::numeric_limits<std::size_t>::max() / block_bytes;
};

// An open file that several answers send. Closed with its last Ref.
class SharedFile : public Shared {
  public:
    virtual int descriptor() const = 0;
};

class SendQueue {
  public:
    SendQueue() = default;
    SendQueue(SendQueue&& other) noexcept;
    SendQueue& operator=(SendQueue&& other) noexcept;
    ~SendQueue() { clear(); }

    // Copies.
    void append(BlockPool& pool, ByteView bytes);
    // Room for at least one and up to `wanted` bytes to be written in place; then commit what was
    // written. At most one reservation at a time, and no other call between the two.
    std::span<char> reserve(BlockPool& pool, std::size_t wanted);
    // The same for a caller that needs `bytes` in one piece, at most block_room_bytes: all the room
    // there is, in a new block if the last one has less.
    std::span<char> reserve_at_least(BlockPool& pool, std::size_t bytes);
    void commit(std::size_t bytes);
    // Keeps `owner` until the bytes are sent. They must not change while they are queued. With a
    // pool they count there as unsent; for bytes that nothing else limits, such as the body of one
    // answer.
    void append_shared(ByteView bytes, Ref<Shared> owner, BlockPool* pool = nullptr);
    // A range of a file. If the file became shorter meanwhile, the transport reports it.
    void append_file(Ref<SharedFile> file, std::uint64_t offset, std::uint64_t bytes);
    // Moves all of `other` to the end.
    void append_queue(SendQueue&& other);
    // Moves the first `bytes` of `other` to the end. Shared bytes and file ranges are divided, not
    // copied; copied bytes that do not fill their block are copied once more.
    void append_front(BlockPool& pool, SendQueue& other, std::uint64_t bytes);

    bool empty() const { return head_ == nullptr; }
    std::uint64_t bytes() const { return bytes_; }
    // The part that was copied, and so holds memory of ours.
    std::size_t copied_bytes() const { return copied_bytes_; }
    // With the shared bodies that count in a pool. Walks over the pieces.
    HeldBytes held() const;

    // The front, for a transport: memory pieces up to the next file range. Zero if a file is in
    // front.
    std::size_t gather(std::span<iovec> out) const;
    // True if a file range follows the `count` pieces that gather returned.
    bool file_after(std::size_t count) const;
    // The file range in front; descriptor -1: none.
    struct FileRange {
        int descriptor = -1;
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };
    FileRange front_file() const;
    // Drops `bytes` from the front; they were taken by the transport.
    void consume(std::uint64_t bytes);
    void clear();

  private:
    struct Piece;
    struct Block;
    struct SharedPiece;
    struct FilePiece;

    void push(Piece* piece);
    void pop();
    void append_part(BlockPool& pool, const Piece& piece, std::uint64_t bytes);

    Piece* head_ = nullptr;
    Piece* tail_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::size_t copied_bytes_ = 0;
};

}  // namespace tiderace::core
