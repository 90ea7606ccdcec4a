// The banner of a server that starts to serve: a part of assemble.h.
#include <cstdio>
#include <string>
#include <utility>

#include "server/assemble.h"
#include "server/open_browser.h"
#include "server/terminal.h"
#include "server/trust.h"
#include "tiderace/net/lan_address.h"

namespace tiderace::server {
namespace {

// By name in the banner.
constexpr std::size_t sites_shown_max = 4;

}  // namespace

BannerFacts Assembly::facts(std::size_t loops) const {
    BannerFacts facts;
    for (const core::Address& address : addresses()) {
        if (auto parsed = parse_listen_address(address.to_string())) {
            parsed->secure = options_.tls.on();
            facts.listening.push_back(std::move(*parsed));
        }
    }
    if (options_.tls.on()) facts.encryption = encryption_facts();
    facts.lan_addresses = net::lan_addresses(net::interface_addresses());
    std::size_t named = 0;
    for (const ServedSite& site : sites()) {
        if (site.hosts.empty() && !site.has_files()) continue;  // a fixed answer for the rest
        if (++named > sites_shown_max) continue;
        if (!facts.root.empty()) facts.root += ", ";
        facts.root += site.hosts.empty() ? site.options.root : site.hosts.front();
    }
    if (named > sites_shown_max) {
        facts.root += " and " + std::to_string(named - sites_shown_max) + " more";
    }
    facts.engine = engine_name();
    facts.loops = loops;
    facts.access_log = options_.access_log;
    facts.is_of_file = static_cast<bool>(read_);
    facts.lists_on_loopback = wanted_.lists_on_loopback;
    facts.asks_password =
        any_site(sites(), [](const ServeOptions& options) { return !options.basic_auth.empty(); });
    facts.port_fallback = listening_->port_fallback();
    facts.descriptors_before = descriptors_.before;
    facts.descriptors_now = descriptors_.after;
    return facts;
}

EncryptionFacts Assembly::encryption_facts() const {
    EncryptionFacts facts;
    for (const core::Address& address : redirecting()) {
        if (auto parsed = parse_listen_address(address.to_string())) {
            facts.redirecting.push_back(std::move(*parsed));
        }
    }
    if (self_signed_) {
        facts.certificates = "made here for " + names_text(self_signed_->names);
        facts.fingerprint = self_signed_->fingerprint;
    } else {
        for (const auto& files : options_.tls.certificates) {
            if (!facts.certificates.empty()) facts.certificates += ", ";
            facts.certificates += files.certificate;
        }
    }
    if (options_.tls.client_auth == ClientAuth::optional) facts.client_certificates = "optional";
    if (options_.tls.client_auth == ClientAuth::required) facts.client_certificates = "required";
    return facts;
}

// A banner that cannot be written, to a closed pipe for example, does not end the server.
void Assembly::announce(std::size_t loops) const {
    const BannerFacts known = facts(loops);
    if (!options_.quiet) {
        const std::string text = banner(known, banner_style(terminal_facts(STDOUT_FILENO)));
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }
    if (!options_.open_browser) return;
    for (const ListenAddress& address : known.listening) {
        if (address.local_url().empty()) continue;
        if (auto opened = open_browser(address.local_url()); !opened) {
            logger_->warning("server", opened.error().message());
        }
        return;
    }
}

}  // namespace tiderace::server
