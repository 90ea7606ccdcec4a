// Certificates: made when a test runs, never committed: an authority of the test's own, and what it
// signs, as PEM files in a TemporaryFolder.
//
//   testing::Authority authority;
//   auto files = authority.issue(folder, "server", {.names = {"localhost"}});
//   options.certificates = {files};    client.ca = authority.write(folder, "ca.pem");
//
// Owner    The test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tiderace/testing/temporary_folder.h"
#include "tiderace/tls/server_options.h"

namespace tiderace::testing {

enum class KeyKind : std::uint8_t { p256, rsa_2048, rsa_1024, secp256k1 };

struct Wanted {
    std::vector<std::string> names{"localhost"};
    std::string common_name = "test";
    KeyKind key = KeyKind::p256;
    long valid_from = -3'600;  // seconds from now
    long valid_until = 30 * 86'400;
};

class Authority {
  public:
    Authority();
    ~Authority();

    // Writes NAME.pem (with the authority's certificate behind it) and NAME.key.
    tls::CertificateFiles issue(const TemporaryFolder& folder, const std::string& name,
                                const Wanted& wanted = {}) const;
    // Writes the authority's own certificate; its path.
    std::string write(const TemporaryFolder& folder, const std::string& name) const;

  private:
    struct Pair;
    std::unique_ptr<Pair> own_;
};

}  // namespace tiderace::testing
