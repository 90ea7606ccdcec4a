#include "tiderace/http/app/signed/signing_keys.h"

#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"
#include "tiderace/base/constant_time.h"
#include "tiderace/http/wire/sha256.h"

namespace tiderace::http {
namespace {

std::string signature(std::string_view key, std::string_view kind, std::string_view text) {
    std::string named(kind);
    named += '\0';
    return hex_text(wire::hmac_sha256(key, named, text));
}

}  // namespace

SigningKeys::SigningKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {
    TR_CHECK(!keys_.empty(), "what signs needs a key");
    for (const std::string& key : keys_) {
        TR_CHECK(key.size() >= key_bytes_min, "a key that signs has at least 32 bytes");
    }
}

std::string SigningKeys::sign(std::string_view kind, std::string_view text) const {
    // The first key signs; the others only verify, so that keys can be replaced one by one.
    return signature(keys_.front(), kind, text);
}

bool SigningKeys::verify(std::string_view kind, std::string_view text,
                         std::string_view given) const {
    bool good = false;
    for (const std::string& key : keys_) {
        // All keys are tried, so that timing does not show which one fits.
        good |= equals_in_constant_time(signature(key, kind, text), given);
    }
    return good;
}

}  // namespace tiderace::http
