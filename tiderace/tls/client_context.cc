#include "tiderace/tls/client_context.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

#include "tiderace/tls/certificate.h"
#include "tiderace/tls/loop_parts.h"
#include "tiderace/tls/read_file.h"
#include "tiderace/tls/ssl_settings.h"
#include "tiderace/tls/tls_transport.h"

namespace tiderace::tls {
namespace {

struct FreedByOpenssl {
    void operator()(char* text) const { OPENSSL_free(text); }
};

}  // namespace

class ClientContext::Endpoint final : public tls::Endpoint {
  public:
    explicit Endpoint(ClientContext& context) : context_(&context) {}

    LoopParts& parts() override { return *context_->parts_; }
    SslPtr make_ssl() override { return SslPtr(SSL_new(ssl_context.get())); }
    std::string_view known_protocol(std::string_view chosen) const override {
        for (const std::string& known : context_->options_.protocols) {
            // Only names that we offered can be chosen; the view has to outlive the SSL that holds
            // the answer.
            if (known == chosen) return known;
        }
        return {};
    }
    std::string_view plain_http_answer() const override { return {}; }

    void keep_sessions() {
        // OpenSSL's own store is keyed by session id, which a client has no use for; ours is keyed
        // by name.
        SSL_CTX_set_session_cache_mode(ssl_context.get(),
                                       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_set_app_data(ssl_context.get(), this);
        SSL_CTX_sess_set_new_cb(ssl_context.get(), &Endpoint::on_session);
    }
    // Offers a copy: a connection that is cut marks its session as not resumable.
    void offer_session(SSL* ssl) const {
        const auto found = sessions_.find(verified_name(ssl));
        if (found == sessions_.end() ||
            outlives_its_certificate(found->second.get(), context_->parts_->loop().unix_now())) {
            return;
        }
        const SslSessionPtr copy(SSL_SESSION_dup(found->second.get()));
        if (copy != nullptr) SSL_set_session(ssl, copy.get());
    }

    SslContextPtr ssl_context;

  private:
    // The name that the certificate was checked for. A resumed session checks no certificate, so it
    // must never be offered for another name.
    static std::string verified_name(SSL* ssl) {
        if (const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)) return name;
        const std::unique_ptr<char, FreedByOpenssl> ip(
            X509_VERIFY_PARAM_get1_ip_asc(SSL_get0_param(ssl)));
        return ip != nullptr ? ip.get() : "";
    }
    static int on_session(SSL* ssl, SSL_SESSION* session) {
        auto& self = *static_cast<Endpoint*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
        // No exception crosses OpenSSL's frames: without memory the session is not kept.
        try {
            std::string name = verified_name(ssl);
            SslSessionPtr copy(SSL_SESSION_dup(session));
            // A full table keeps its entries: a name without one only costs a full handshake.
            const bool has_room =
                self.sessions_.size() < resumed_names_max || self.sessions_.contains(name);
            if (copy != nullptr && has_room) self.sessions_[std::move(name)] = std::move(copy);
        } catch (const std::bad_alloc&) {
        }
        return 0;  // `session` stays OpenSSL's
    }

    ClientContext* context_;
    std::map<std::string, SslSessionPtr> sessions_;
};

namespace {

Result<> trust(SSL_CTX* context, const ClientOptions& options) {
    SSL_CTX_set_verify(context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (options.system_roots && SSL_CTX_set_default_verify_paths(context) != 1) {
        return fail(Error(0, "load", "the system's trusted roots", take_openssl_error()));
    }
    if (options.ca.empty()) return {};
    auto text = read_file(options.ca, Certificate::file_bytes_max);
    if (!text) return fail(text.error());
    return trust_authorities(context, options.ca, *text);
}

// The look of the files and folders that SSL_CTX_set_default_verify_paths() takes. A certificate in
// a folder is read when it is needed, and then kept.
std::string look_at_system_roots() {
    const auto or_default = [](const char* variable, const char* path) {
        const char* const set = std::getenv(variable);
        return std::string(set != nullptr ? set : path);
    };
    std::string look =
        file_look(or_default(X509_get_default_cert_file_env(), X509_get_default_cert_file()));
    std::string folders = or_default(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        look += file_look(folders.substr(at, end - at));
        at = end + 1;
    }
    return look;
}

Result<> identify(SSL_CTX* context, const CertificateFiles& files) {
    if (files.certificate.empty()) return {};
    auto own = Certificate::load(files);
    if (!own) return fail(own.error());
    return own->use_in(context);
}

// True: the certificate has to be for `name`.
bool expect_name(SSL* ssl, std::string name) {
    // "example.org." is the same host, absolute; neither SNI (RFC 6066, 3) nor a certificate has
    // the dot.
    if (name.ends_with('.')) name.pop_back();
    // A NUL would end the name early for OpenSSL: "good.example\0.evil.example" would pass as
    // another.
    if (name.empty() || name.find('\0') != std::string::npos) return false;
    X509_VERIFY_PARAM* rules = SSL_get0_param(ssl);
    // An address is never sent as SNI (RFC 6066, 3), so the host's settings below are skipped.
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1) return true;
    // "f*.example.org" is refused; a wildcard is a whole label (RFC 6125, 6.4.3).
    // A subject's common name is no host's, which anyone may have been given (RFC 9110, 4.3.4).
    X509_VERIFY_PARAM_set_hostflags(
        rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(ssl, name.c_str()) == 1 &&
           SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

}  // namespace

ClientContext::ClientContext(core::EventLoop& loop, ClientOptions options)
    : options_(std::move(options)),
      parts_(std::make_unique<LoopParts>(loop, 8, options_.handshake_timeout)),
      endpoint_(std::make_unique<Endpoint>(*this)) {}

ClientContext::~ClientContext() = default;

std::string ClientContext::look_at_files(const ClientOptions& options) {
    std::string look;
    for (const std::string& path :
         {options.ca, options.certificate.certificate, options.certificate.key}) {
        if (!path.empty()) look += file_look(path);
    }
    return options.system_roots ? look + look_at_system_roots() : look;
}

Result<std::unique_ptr<ClientContext>> ClientContext::create(core::EventLoop& loop,
                                                             ClientOptions options) {
    std::unique_ptr<ClientContext> made(new ClientContext(loop, std::move(options)));
    SslContextPtr context(SSL_CTX_new(TLS_client_method()));
    if (context == nullptr) return fail(Error(0, "make", "SSL_CTX", take_openssl_error()));
    if (auto done = apply_settings(context.get()); !done) return fail(done.error());
    if (auto done = trust(context.get(), made->options_); !done) return fail(done.error());
    if (auto done = identify(context.get(), made->options_.certificate); !done) {
        return fail(done.error());
    }
    auto alpn = alpn_bytes(made->options_.protocols);
    if (!alpn) return fail(alpn.error());
    // 0 is its success.
    if (SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(alpn->data()),
                                static_cast<unsigned>(alpn->size())) != 0) {
        return fail(Error(0, "set up", "TLS", take_openssl_error()));
    }
    made->endpoint_->ssl_context = std::move(context);
    if (made->options_.resume) made->endpoint_->keep_sessions();
    return made;
}

std::unique_ptr<net::Transport> ClientContext::wrap(std::unique_ptr<net::Transport> below,
                                                    const std::string& server_name) {
    parts_->loop().assert_on_loop();
    SslPtr ssl = endpoint_->make_ssl();
    if (ssl == nullptr || !expect_name(ssl.get(), server_name)) {
        take_openssl_error();
        return nullptr;
    }
    SSL_set_connect_state(ssl.get());
    if (options_.resume) endpoint_->offer_session(ssl.get());
    return std::make_unique<TlsTransport>(*endpoint_, std::move(below), std::move(ssl));
}

const HandshakeCounters& ClientContext::counters() const {
    return parts_->counters();
}

}  // namespace tiderace::tls
