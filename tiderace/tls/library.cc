#include "tiderace/tls/library.h"

#include "tiderace/tls/kernel_tls.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::tls {

bool is_built_in() {
    return true;
}

std::string library_text() {
    return std::string(OpenSSL_version(OPENSSL_VERSION)) +
           "; kTLS: " + std::string(to_string(find_kernel_tls(core::system_kernel())));
}

}  // namespace tiderace::tls
