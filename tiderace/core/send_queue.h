// SendQueue: what one connection still has to send, as a chain of pieces in order.
//
//   [block: copied bytes] -> [shared: somebody's bytes, held] -> [file: a range of an open file] ->
//   …
//
// Owner    One connection or one message body; the pieces' memory comes from the loop's BlockPool.
// Thread   The loop's.
// Memory   Empty: four words, no allocation. Copied bytes fill blocks of block_bytes, which go back
//          to the pool as soon as their last byte was taken by the transport.
// Limits   None here: Connection counts bytes() against its own.
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

// Memory for send queues, reused last in first out, so that a busy loop works in cached memory.
class BlockPool {
  public:
    static constexpr std::size_t block_bytes = 32_KiB;
    static constexpr std::size_t free_blocks_max = 32;
    static constexpr std::size_t block_room_bytes = block_bytes - 64;  // what a queue gets of it

    BlockPool() = default;
    BlockPool(const BlockPool&) = delete;
    BlockPool& operator=(const BlockPool&) = delete;
    ~BlockPool();

    void* take();
    void give_back(void* block);
    std::size_t taken() const { return taken_; }  // blocks in use
    std::size_t taken_bytes() const { return taken_ * block_bytes; }

    // What may be in use. It is never refused; above it whoever holds most gives its own up at the
    // end of the turn (send_relief.h), and writers are pushed back on until then.
    void set_bytes_max(std::size_t bytes) { taken_max_ = bytes / block_bytes; }
    std::size_t bytes_max() const { return taken_max_ * block_bytes; }
    bool scarce() const { return taken_ > taken_max_; }

  private:
    struct Free {
        Free* next;
    };
    Free* free_ = nullptr;
    std::size_t free_count_ = 0;
    std::size_t taken_ = 0;
    std::size_t taken_max_ = std::numeric_limits<std::size_t>::max() / block_bytes;
};

// An open file that answers being sent have in common. Closed with its last Ref.
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
    // The same for who needs `bytes` in one piece, at most block_room_bytes: all the room there is,
    // in a new block if the last one has less.
    std::span<char> reserve_at_least(BlockPool& pool, std::size_t bytes);
    void commit(std::size_t bytes);
    // Keeps `owner` until the bytes are gone. The bytes do not change while they are queued.
    void append_shared(ByteView bytes, Ref<Shared> owner);
    // A range of a file. If the file became shorter meanwhile, the transport reports it.
    void append_file(Ref<SharedFile> file, std::uint64_t offset, std::uint64_t bytes);
    // Moves all of `other` to the end.
    void append_queue(SendQueue&& other);
    // Moves the first `bytes` of `other` to the end. Shared bytes and file ranges are divided, not
    // copied; of copied bytes only what does not fill its block is copied once more.
    void append_front(BlockPool& pool, SendQueue& other, std::uint64_t bytes);

    bool empty() const { return head_ == nullptr; }
    std::uint64_t bytes() const { return bytes_; }
    // Of these, the bytes that were copied here and so hold memory of ours.
    std::size_t copied_bytes() const { return copied_bytes_; }

    // The front, for a transport: memory pieces up to the next file range. Zero if a file is in
    // front.
    std::size_t gather(std::span<iovec> out) const;
    // True if a file range follows the `count` pieces that gather returned.
    bool file_after(std::size_t count) const;
    // The file range in front, or nullptr descriptor -1.
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
