#include "tiderace/tls/openssl.h"

#include <openssl/err.h>

namespace tiderace::tls {

std::string take_openssl_error() {
    const unsigned long first = ERR_peek_error();
    ERR_clear_error();
    if (first == 0) return {};
    const char* reason = ERR_reason_error_string(first);
    if (reason != nullptr) return reason;
    return "error " + std::to_string(first);
}

int first_openssl_reason() {
    return ERR_GET_REASON(ERR_peek_error());
}

}  // namespace tiderace::tls
