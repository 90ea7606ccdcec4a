#include "tiderace/http/coding/encoder_memory.h"

#include <cstdlib>
#include <new>

#include "tiderace/base/check.h"

namespace tiderace::http::coding {

// Header in front of the requested bytes, which keeps their alignment.
struct alignas(std::max_align_t) EncoderMemory::Block {
    std::size_t bytes;
};

EncoderMemory::~EncoderMemory() {
    TR_CHECK(used_bytes_ == 0, "an encoder outlives its memory");
    for (Block* block : kept_) std::free(block);
}

void* EncoderMemory::take(std::size_t bytes) {
    for (Block*& kept : kept_) {
        // As large, or a little larger: the small ones must not use up the large.
        if (kept->bytes < bytes || kept->bytes - bytes > bytes / 8) continue;
        Block* block = kept;
        kept = kept_.back();
        kept_.pop_back();
        kept_bytes_ -= block->bytes;
        used_bytes_ += block->bytes;
        return block + 1;
    }
    void* memory = std::malloc(sizeof(Block) + bytes);
    if (memory == nullptr) return nullptr;
    used_bytes_ += bytes;
    return ::new (memory) Block{bytes} + 1;
}

void EncoderMemory::give_back(void* memory) {
    if (memory == nullptr) return;
    Block* block = static_cast<Block*>(memory) - 1;
    used_bytes_ -= block->bytes;
    if (kept_bytes_ + block->bytes > kept_bytes_max) {
        std::free(block);
        return;
    }
    kept_bytes_ += block->bytes;
    kept_.push_back(block);
}

}  // namespace tiderace::http::coding
