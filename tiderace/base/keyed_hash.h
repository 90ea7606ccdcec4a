// KeyedHash: the hash for tables whose keys come from peers (topics, paths): SipHash-1-3 with a
// random key for each table. A hash that anyone can compute lets a peer choose names that all share
// one bucket, and std::hash has such names for every seed.
//
//   std::unordered_map<std::string, T, KeyedHash, std::equal_to<>> by_name;
//
// Owner    The table, which copies it. The key never leaves the process.
// Thread   Any; construction reads the kernel's generator.
// Keywords: SipHash, hash flooding
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace {

struct SipKey {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

// SipHash with that many rounds for each eight bytes and at the end (Aumasson and Bernstein, 2012).
// The numbers are constants, so that the rounds are unrolled. Defined for 1-3 and 2-4.
template <int Rounds, int LastRounds>
std::uint64_t sip_hash(ByteView bytes, const SipKey& key);

class KeyedHash {
  public:
    using is_transparent = void;

    // A key of its own.
    KeyedHash();
    explicit KeyedHash(const SipKey& key) : key_(key) {}

    std::size_t operator()(ByteView bytes) const { return sip_hash<1, 3>(bytes, key_); }

  private:
    SipKey key_;
};

}  // namespace tiderace
