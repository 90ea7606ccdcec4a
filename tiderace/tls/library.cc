#include "tiderace/tls/library.h"

#include "tiderace/tls/openssl.h"

namespace tiderace::tls {

bool is_built_in() {
    return true;
}

std::string library_text() {
    return OpenSSL_version(OPENSSL_VERSION);
}

}  // namespace tiderace::tls
