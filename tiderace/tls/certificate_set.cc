#include "tiderace/tls/certificate_set.h"

#include <algorithm>
#include <utility>

namespace tiderace::tls {

Result<CertificateSet> CertificateSet::load(const std::vector<CertificateFiles>& files,
                                            Settle settle, void* about) {
    CertificateSet made;
    if (auto done = made.load_files(files, nullptr, 0); !done) return fail(done.error());
    if (auto done = made.prepare(settle, about); !done) return fail(done.error());
    return made;
}

Result<CertificateSet> CertificateSet::load_again(const std::vector<CertificateFiles>& files,
                                                  Settle settle, void* about,
                                                  const CertificateSet& previous, UnixSeconds now) {
    CertificateSet made;
    if (auto done = made.load_files(files, &previous, now); !done) return fail(done.error());
    if (auto done = made.prepare(settle, about); !done) return fail(done.error());
    return made;
}

Result<> CertificateSet::load_files(const std::vector<CertificateFiles>& files,
                                    const CertificateSet* previous, UnixSeconds now) {
    for (const CertificateFiles& pair : files) {
        auto loaded = Certificate::load(pair);
        if (!loaded) return fail(loaded.error());
        const Certificate* old = nullptr;
        if (previous != nullptr) {
            const auto found =
                std::ranges::find(previous->certificates_, pair, &Certificate::files);
            if (found != previous->certificates_.end()) old = &*found;
        }
        certificates_.push_back(old != nullptr ? better(std::move(*loaded), *old, now)
                                               : std::move(*loaded));
    }
    return {};
}

// A failed renewal (an old backup, a clock ahead of ours) must not replace a working certificate.
Certificate CertificateSet::better(Certificate fresh, const Certificate& old, UnixSeconds now) {
    if (fresh.is_valid(now) || !old.is_valid(now)) return fresh;
    Certificate kept = old.share();
    const bool is_early = fresh.begins > now;
    kept.warnings.push_back(
        (is_early ? fresh.files.certificate + " is not valid before " + time_text(fresh.begins)
                  : fresh.expired_text()) +
        ": the certificate before it stays, valid until " + time_text(old.ends));
    // Looked at again when it becomes valid, although its files will not change then.
    if (is_early) better_from_ = std::min(better_from_, fresh.begins);
    return kept;
}

Result<> CertificateSet::prepare(Settle settle, void* about) {
    if (certificates_.empty()) {
        return fail(Error(0, "serve", "TLS", "no certificate was given"));
    }
    add_names();
    return make_contexts(settle, about);
}

void CertificateSet::add_names() {
    for (std::size_t i = 0; i < certificates_.size(); ++i) {
        const int kind = EVP_PKEY_get_base_id(certificates_[i].key.get());
        for (const std::string& name : certificates_[i].names) {
            Combination& known = by_name_[name];
            // The first of two certificates for one name and kind of key serves. One of each
            // kind may serve: OpenSSL picks ECDSA or RSA by what the client supports.
            const bool taken = std::ranges::any_of(known, [&](std::size_t other) {
                return EVP_PKEY_get_base_id(certificates_[other].key.get()) == kind;
            });
            if (!taken) known.push_back(i);
        }
    }
}

Result<> CertificateSet::make_contexts(Settle settle, void* about) {
    // The default comes first: the first certificate, with its companion of the other kind for the
    // same name.
    Combination by_default{0};
    for (const std::string& name : certificates_[0].names) {
        const Combination& known = by_name_[name];
        if (known.front() == 0 && known.size() > by_default.size()) by_default = known;
    }
    std::vector<Combination> wanted{by_default};
    for (const auto& [name, combination] : by_name_) wanted.push_back(combination);
    for (const Combination& combination : wanted) {
        // Names with the same certificates share a context.
        if (context_of_.contains(combination)) continue;
        //
        //   name (SNI) -> by_name_: certificates, one of each kind of key -> context_of_ -> SSL_CTX
        //
        // An SSL_CTX holds one certificate of each kind, so names with other certificates need
        // another one.
        SslContextPtr context(SSL_CTX_new(TLS_server_method()));
        if (context == nullptr) return fail(Error(0, "make", "SSL_CTX", take_openssl_error()));
        if (auto settled = settle(context.get(), about); !settled) return settled;
        for (const std::size_t i : combination) {
            if (auto used = certificates_[i].use_in(context.get()); !used) return used;
        }
        context_of_[combination] = contexts_.size();
        contexts_.push_back(std::move(context));
    }
    return {};
}

SSL_CTX* CertificateSet::find(std::string_view name) const {
    // An absolute name ("example.org.") is the same host; SNI should not have the dot (RFC 6066,
    // 3).
    if (name.ends_with('.')) name.remove_suffix(1);
    auto found = by_name_.find(name);
    if (found == by_name_.end()) {
        const std::size_t dot = name.find('.');
        if (dot == std::string_view::npos) return by_default();
        // A wildcard stands for the whole first label and no more (RFC 6125, 6.4.3).
        found = by_name_.find("*" + std::string(name.substr(dot)));
    }
    return found == by_name_.end() ? by_default() : contexts_[context_of_.at(found->second)].get();
}

bool CertificateSet::is_shown(std::size_t position) const {
    return std::ranges::any_of(context_of_, [&](const auto& each) {
        return std::ranges::find(each.first, position) != each.first.end();
    });
}

std::vector<std::string> CertificateSet::warnings() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < certificates_.size(); ++i) {
        const Certificate& pair = certificates_[i];
        all.insert(all.end(), pair.warnings.begin(), pair.warnings.end());
        if (is_shown(i)) continue;
        all.push_back(pair.files.certificate +
                      " is never shown: one before it has its names and its kind of key");
    }
    return all;
}

std::vector<CertificateEnd> CertificateSet::ends() const {
    std::vector<CertificateEnd> all;
    for (const Certificate& pair : certificates_) {
        all.push_back({pair.files.certificate, pair.ends});
    }
    return all;
}

std::vector<std::string> CertificateSet::ended(UnixSeconds since, UnixSeconds now) const {
    std::vector<std::string> all;
    for (const Certificate& pair : certificates_) {
        // Once: only in the report whose span holds its end.
        if (since < pair.ends && pair.ends <= now) {
            all.push_back(pair.expired_text());
        }
    }
    return all;
}

}  // namespace tiderace::tls
