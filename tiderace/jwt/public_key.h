// Internal. PublicKey: what verifies a signature, by OpenSSL. Nothing else here includes it.
//
// Owner    The Verifier.
// Thread   Any, at once: constant.
// Errors   make(): an Error that says what the key's text is not. A signature that is not good is
//          false, and leaves nothing in the thread's queue of OpenSSL's errors, which TLS reads.
#pragma once

#include <memory>
#include <string_view>

#include "tiderace/base/result.h"
#include "tiderace/jwt/verifier.h"

namespace tiderace::jwt {

class PublicKey final {
  public:
    static Result<PublicKey> make(const Key& key);

    Algorithm algorithm() const { return algorithm_; }
    const std::string& id() const { return id_; }
    bool verify(std::string_view text, std::string_view signature) const;

  private:
    explicit PublicKey(const Key& key) : algorithm_(key.algorithm), id_(key.id) {}

    bool verify_with_key(std::string_view text, std::string_view signature) const;

    Algorithm algorithm_;
    std::string id_;
    std::string secret_;         // of hs256
    std::shared_ptr<void> key_;  // an EVP_PKEY; null for hs256
};

}  // namespace tiderace::jwt
