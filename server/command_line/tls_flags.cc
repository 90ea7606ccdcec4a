#include "server/command_line/tls_flags.h"

#include <algorithm>

#include "server/listen_address.h"

namespace tiderace::server {
namespace {

constexpr std::string_view default_https = "127.0.0.1:8443";

}  // namespace

Applied set_tls(ServeOptions& options, std::string_view value) {
    std::vector<std::string> names(1);
    for (const char c : value) {
        if (c == ',') {
            names.emplace_back();
        } else {
            names.back() += c;
        }
    }
    // An empty part is most likely a variable that was not set.
    if (names.size() > 2 || std::ranges::any_of(names, &std::string::empty)) {
        return std::unexpected(
            "expects CERT,KEY, two PEM files, for example cert.pem,key.pem, or one file with both");
    }
    const CertificateFiles files{.certificate = names[0], .key = names.back()};
    auto& all = options.tls.certificates;
    if (std::ranges::find(all, files.certificate, &CertificateFiles::certificate) != all.end()) {
        return std::unexpected("this certificate is given twice");
    }
    all.push_back(files);
    return {};
}

Applied set_https_redirect(ServeOptions& options, std::string_view value) {
    if (!parse_listen_address(value)) {
        return std::unexpected("expects HOST:PORT, or :PORT for all addresses, for example :8080");
    }
    auto& all = options.tls.https_redirect;
    if (!parse_listen_address(value)->is_any_port() && std::ranges::find(all, value) != all.end()) {
        return std::unexpected("this address is given twice");
    }
    all.emplace_back(value);
    return {};
}

Applied settle_tls(ServeOptions& options, bool has_tls) {
    const TlsOptions& tls = options.tls;
    if (tls.on() && !has_tls) {
        return std::unexpected(std::string(tls.self_signed ? "--tls-self-signed" : "--tls") +
                               ": this program was built without TLS; it needs OpenSSL 3.0 or "
                               "later and -DTIDERACE_TLS=ON");
    }
    if (!tls.on()) {
        const char* alone = !tls.https_redirect.empty()          ? "--https-redirect"
                            : tls.https_port                     ? "--https-port"
                            : tls.hsts > Duration::zero()        ? "--hsts"
                            : tls.client_auth != ClientAuth::off ? "--tls-client-auth"
                            : tls.client_ca.has_value()          ? "--tls-client-ca"
                                                                 : nullptr;
        // A flag that has no effect alone is refused, because its user believes the site is
        // encrypted.
        if (alone == nullptr) return {};
        return std::unexpected(std::string(alone) +
                               " needs a certificate: --tls CERT,KEY or --tls-self-signed");
    }
    if (tls.self_signed && !tls.certificates.empty()) {
        return std::unexpected("--tls-self-signed and --tls: choose one");
    }
    if (tls.self_signed && tls.hsts > Duration::zero()) {
        // It would outlive the certificate in the browser, and leave no way past its warning.
        return std::unexpected("--hsts needs a certificate that browsers trust: --tls CERT,KEY");
    }
    if (tls.client_auth != ClientAuth::off && !tls.client_ca) {
        return std::unexpected("--tls-client-auth needs --tls-client-ca: the authorities to trust");
    }
    if (tls.client_auth == ClientAuth::off && tls.client_ca) {
        return std::unexpected("--tls-client-ca does nothing without --tls-client-auth");
    }
    for (const std::string& plain : tls.https_redirect) {
        // A port speaks one of both.
        if (std::ranges::find(options.listen, plain) == options.listen.end()) continue;
        const auto address = parse_listen_address(plain);
        if (address && address->is_any_port()) continue;  // the kernel gives each its own
        return std::unexpected("--https-redirect " + plain + " is what --listen encrypts");
    }
    // Another port than http's, so that both may run side by side, and a browser that remembers
    // http at 8080 does not meet TLS there.
    if (options.listen_is_default) options.listen = {std::string(default_https)};
    return {};
}

}  // namespace tiderace::server
