#include "server/banner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "server/qr.h"
#include "server/terminal.h"
#include "server/version.h"
#include "tiderace/base/ascii.h"

namespace tiderace::server {
namespace {

constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view faint = "\x1b[2m";
constexpr std::string_view link = "\x1b[36m";
constexpr std::string_view warning = "\x1b[33m";
constexpr std::string_view reset = "\x1b[0m";
constexpr std::size_t label_columns = 10;

// "1,048,576"
std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

// Puts the lines together in one style.
class Page {
  public:
    explicit Page(const BannerStyle& style) : style_(style) {}

    void gap() {
        // For a person at a terminal; a log gets the bare lines.
        if (style_.spacious) text_ += '\n';
    }
    void line(std::string_view text, std::string_view colour = {}) {
        text_.append(margin()).append(painted(text, colour)).append("\n");
    }
    void row(std::string_view label, std::string_view value, std::string_view colour = {}) {
        std::string padded(label);
        padded.append(label_columns - label.size(), ' ');
        text_.append(margin())
            .append(painted(padded, faint))
            // Names of files come from elsewhere: an escape sequence in one must not reach the
            // terminal.
            .append(painted(printable(value), colour));
        text_ += '\n';
    }
    void raw(std::string_view text) { text_ += text; }
    std::string take() { return std::move(text_); }

  private:
    std::string_view margin() const { return style_.spacious ? "  " : ""; }
    std::string painted(std::string_view text, std::string_view colour) const {
        if (!style_.colour || colour.empty()) return std::string(text);
        return std::string(colour).append(text).append(reset);
    }

    const BannerStyle& style_;
    std::string text_;
};

bool reaches(const ListenAddress& listening, std::string_view address) {
    const bool is_ipv6 = address.find(':') != std::string_view::npos;
    // "::" takes IPv4 as well, "0.0.0.0" takes nothing else.
    return listening.host != "0.0.0.0" || !is_ipv6;
}

// Every URL of one bound address that other machines may use, the likeliest first.
std::vector<std::string> network_urls(const BannerFacts& facts, const ListenAddress& listening) {
    if (listening.is_loopback()) return {};
    // Bound to one address, it is reached by that one alone, whatever interfaces there are.
    if (!listening.is_wildcard()) {
        return {site_url(listening.secure, listening.host, listening.port)};
    }
    std::vector<std::string> urls;
    for (const std::string& address : facts.lan_addresses) {
        if (!reaches(listening, address)) continue;
        urls.push_back(site_url(listening.secure, address, listening.port));
    }
    return urls;
}

// A loopback address has one line, "open"; one of the machine's own addresses one, "network"; a
// wildcard both, because it is reached both ways; a Unix socket its path.
void add_addresses(Page& page, const BannerFacts& facts) {
    // One network address is enough; the others are shown by `ip address`.
    for (const ListenAddress& listening : facts.listening) {
        const std::vector<std::string> urls = network_urls(facts, listening);
        if (listening.is_unix()) page.row("socket", listening.unix_path, link);
        if (listening.is_loopback() && !listening.is_unix())
            page.row("open", listening.local_url(), link);
        if (listening.is_wildcard()) page.row("open", listening.local_url(), link);
        if (!urls.empty()) page.row("network", urls.front(), link);
    }
}

void add_encryption(Page& page, const EncryptionFacts& facts) {
    for (const ListenAddress& plain : facts.redirecting) {
        const std::string where = plain.is_unix() ? plain.unix_path : plain.local_url();
        page.row("redirect", where + " leads to https");
    }
    page.row("tls", facts.certificates);
    if (!facts.client_certificates.empty()) {
        page.row("clients", "with a certificate: " + facts.client_certificates);
    }
    if (facts.fingerprint.empty()) return;
    // Two lines: with colons it is wider than a terminal.
    const std::size_t half = facts.fingerprint.size() / 2;
    page.row("SHA-256", facts.fingerprint.substr(0, half + 1));
    page.row("", facts.fingerprint.substr(std::min(half + 1, facts.fingerprint.size())));
    page.row("trust", "browsers warn until they trust it: tiderace trust shows how");
}

void add_facts(Page& page, const BannerFacts& facts) {
    if (facts.encryption) add_encryption(page, *facts.encryption);
    page.row("serving", facts.root);
    if (facts.lists_on_loopback) {
        page.row("listing", "on: no index file here, and only this machine can connect");
    }
    page.row("engine",
             facts.engine + ", " + grouped(facts.loops) + (facts.loops == 1 ? " loop" : " loops"));
    if (facts.descriptors_now > facts.descriptors_before) {
        page.row("limit", grouped(facts.descriptors_now) + " open files (raised from " +
                              grouped(facts.descriptors_before) + ")");
    }
    if (facts.asks_password) page.row("access", "with a name and password");
    if (facts.access_log == "off") {
        page.row("requests", facts.is_of_file
                                 ? "not logged (access = \"-\" in [log] shows them here)"
                                 : "not logged (--access-log - shows them here)");
    } else {
        page.row("requests", facts.access_log == "-" ? "shown here" : facts.access_log);
    }
}

std::string environment(const char* name) {
    // The banner is printed before the loops start.
    const char* value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

TerminalFacts terminal_facts(int descriptor) {
    TerminalFacts terminal;
    terminal.is_terminal = isatty(descriptor) == 1;
    // no-color.org: any value but the empty one.
    terminal.no_color = !environment("NO_COLOR").empty();
    terminal.term = environment("TERM");
    // In the order in which they win over one another (POSIX, 8.2).
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        if (terminal.locale.empty()) terminal.locale = environment(name);
    }
    return terminal;
}

// Colours and the code only where something is known to draw them: what a log or a pipe gets is
// plain, so that it can be read and searched.
BannerStyle banner_style(const TerminalFacts& terminal) {
    const std::string locale = lower_case(terminal.locale);
    const bool is_utf8 =
        locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    // TERM is empty under cron and in many containers: nothing is known of what reads the output.
    const bool is_capable =
        terminal.is_terminal && !terminal.term.empty() && terminal.term != "dumb";
    return {.colour = is_capable && !terminal.no_color,
            // Its blocks are characters of Unicode.
            .qr = is_capable && is_utf8,
            .spacious = terminal.is_terminal};
}

std::string network_url(const BannerFacts& facts) {
    for (const ListenAddress& listening : facts.listening) {
        const std::vector<std::string> urls = network_urls(facts, listening);
        if (!urls.empty()) return urls.front();
    }
    return {};
}

std::string banner(const BannerFacts& facts, const BannerStyle& style) {
    Page page(style);
    page.gap();
    page.line("tiderace " + std::string(version()), bold);
    page.gap();
    add_addresses(page, facts);
    add_facts(page, facts);
    // At the end, where it is seen: the address above is not the one that was expected.
    if (facts.port_fallback) {
        page.gap();
        page.line("Port " + std::to_string(facts.port_fallback->wanted) + " is taken: using " +
                      std::to_string(facts.port_fallback->used) + " instead.",
                  warning);
    }
    const std::string url = style.qr ? network_url(facts) : "";
    if (const auto code = url.empty() ? std::nullopt : encode_qr(url)) {
        page.gap();
        page.raw(draw_qr(*code, style.colour));
    }
    if (style.spacious) {
        page.gap();
        page.line("Ctrl-C stops it.", faint);
        page.gap();
    }
    return page.take();
}

}  // namespace tiderace::server
