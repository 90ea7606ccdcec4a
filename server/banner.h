// The banner of `tiderace serve` when it is ready: where to point a browser, what is served, and
// how.
//
// Pure: facts and style in, text out. Every value that came from outside (paths, host names) is
// shown with its control characters replaced, so that a folder's name cannot write to the terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/listen_address.h"
#include "tiderace/net/listening.h"

namespace tiderace::server {

using net::PortFallback;

struct EncryptionFacts {
    std::string certificates;                // "cert.pem", "made here for localhost, 192.168.1.20"
    std::string fingerprint;                 // of one that was made here, else ""
    std::string client_certificates;         // "required"; "" if none are requested
    std::vector<ListenAddress> redirecting;  // plain addresses, as bound
};

struct BannerFacts {
    std::vector<ListenAddress> listening;    // as bound: the port is the real one
    std::vector<std::string> lan_addresses;  // this machine's, likeliest first (net/lan_address.h)
    std::string root;                        // absolute
    std::string engine;
    std::uint64_t loops = 1;
    std::string access_log = "off";  // as in ServeOptions
    bool is_of_file = false;         // it has no flags to give
    bool lists_on_loopback = false;  // without --listing; see Assembly::decide_listing()
    bool asks_password = false;
    std::optional<EncryptionFacts> encryption;
    std::optional<PortFallback> port_fallback;
    std::uint64_t descriptors_before = 0;  // the limit as found
    std::uint64_t descriptors_now = 0;     // and as raised
};

struct TerminalFacts {
    bool is_terminal = false;
    bool no_color = false;  // NO_COLOR is set and not empty
    std::string term;       // TERM
    std::string locale;     // the first of LC_ALL, LC_CTYPE, LANG that is not empty
};

struct BannerStyle {
    bool colour = false;
    bool qr = false;        // the code is drawn, if there is an address for it
    bool spacious = false;  // empty lines and a margin, for people
};

TerminalFacts terminal_facts(int descriptor);
BannerStyle banner_style(const TerminalFacts& terminal);

// The address to type on another machine, "" when only this one can reach the server.
std::string network_url(const BannerFacts& facts);

std::string banner(const BannerFacts& facts, const BannerStyle& style);

}  // namespace tiderace::server
