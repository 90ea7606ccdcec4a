#include "tiderace/core/send_queue.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::core {

BlockPool::~BlockPool() {
    // Its blocks would be freed under the queue.
    TR_CHECK(taken_ == 0 && shared_bytes_ == 0, "a send queue outlives its loop's block pool");
    while (free_ != nullptr) ::operator delete(std::exchange(free_, free_->next));
}

// The block freed last is taken first: it is likely still in the CPU's cache.
void* BlockPool::take() {
    if (free_ != nullptr) {
        ++taken_;
        --free_count_;
        return std::exchange(free_, free_->next);
    }
    // A connection that needs a block and gets none is closed; the loop goes on.
    void* block = ::operator new(block_bytes);
    ++taken_;
    return block;
}

void BlockPool::give_back(void* block) {
    --taken_;
    // The memory of a burst goes back to the system.
    if (free_count_ >= free_blocks_max) {
        ::operator delete(block);
        return;
    }
    ++free_count_;
    free_ = ::new (block) Free{free_};
}

enum class PieceKind : std::uint8_t { block, shared, file };

struct SendQueue::Piece {
    Piece* next = nullptr;
    const char* data = nullptr;  // null for a file range
    std::uint64_t bytes = 0;
    PieceKind kind;

    explicit Piece(PieceKind k) : kind(k) {}
};

struct SendQueue::Block : Piece {
    explicit Block(BlockPool& p) : Piece(PieceKind::block), pool(&p) { data = begin(); }

    char* begin() { return reinterpret_cast<char*>(this + 1); }
    char* limit() { return reinterpret_cast<char*>(this) + BlockPool::block_bytes; }
    char* end() { return const_cast<char*>(data) + bytes; }

    BlockPool* pool;
};

struct SendQueue::SharedPiece : Piece {
    SharedPiece(ByteView view, Ref<Shared> o, BlockPool* p)
        : Piece(PieceKind::shared), owner(std::move(o)), pool(p) {
        data = view.data();
        bytes = view.size();
    }

    // Bytes leave the loop's total as they are sent, so that a slow reader counts for what it
    // still holds.
    void uncount(std::uint64_t gone) {
        if (pool != nullptr) pool->shared_bytes_ -= gone;
    }

    Ref<Shared> owner;
    BlockPool* pool;  // which counts the bytes; or nullptr
};

struct SendQueue::FilePiece : Piece {
    FilePiece(Ref<SharedFile> f, std::uint64_t at, std::uint64_t size)
        : Piece(PieceKind::file), file(std::move(f)), offset(at) {
        bytes = size;
    }
    Ref<SharedFile> file;
    std::uint64_t offset;
};

SendQueue::SendQueue(SendQueue&& other) noexcept
    : head_(std::exchange(other.head_, nullptr)),
      tail_(std::exchange(other.tail_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      copied_bytes_(std::exchange(other.copied_bytes_, 0)) {}

SendQueue& SendQueue::operator=(SendQueue&& other) noexcept {
    if (this != &other) {
        clear();
        head_ = std::exchange(other.head_, nullptr);
        tail_ = std::exchange(other.tail_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
        copied_bytes_ = std::exchange(other.copied_bytes_, 0);
    }
    return *this;
}

void SendQueue::push(Piece* piece) {
    (tail_ != nullptr ? tail_->next : head_) = piece;
    tail_ = piece;
    bytes_ += piece->bytes;
}

// The rest of the last block, or all of a new one. Small answers of one turn share a block, and so
// one piece of the gathering write.
std::span<char> SendQueue::reserve(BlockPool& pool, std::size_t wanted) {
    // A block behind which a file or shared bytes were queued stays as it is: bytes keep their
    // order.
    if (tail_ == nullptr || tail_->kind != PieceKind::block ||
        static_cast<Block*>(tail_)->end() == static_cast<Block*>(tail_)->limit()) {
        push(::new (pool.take()) Block(pool));
    }
    auto* block = static_cast<Block*>(tail_);
    const auto room = static_cast<std::size_t>(block->limit() - block->end());
    return {block->end(), wanted < room ? wanted : room};
}

std::span<char> SendQueue::reserve_at_least(BlockPool& pool, std::size_t bytes) {
    TR_CHECK(bytes > 0 && bytes <= BlockPool::block_room_bytes);
    const auto room = [this] {
        auto* block = static_cast<Block*>(tail_);
        return static_cast<std::size_t>(block->limit() - block->end());
    };
    // The rest of a block that is too small stays unused: its bytes have to be contiguous.
    if (tail_ == nullptr || tail_->kind != PieceKind::block || room() < bytes) {
        push(::new (pool.take()) Block(pool));
    }
    return {static_cast<Block*>(tail_)->end(), room()};
}

void SendQueue::commit(std::size_t bytes) {
    tail_->bytes += bytes;
    bytes_ += bytes;
    copied_bytes_ += bytes;
    // An unused block must not stay at the front: an empty piece would look like a stuck queue.
    if (tail_ == head_ && tail_->bytes == 0) pop();
}

void SendQueue::append(BlockPool& pool, ByteView bytes) {
    while (!bytes.empty()) {
        const std::span<char> room = reserve(pool, bytes.size());
        std::memcpy(room.data(), bytes.data(), room.size());
        commit(room.size());
        bytes.remove_prefix(room.size());
    }
}

void SendQueue::append_shared(ByteView bytes, Ref<Shared> owner, BlockPool* pool) {
    if (bytes.empty()) return;
    // Counted after the push: without memory it throws, and nothing may stay counted.
    push(new SharedPiece(bytes, std::move(owner), pool));
    if (pool != nullptr) pool->shared_bytes_ += bytes.size();
}

HeldBytes SendQueue::held() const {
    HeldBytes held{.copied = copied_bytes_};
    // Walks the list: it is called only where a loop passed its bound and looks for the slowest.
    for (const Piece* piece = head_; piece != nullptr; piece = piece->next) {
        if (piece->kind != PieceKind::shared) continue;
        if (static_cast<const SharedPiece*>(piece)->pool != nullptr) held.shared += piece->bytes;
    }
    return held;
}

void SendQueue::append_file(Ref<SharedFile> file, std::uint64_t offset, std::uint64_t bytes) {
    if (bytes > 0) push(new FilePiece(std::move(file), offset, bytes));
}

void SendQueue::append_queue(SendQueue&& other) {
    if (other.head_ == nullptr) return;
    (tail_ != nullptr ? tail_->next : head_) = other.head_;
    tail_ = std::exchange(other.tail_, nullptr);
    other.head_ = nullptr;
    bytes_ += std::exchange(other.bytes_, 0);
    copied_bytes_ += std::exchange(other.copied_bytes_, 0);
}

void SendQueue::append_front(BlockPool& pool, SendQueue& other, std::uint64_t bytes) {
    // A block is moved whole only if it is full enough; otherwise its bytes are copied, and the
    // memory is reused.
    // A block takes 32 KiB however little is in it: many small answers would each pin a whole one.
    constexpr std::uint64_t block_bytes_worth_moving = 4_KiB;
    TR_CHECK(bytes <= other.bytes_);
    while (bytes > 0 && other.head_ != nullptr) {
        Piece* piece = other.head_;
        const bool whole = piece->bytes <= bytes;
        const bool copied = piece->kind == PieceKind::block;
        // A piece that is split is shared or copied; the rest stays in `other`.
        if (!whole || (copied && piece->bytes < block_bytes_worth_moving)) {
            const std::uint64_t part = whole ? piece->bytes : bytes;
            append_part(pool, *piece, part);
            other.consume(part);
            bytes -= part;
            continue;
        }
        bytes -= piece->bytes;
        other.bytes_ -= piece->bytes;
        if (copied) other.copied_bytes_ -= piece->bytes;
        // Relinked, so neither a block nor a reference count is touched.
        other.head_ = std::exchange(piece->next, nullptr);
        if (other.head_ == nullptr) other.tail_ = nullptr;
        push(piece);
        if (copied) copied_bytes_ += piece->bytes;
    }
}

void SendQueue::append_part(BlockPool& pool, const Piece& piece, std::uint64_t bytes) {
    switch (piece.kind) {
        case PieceKind::block:
            append(pool, {piece.data, static_cast<std::size_t>(bytes)});
            break;
        case PieceKind::shared:
            append_shared({piece.data, static_cast<std::size_t>(bytes)},
                          static_cast<const SharedPiece&>(piece).owner,
                          static_cast<const SharedPiece&>(piece).pool);
            break;
        case PieceKind::file: {
            const auto& range = static_cast<const FilePiece&>(piece);
            append_file(range.file, range.offset, bytes);
            break;
        }
    }
}

std::size_t SendQueue::gather(std::span<iovec> out) const {
    std::size_t count = 0;
    for (Piece* piece = head_; piece != nullptr && count < out.size(); piece = piece->next) {
        // A file goes by another system call, after what is before it.
        if (piece->kind == PieceKind::file) break;
        // A block that was reserved and not filled yet.
        if (piece->bytes == 0) continue;
        out[count++] = {const_cast<char*>(piece->data), static_cast<std::size_t>(piece->bytes)};
    }
    return count;
}

// Whether a file follows the gathered pieces at once: then the kernel holds back a part of a packet
// (MSG_MORE), and head and file leave together.
bool SendQueue::file_after(std::size_t count) const {
    for (const Piece* piece = head_; piece != nullptr; piece = piece->next) {
        if (piece->kind == PieceKind::file) return count == 0;
        if (piece->bytes == 0) continue;
        if (count == 0) return false;
        --count;
    }
    return false;
}

SendQueue::FileRange SendQueue::front_file() const {
    if (head_ == nullptr || head_->kind != PieceKind::file) return {};
    const auto* piece = static_cast<const FilePiece*>(head_);
    return {piece->file->descriptor(), piece->offset, piece->bytes};
}

void SendQueue::consume(std::uint64_t bytes) {
    TR_CHECK(bytes <= bytes_);
    bytes_ -= bytes;
    while (head_ != nullptr) {
        const std::uint64_t from_piece = std::min(bytes, head_->bytes);
        if (head_->kind == PieceKind::block) copied_bytes_ -= from_piece;
        if (bytes < head_->bytes) {
            // A shared body counts until its bytes are sent, not until all of it is.
            if (head_->kind == PieceKind::shared) {
                static_cast<SharedPiece*>(head_)->uncount(bytes);
            }
            head_->bytes -= bytes;
            // sendfile() is given the offset in each call, so the file's own position is never
            // used, and several queues can send one open file.
            if (head_->kind == PieceKind::file) {
                static_cast<FilePiece*>(head_)->offset += bytes;
            } else {
                head_->data += bytes;
            }
            return;
        }
        bytes -= head_->bytes;
        pop();
    }
}

void SendQueue::pop() {
    Piece* piece = head_;
    head_ = piece->next;
    if (head_ == nullptr) tail_ = nullptr;
    switch (piece->kind) {
        case PieceKind::block: {
            // Read before the block becomes a link of the pool's list.
            BlockPool* pool = static_cast<Block*>(piece)->pool;
            pool->give_back(piece);
            break;
        }
        case PieceKind::shared:
            static_cast<SharedPiece*>(piece)->uncount(piece->bytes);
            delete static_cast<SharedPiece*>(piece);
            break;
        case PieceKind::file:
            delete static_cast<FilePiece*>(piece);
            break;
    }
}

void SendQueue::clear() {
    // Iterative on purpose: a long chain freed by nested destructors would overflow the stack.
    while (head_ != nullptr) pop();
    bytes_ = 0;
    copied_bytes_ = 0;
}

}  // namespace tiderace::core
