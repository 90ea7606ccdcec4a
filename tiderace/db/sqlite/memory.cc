#include "tiderace/db/sqlite/memory.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "tiderace/task/frame_pool.h"

namespace tiderace::db::sqlite {
namespace {

using task::FramePool;

// In front of each block, because the pool and SQLite need its size. SQLite's blocks are aligned
// to eight bytes.
struct Header {
    std::size_t bytes;  // with the header
};

Header* header_of(void* block) {
    return static_cast<Header*>(block) - 1;
}

// As much as the pool would take for it anyway, so that SQLite can use all of it.
std::size_t whole_bytes(int wanted) {
    const std::size_t bytes = static_cast<std::size_t>(wanted) + sizeof(Header);
    return (bytes + FramePool::class_bytes - 1) / FramePool::class_bytes * FramePool::class_bytes;
}

void* allocate(int wanted) noexcept {
    const std::size_t bytes = whole_bytes(wanted);
    try {
        return ::new (FramePool::allocate(bytes)) Header{bytes} + 1;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void release(void* block) noexcept {
    Header* const header = header_of(block);
    FramePool::free(header, header->bytes);
}

void* resize(void* block, int wanted) noexcept {
    const std::size_t before = header_of(block)->bytes;
    const std::size_t bytes = whole_bytes(wanted);
    if (bytes == before) return block;
    void* const made = allocate(wanted);
    if (made == nullptr) return nullptr;  // the old one stays
    std::memcpy(made, block, std::min(before, bytes) - sizeof(Header));
    release(block);
    return made;
}

int size_of(void* block) noexcept {
    return static_cast<int>(header_of(block)->bytes - sizeof(Header));
}

int rounded(int wanted) noexcept {
    return static_cast<int>(whole_bytes(wanted) - sizeof(Header));
}

int begin(void*) noexcept {
    return SQLITE_OK;
}
void end(void*) noexcept {}

}  // namespace

bool leave_memory_uncounted() {
    if (sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK) return false;
    static const sqlite3_mem_methods methods = {
        .xMalloc = allocate,
        .xFree = release,
        .xRealloc = resize,
        .xSize = size_of,
        .xRoundup = rounded,
        .xInit = begin,
        .xShutdown = end,
        .pAppData = nullptr,
    };
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
}

}  // namespace tiderace::db::sqlite
