// library: which TLS this program has. Without OpenSSL (TIDERACE_TLS=OFF) this room still compiles
// (openssl_absent.cc): every create() fails with one clear sentence.
//
// Thread   Any.
#pragma once

#include <string>

namespace tiderace::tls {

// False: everything of this room fails.
bool is_built_in();

// For `version -v`: "OpenSSL 3.0.22 25 Aug 2026".
std::string library_text();

}  // namespace tiderace::tls
