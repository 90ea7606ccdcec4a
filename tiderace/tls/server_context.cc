#include "tiderace/tls/server_context.h"

#include <openssl/core_names.h>
#include <openssl/rand.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/moment.h"
#include "tiderace/base/secret_text.h"
#include "tiderace/core/contain.h"
#include "tiderace/tls/certificate_set.h"
#include "tiderace/tls/loop_parts.h"
#include "tiderace/tls/openssl.h"
#include "tiderace/tls/read_file.h"
#include "tiderace/tls/record_cipher.h"
#include "tiderace/tls/ssl_records.h"
#include "tiderace/tls/ssl_settings.h"
#include "tiderace/tls/tls_transport.h"

namespace tiderace::tls {

class ServerContext::Endpoint final : public tls::Endpoint {
  public:
    explicit Endpoint(ServerContext& context) : context_(&context) {}

    LoopParts& parts() override { return *context_->parts_; }
    SslPtr make_ssl() override {
        SslPtr ssl(SSL_new(context_->certificates_->by_default()));
        if (ssl != nullptr) SSL_set_accept_state(ssl.get());
        return ssl;
    }
    std::string_view known_protocol(std::string_view chosen) const override {
        for (const std::string& known : context_->options_.protocols) {
            if (known == chosen) return known;
        }
        return {};
    }
    std::string_view plain_http_answer() const override {
        return context_->options_.plain_http_answer;
    }

  private:
    ServerContext* context_;
};

struct ServerContext::Next {
    ServerOptions options;
    std::string alpn = {};
    std::unique_ptr<CertificateSet> certificates = {};  // nullptr: the same
    std::string look = {};
};

class ServerContext::ReloadTimer final : public core::Timer {
  public:
    explicit ReloadTimer(ServerContext& context) : context_(&context) {}

  private:
    void on_expired() TR_ON_LOOP override { context_->look_for_changes(); }

    ServerContext* context_;
};

// The functions that OpenSSL calls during a handshake. `arg` and the SSL_CTX's app data are the
// context.
struct ServerCallbacks {
    static ServerContext& context_of(const SSL* ssl) {
        return *static_cast<ServerContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    }

    static int on_server_name(SSL* ssl, int*, void* arg) {
        const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
        // Without a name the client gets the default certificate, which it started with.
        if (asked == nullptr) return SSL_TLSEXT_ERR_NOACK;
        // No exception crosses OpenSSL's frames: the handshake fails instead.
        try {
            SSL_CTX* found =
                static_cast<ServerContext*>(arg)->certificates_->find(lower_case(asked));
            if (found != SSL_get_SSL_CTX(ssl) && SSL_set_SSL_CTX(ssl, found) == nullptr) {
                return SSL_TLSEXT_ERR_ALERT_FATAL;
            }
        } catch (const std::bad_alloc&) {
            return SSL_TLSEXT_ERR_ALERT_FATAL;
        }
        return SSL_TLSEXT_ERR_OK;
    }

    static int on_protocols(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                            const unsigned char* offered, unsigned offered_bytes, void* arg) {
        const std::string& ours = static_cast<ServerContext*>(arg)->alpn_;
        unsigned char* found = nullptr;
        const int outcome = SSL_select_next_proto(
            &found, chosen_bytes, reinterpret_cast<const unsigned char*>(ours.data()),
            static_cast<unsigned>(ours.size()), offered, offered_bytes);
        // RFC 7301, 3.2: without a common protocol the handshake fails, instead of a guess.
        if (outcome != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
        *chosen = found;
        return SSL_TLSEXT_ERR_OK;
    }

    static const EVP_CIPHER* ticket_cipher() {
        // Fetched once, as in Suite13::find(); its MAC is what protects CBC here (RFC 5077, 4).
        static EVP_CIPHER* const aes = EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr);
        return aes;
    }

    // Things that are made once are made before the first connection: later there may be no memory
    // for them, and they would be missing for ever.
    static Result<> prepare() {
        Suite13::find(nullptr);
        if (prepare_stream_bio() && ticket_cipher() != nullptr) return {};
        return fail(Error(0, "set up", "TLS", take_openssl_error()));
    }

    // 1: go on; 2: and make a new ticket; 0: no ticket, or not one of ours; -1: an error.
    static int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                         EVP_MAC_CTX* mac, int sealing) {
        const TicketKeys* keys = context_of(ssl).ticket_keys_.get();
        const TicketKey* key = sealing != 0 ? &keys->sealing() : keys->find(name);
        // An unknown name is a ticket from before a restart, or of another server: a full handshake
        // follows.
        if (key == nullptr) return 0;
        constexpr int iv_bytes = 16;
        if (sealing != 0) {
            std::memcpy(name, key->name.data(), key->name.size());
            if (RAND_bytes(iv, iv_bytes) != 1) return -1;
        }
        std::array<char, 7> digest{"SHA256"};
        const std::array<OSSL_PARAM, 2> how{
            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
            OSSL_PARAM_construct_end()};
        if (EVP_MAC_init(mac, key->mac_key.data(), key->mac_key.size(), how.data()) != 1 ||
            EVP_CipherInit_ex(cipher, ticket_cipher(), nullptr, key->cipher_key.data(), iv,
                              sealing) != 1) {
            return -1;
        }
        // A ticket under an older key is accepted and replaced, so that the key can be dropped.
        // In TLS 1.3 a client uses a ticket once (RFC 8446, C.4): it gets another.
        const bool stays = key == &keys->sealing() && SSL_version(ssl) != TLS1_3_VERSION;
        return sealing != 0 || stays ? 1 : 2;
    }

    // After on_ticket(): what becomes of a ticket that was opened, or could not be.
    static SSL_TICKET_RETURN on_session(SSL*, SSL_SESSION* session, const unsigned char*,
                                        std::size_t, SSL_TICKET_STATUS status, void* arg) {
        const bool is_open = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
        const UnixSeconds now = static_cast<ServerContext*>(arg)->loop_->unix_now();
        if (!is_open || outlives_its_certificate(session, now)) {
            return SSL_TICKET_RETURN_IGNORE_RENEW;
        }
        return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
    }

    static Result<> trust_clients(SSL_CTX* context, const ServerOptions& options,
                                  std::string_view authorities) {
        if (options.client_certificates == ClientCertificates::off) return {};
        auto* names = sk_X509_NAME_new_null();
        if (names == nullptr) throw std::bad_alloc();
        if (auto done = trust_authorities(context, options.client_ca, authorities, names); !done) {
            sk_X509_NAME_pop_free(names, X509_NAME_free);
            return done;
        }
        // Sent to the client, so that it can choose a certificate (RFC 8446, 4.2.4).
        SSL_CTX_set_client_CA_list(context, names);
        SSL_CTX_set_verify(context,
                           options.client_certificates == ClientCertificates::required
                               ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                               : SSL_VERIFY_PEER,
                           nullptr);
        return {};
    }

    // The text of the file of authorities, "" where clients need not send a certificate.
    static Result<SecretText> read_authorities(const ServerOptions& options) {
        if (options.client_certificates == ClientCertificates::off) return SecretText();
        if (options.client_ca.empty()) {
            return fail(Error(0, "ask for client certificates", "", "no CA file was given"));
        }
        return read_file(options.client_ca, Certificate::file_bytes_max);
    }

    // A session is resumed only where clients are trusted on the same grounds.
    static Result<> name_sessions(SSL_CTX* context, const ServerOptions& options,
                                  std::string_view authorities) {
        std::string grounds = "tiderace";
        grounds += static_cast<char>('0' + static_cast<int>(options.client_certificates));
        grounds += authorities;
        std::array<unsigned char, EVP_MAX_MD_SIZE> name;
        unsigned bytes = 0;
        // Part of each ticket: one that was made under other rules for clients is not resumed after
        // a reload. Without a name any would be.
        if (EVP_Digest(grounds.data(), grounds.size(), name.data(), &bytes, EVP_sha256(),
                       nullptr) == 1 &&
            SSL_CTX_set_session_id_context(context, name.data(), bytes) == 1) {
            return {};
        }
        return fail(Error(0, "set up", "TLS", take_openssl_error()));
    }

    static Result<> settle(SSL_CTX* context, void* about) {
        auto& self = *static_cast<ServerContext*>(about);
        if (auto done = apply_settings(context); !done) return done;
        SSL_CTX_set_app_data(context, &self);
        SSL_CTX_set_tlsext_servername_callback(context, &on_server_name);
        SSL_CTX_set_tlsext_servername_arg(context, &self);
        if (!self.alpn_.empty()) SSL_CTX_set_alpn_select_cb(context, &on_protocols, &self);
        SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &on_ticket);
        SSL_CTX_set_session_ticket_cb(context, nullptr, &on_session, &self);
        SSL_CTX_set_keylog_callback(context, &SslRecords::on_key_log);
        SSL_CTX_set_timeout(context, session_seconds);
        // One ticket a handshake, a resumed one too: what speaks HTTP/2 makes one connection at a
        // time, and a ticket costs 4 % of a full handshake.
        SSL_CTX_set_num_tickets(context, 1);
        // Read once, so that sessions are named by what clients are verified by: the file may be
        // replaced at any time.
        const auto authorities = read_authorities(self.options_);
        if (!authorities) return fail(authorities.error());
        if (auto done = trust_clients(context, self.options_, *authorities); !done) return done;
        return name_sessions(context, self.options_, *authorities);
    }

    // As long as a ticket's key is known at least: two of TicketShare's periods.
    static constexpr long session_seconds = 2L * 3'600;
};

namespace {

// The machine had no room for it: nothing is wrong with the files.
bool is_passing(const Error& error) {
    return error.code() == EMFILE || error.code() == ENFILE || error.code() == ENOMEM;
}

std::string look_at(const ServerOptions& options) {
    std::string look;
    for (const CertificateFiles& pair : options.certificates) {
        look += file_look(pair.certificate) + file_look(pair.key);
    }
    if (!options.client_ca.empty()) look += file_look(options.client_ca);
    return look;
}

}  // namespace

Result<std::unique_ptr<ServerContext>> ServerContext::create(core::EventLoop& loop,
                                                             ServerOptions options) {
    loop.assert_on_loop();
    if (auto done = ServerCallbacks::prepare(); !done) return fail(done.error());
    std::unique_ptr<ServerContext> made(new ServerContext(loop, std::move(options)));
    auto alpn = alpn_bytes(made->options_.protocols);
    if (!alpn) return fail(alpn.error());
    made->alpn_ = std::move(*alpn);
    TicketShare* const tickets = made->options_.tickets.get();
    auto keys = tickets != nullptr ? tickets->keys(loop.now()) : TicketKeys::fresh();
    if (!keys) return fail(keys.error());
    made->ticket_keys_ = std::move(*keys);
    // At the start a file that cannot be used is an error; later the old certificates stay.
    if (made->load_again() == Reload::refused) return fail(std::move(*made->load_error_));
    if (made->options_.reload_check > Duration::zero()) {
        made->reload_timer_ = std::make_unique<ReloadTimer>(*made);
        loop.arm(*made->reload_timer_, moment_after(loop.now(), made->options_.reload_check));
    }
    return made;
}

ServerContext::ServerContext(core::EventLoop& loop, ServerOptions options)
    : loop_(&loop),
      options_(std::move(options)),
      parts_(std::make_unique<LoopParts>(loop, options_.handshakes_per_turn_max,
                                         options_.handshake_timeout)),
      endpoint_(std::make_unique<Endpoint>(*this)) {}

ServerContext::~ServerContext() = default;

std::unique_ptr<net::Transport> ServerContext::wrap(std::unique_ptr<net::Transport> below) {
    loop_->assert_on_loop();
    if (options_.tickets != nullptr && loop_->now() >= ticket_look_) fetch_ticket_keys();
    return std::make_unique<TlsTransport>(*endpoint_, std::move(below));
}

// With a connection and not by a timer, so that an idle loop is left alone.
void ServerContext::fetch_ticket_keys() {
    ticket_look_ = loop_->now() + TicketShare::look_every;
    if (auto keys = options_.tickets->keys(loop_->now())) ticket_keys_ = std::move(*keys);
}

const HandshakeCounters& ServerContext::counters() const {
    return parts_->counters();
}

std::vector<std::string> ServerContext::warnings() const {
    return certificates_->warnings();
}

std::vector<CertificateEnd> ServerContext::certificate_ends() const {
    return certificates_->ends();
}

// ---- reloading ----------------------------------------------------------------------------------

ServerContext::Reload ServerContext::load_again() {
    // Kept once they are loaded: without memory for that, the next look tries again.
    std::string look = look_at(options_);
    auto fresh = certificates_ == nullptr
                     ? CertificateSet::load(options_.certificates, &ServerCallbacks::settle, this)
                     : CertificateSet::load_again(options_.certificates, &ServerCallbacks::settle,
                                                  this, *certificates_, loop_->unix_now());
    std::string loaded = look;
    if (!fresh) {
        load_error_ = std::make_unique<Error>(fresh.error());
        last_refusal_ = load_error_->message();
    } else {
        // SSLs of open connections hold references to their own SSL_CTX, so the old ones end with
        // them.
        certificates_ = std::make_unique<CertificateSet>(std::move(*fresh));
    }
    seen_files_ = std::move(look);
    // Also after a refusal: the same broken files are not read again at each check, nor when an
    // early one before them would have had its time.
    if (fresh || !is_passing(fresh.error())) {
        loaded_files_ = std::move(loaded);
        better_from_ = fresh ? certificates_->better_from() : INT64_MAX;
    }
    if (!fresh) return Reload::refused;
    reported_until_ = loop_->unix_now();
    last_refusal_.clear();
    return Reload::reloaded;
}

ServerContext::Reload ServerContext::reload_if_changed() {
    loop_->assert_on_loop();
    // A file that came too early is loaded once more when its time has come.
    if (look_at(options_) == loaded_files_ && loop_->unix_now() < better_from_) {
        return Reload::unchanged;
    }
    const std::string said = last_refusal_;
    const Reload outcome = load_again();
    log::Logger* log = options_.says_reloads ? loop_->log() : nullptr;
    // Tried again at each check.
    const bool is_known = outcome == Reload::refused && is_passing(*load_error_);
    if (is_known && last_refusal_ == said) return outcome;
    if (log != nullptr && outcome == Reload::refused) {
        log->warning("tls", "the new certificate files are not usable, the old ones stay",
                     log::field("why", last_refusal_));
    } else if (log != nullptr) {
        log->info("tls", "certificates reloaded");
        for (const std::string& warning : warnings()) log->warning("tls", warning);
    }
    return outcome;
}

Result<> ServerContext::prepare(ServerOptions options) {
    loop_->assert_on_loop();
    next_.reset();
    auto next = std::make_unique<Next>(Next{std::move(options)});
    auto alpn = alpn_bytes(next->options.protocols);
    if (!alpn) return fail(alpn.error());
    next->alpn = std::move(*alpn);
    const auto exchange = [this, &other = next->options] {
        std::swap(options_.certificates, other.certificates);
        std::swap(options_.client_certificates, other.client_certificates);
        std::swap(options_.client_ca, other.client_ca);
    };
    // The callback that settles a context reads the options: they are these until the end.
    struct Back {
        ~Back() { again(); }
        const decltype(exchange)& again;
    };
    exchange();
    const Back back{exchange};
    next->look = look_at(options_);
    const bool is_same = next->look == loaded_files_ &&
                         options_.certificates == next->options.certificates &&
                         options_.client_certificates == next->options.client_certificates;
    if (!is_same) {
        auto fresh = CertificateSet::load(options_.certificates, &ServerCallbacks::settle, this);
        if (!fresh) return fail(fresh.error());
        next->certificates = std::make_unique<CertificateSet>(std::move(*fresh));
    }
    next_ = std::move(next);
    return {};
}

void ServerContext::publish() {
    loop_->assert_on_loop();
    if (next_ == nullptr) return;
    alpn_ = std::move(next_->alpn);
    options_.protocols = std::move(next_->options.protocols);
    parts_->set_handshake_timeout(next_->options.handshake_timeout);
    if (next_->certificates != nullptr) {
        options_.certificates = std::move(next_->options.certificates);
        options_.client_certificates = next_->options.client_certificates;
        options_.client_ca = std::move(next_->options.client_ca);
        certificates_ = std::move(next_->certificates);
        loaded_files_ = seen_files_ = std::move(next_->look);
        better_from_ = certificates_->better_from();
        reported_until_ = loop_->unix_now();
        last_refusal_.clear();
    }
    next_.reset();
}

void ServerContext::look_for_changes() {
    core::contain(loop_->log(), "tls", "the look at the certificate files",
                  [this]() TR_ON_LOOP { check_files(); });
    loop_->arm(*reload_timer_, moment_after(loop_->now(), options_.reload_check));
}

// Two looks that agree: files that are being written one after the other are left alone.
void ServerContext::check_files() {
    std::string look = look_at(options_);
    const bool changed = look != loaded_files_;
    if (changed ? look == seen_files_ : better_from_ <= loop_->unix_now()) {
        reload_if_changed();
    }
    seen_files_ = std::move(look);
    report_expired();
}

// Reports certificates that were not renewed: their files never change, and clients just stay away.
void ServerContext::report_expired() {
    const UnixSeconds since = std::exchange(reported_until_, loop_->unix_now());
    log::Logger* log = options_.says_reloads ? loop_->log() : nullptr;
    if (log == nullptr) return;
    for (const std::string& text : certificates_->ended(since, reported_until_)) {
        log->warning("tls", text);
    }
}

}  // namespace tiderace::tls
