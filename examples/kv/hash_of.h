// hash_of: the hash of all tables here, with a key of the process, because clients choose the keys.
#pragma once

#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/base/keyed_hash.h"

namespace kv {

inline std::uint64_t hash_of(tiderace::ByteView key) {
    static const tiderace::KeyedHash hash;
    return hash(key);
}

}  // namespace kv
