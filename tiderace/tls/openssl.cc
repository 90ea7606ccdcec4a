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

int take_tls_reason() {
    int reason = 0;
    for (unsigned long error = 0; (error = ERR_get_error()) != 0;) {
        if (reason == 0 && ERR_GET_LIB(error) == ERR_LIB_SSL) reason = ERR_GET_REASON(error);
    }
    return reason;
}

}  // namespace tiderace::tls
