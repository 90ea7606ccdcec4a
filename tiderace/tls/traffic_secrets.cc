#include "tiderace/tls/traffic_secrets.h"

#include <openssl/crypto.h>

#include "tiderace/base/ascii.h"

namespace tiderace::tls {
namespace {

// 0: not hexadecimal, or too long.
std::size_t read_hex(ByteView hex, TrafficSecrets::Secret& into) {
    if (hex.size() % 2 != 0 || hex.size() / 2 > into.size()) return 0;
    for (std::size_t i = 0; i < hex.size() / 2; ++i) {
        const int high = hex_value(hex[2 * i]);
        const int low = hex_value(hex[2 * i + 1]);
        if (high < 0 || low < 0) return 0;
        into[i] = static_cast<unsigned char>(high * 16 + low);
    }
    return hex.size() / 2;
}

}  // namespace

TrafficSecrets::~TrafficSecrets() {
    OPENSSL_cleanse(client.data(), client.size());
    OPENSSL_cleanse(server.data(), server.size());
}

// A line in NSS's key log format. OpenSSL's key log callback is its only public way to the secrets.
bool TrafficSecrets::take_line(ByteView line) {
    const bool of_client = line.starts_with("CLIENT_TRAFFIC_SECRET_0 ");
    if (!of_client && !line.starts_with("SERVER_TRAFFIC_SECRET_0 ")) return false;
    const std::size_t got = read_hex(line.substr(line.rfind(' ') + 1), of_client ? client : server);
    if (got == 0 || (bytes != 0 && bytes != got)) return false;
    bytes = got;
    (of_client ? has_client : has_server) = true;
    return true;
}

}  // namespace tiderace::tls
