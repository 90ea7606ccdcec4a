// `tiderace trust`: how to make this machine trust the certificate of --tls-self-signed.
//
// Thread   Main only, before the loops run: it reads and writes the user's files.
// Errors   See tls/self_signed.h.
#pragma once

#include <functional>
#include <string>

#include "tiderace/tls/self_signed.h"

namespace tiderace::server {

// The commands to type, on the system that has these files ("/usr/local/share/ca-certificates", …).
std::string trust_text(const tls::SelfSigned& certificate,
                       const std::function<bool(const std::string& path)>& exists);
std::string trust_text(const tls::SelfSigned& certificate);

// "localhost, box, 192.168.1.5": its names, without the names that every machine has.
std::string names_text(const tls::LocalNames& names);

}  // namespace tiderace::server
