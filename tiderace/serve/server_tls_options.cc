#include "tiderace/serve/server_tls_options.h"

#include "tiderace/tls/self_signed.h"

namespace tiderace::tcp {

Result<tls::ServerOptions> server_tls_options(const TlsServer& options, std::string* authority) {
    tls::ServerOptions made;
    for (const TlsFiles& files : options.certificates) {
        if (!files.development) {
            made.certificates.push_back({files.certificate, files.key});
            continue;
        }
        const auto development = tls::self_signed();
        if (!development) return fail(development.error());
        made.certificates.push_back({development->certificate_file, development->key_file});
        if (authority != nullptr) *authority = development->authority_file;
    }
    if (options.client_ca.empty()) return made;
    made.client_ca = options.client_ca;
    made.client_certificates = options.client_required ? tls::ClientCertificates::required
                                                       : tls::ClientCertificates::optional;
    return made;
}

}  // namespace tiderace::tcp
