#include "tiderace/http/wire/sha256.h"

#include <cstring>

#include "tiderace/http/wire/sha256_block.h"

namespace tiderace::http::wire {
namespace {

ByteView view_of(const auto& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Sha256Message::add(ByteView bytes) {
    blocks_.add(bytes, [this](const unsigned char* block) { absorb(block); });
}

Sha256 Sha256Message::end() {
    blocks_.end([this](const unsigned char* block) { absorb(block); });
    return HashBlocks::digest(state_);
}

void Sha256Message::absorb(const unsigned char* block) {
    static const Sha256Absorb by_instructions = absorb_by_instructions();
    (by_instructions != nullptr ? by_instructions : absorb_in_cpp)(state_, block);
}

Sha256 sha256(ByteView bytes) {
    Sha256Message digest;
    digest.add(bytes);
    return digest.end();
}

Sha256 hmac_sha256(ByteView key, ByteView first, ByteView second) {
    std::array<unsigned char, Sha256Message::block_bytes> padded{};
    if (key.size() > Sha256Message::block_bytes) {
        const Sha256 shortened = sha256(key);
        std::memcpy(padded.data(), shortened.data(), shortened.size());
    } else if (!key.empty()) {
        std::memcpy(padded.data(), key.data(), key.size());
    }
    for (auto& byte : padded) byte ^= 0x36;
    Sha256Message inner;
    inner.add(view_of(padded));
    inner.add(first);
    inner.add(second);
    const Sha256 hashed = inner.end();
    for (auto& byte : padded) byte ^= 0x36 ^ 0x5C;
    Sha256Message outer;
    outer.add(view_of(padded));
    outer.add(view_of(hashed));
    return outer.end();
}

}  // namespace tiderace::http::wire
