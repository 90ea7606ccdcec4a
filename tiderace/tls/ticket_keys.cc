#include "tiderace/tls/ticket_keys.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <cstring>
#include <new>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::tls {
namespace {

Result<TicketKey> make_key() {
    TicketKey key{};
    if (RAND_bytes(key.name.data(), static_cast<int>(key.name.size())) != 1 ||
        // The private generator: its state is not exposed by the public random bytes in names and
        // nonces.
        RAND_priv_bytes(key.cipher_key.data(), static_cast<int>(key.cipher_key.size())) != 1 ||
        RAND_priv_bytes(key.mac_key.data(), static_cast<int>(key.mac_key.size())) != 1) {
        return fail(Error(0, "make", "a session ticket key", take_openssl_error()));
    }
    return key;
}

}  // namespace

TicketKey::~TicketKey() {
    OPENSSL_cleanse(cipher_key.data(), cipher_key.size());
    OPENSSL_cleanse(mac_key.data(), mac_key.size());
}

Result<std::shared_ptr<const TicketKeys>> TicketKeys::fresh() {
    return TicketKeys().rotated();
}

Result<std::shared_ptr<const TicketKeys>> TicketKeys::rotated() const {
    auto key = make_key();
    if (!key) return fail(key.error());
    auto next = std::make_shared<TicketKeys>();
    next->keys_.reserve(keys_max);
    next->keys_.push_back(*key);
    // Older keys stay to open tickets that were sealed with them, until keys_max pushes them out.
    for (const TicketKey& old : keys_) {
        if (next->keys_.size() < keys_max) next->keys_.push_back(old);
    }
    return std::shared_ptr<const TicketKeys>(std::move(next));
}

const TicketKey* TicketKeys::find(const unsigned char* name) const {
    for (const TicketKey& key : keys_) {
        // The name is sent in clear text, so a comparison in constant time would protect nothing.
        if (std::memcmp(key.name.data(), name, key.name.size()) == 0) return &key;
    }
    return nullptr;
}

Result<std::shared_ptr<const TicketKeys>> TicketShare::keys(Instant now) {
    const std::lock_guard held(lock_);
    if (keys_ != nullptr && now < moment_after(renewed_at_, period_)) return keys_;
    Result<std::shared_ptr<const TicketKeys>> next = keys_;
    try {
        next = keys_ == nullptr ? TicketKeys::fresh() : keys_->rotated();
    } catch (const std::bad_alloc&) {
        if (keys_ == nullptr) throw;
    }
    if (next) {
        keys_ = std::move(*next);
    } else if (keys_ == nullptr) {
        return next;
    }
    // After a failure, too: tickets stay safe, only longer than planned.
    renewed_at_ = now;
    return keys_;
}

}  // namespace tiderace::tls
