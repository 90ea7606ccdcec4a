#include "tiderace/tls/openssl.h"

#include <openssl/err.h>

namespace tiderace::tls {

std::string take_openssl_error() {
    // The first entry is the cause; later ones report that callers failed because of it. The queue
    // must end empty, because SSL_get_error() reads it.
    const unsigned long first = ERR_peek_error();
    ERR_clear_error();
    if (first == 0) return {};
    const char* reason = ERR_reason_error_string(first);
    if (reason != nullptr) return reason;
    return "error " + std::to_string(first);
}

TlsFault take_tls_fault() {
    TlsFault fault;
    for (unsigned long error = 0; (error = ERR_get_error()) != 0;) {
        const int reason = ERR_GET_REASON(error);
        fault.no_memory = fault.no_memory || reason == ERR_R_MALLOC_FAILURE;
        // Entries of other libraries (ASN.1, EVP) are details; only those of TLS have a reason to
        // count.
        if (fault.reason == 0 && ERR_GET_LIB(error) == ERR_LIB_SSL) fault.reason = reason;
    }
    return fault;
}

}  // namespace tiderace::tls
