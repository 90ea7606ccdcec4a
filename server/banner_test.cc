#include "server/banner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/build_facts.h"
#include "server/version.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BannerFacts facts(std::initializer_list<std::string_view> listening) {
    BannerFacts facts;
    for (const std::string_view text : listening)
        facts.listening.push_back(*parse_listen_address(text));
    facts.lan_addresses = {"192.168.1.20", "2001:db8::7"};
    facts.root = "/srv/site";
    facts.engine = "epoll";
    facts.loops = 2;
    return facts;
}

constexpr BannerStyle plain{};
constexpr BannerStyle terminal{.colour = true, .qr = true, .spacious = true};

std::string first_line() {
    return std::string(version_line());
}

TEST(Banner, ForThisMachineIsFourPlainLines) {
    EXPECT_EQ(banner(facts({"127.0.0.1:8080"}), plain),
              first_line() +
                  "open      http://localhost:8080/\n"
                  "serving   /srv/site\n"
                  "engine    epoll, 2 loops\n"
                  "requests  not logged (--access-log - shows them here)\n");
}

TEST(Banner, OfAFileAdvisesNoFlag) {
    BannerFacts all = facts({"127.0.0.1:8080"});
    all.is_of_file = true;
    EXPECT_TRUE(banner(all, plain)
                    .ends_with("requests  not logged (access = \"-\" in [log] shows them here)\n"));
}

TEST(Banner, ForEverybodyNamesTheNetworkAddressToo) {
    EXPECT_EQ(banner(facts({":8080"}), plain),
              first_line() +
                  "open      http://localhost:8080/\n"
                  "network   http://192.168.1.20:8080/\n"
                  "serving   /srv/site\n"
                  "engine    epoll, 2 loops\n"
                  "requests  not logged (--access-log - shows them here)\n");
}

TEST(Banner, OfAnEncryptedSiteSaysHowItIsTrusted) {
    BannerFacts all = facts({":8443"});
    all.listening[0].secure = true;
    all.encryption = EncryptionFacts{.certificates = "made here for localhost, 192.168.1.20",
                                     .fingerprint = "01:23:45:67",
                                     .client_certificates = "",
                                     .redirecting = {*parse_listen_address(":8080")}};
    EXPECT_EQ(banner(all, plain),
              first_line() +
                  "open      https://localhost:8443/\n"
                  "network   https://192.168.1.20:8443/\n"
                  "redirect  http://localhost:8080/ leads to https\n"
                  "tls       made here for localhost, 192.168.1.20\n"
                  "SHA-256   01:23:\n"
                  "          45:67\n"
                  "trust     browsers warn until they trust it: tiderace trust shows how\n"
                  "serving   /srv/site\n"
                  "engine    epoll, 2 loops\n"
                  "requests  not logged (--access-log - shows them here)\n");
    EXPECT_EQ(network_url(all), "https://192.168.1.20:8443/");
    all.encryption = EncryptionFacts{.certificates = "cert.pem", .client_certificates = "required"};
    EXPECT_THAT(banner(all, plain), HasSubstr("tls       cert.pem\n"
                                              "clients   with a certificate: required\n"
                                              "serving"));
}

TEST(Banner, SaysEverythingThatIsOutOfTheOrdinary) {
    BannerFacts all = facts({"127.0.0.1:8081", "unix:/run/site.sock", "192.168.1.20:80"});
    all.loops = 1;
    all.access_log = "/var/log/site.log";
    all.asks_password = true;
    all.port_fallback = PortFallback{8080, 8081};
    all.descriptors_before = 1024;
    all.descriptors_now = 1'048'576;
    EXPECT_EQ(banner(all, plain), first_line() +
                                      "open      http://localhost:8081/\n"
                                      "socket    /run/site.sock\n"
                                      "network   http://192.168.1.20/\n"
                                      "serving   /srv/site\n"
                                      "engine    epoll, 1 loop\n"
                                      "limit     1,048,576 open files (raised from 1,024)\n"
                                      "access    with a name and password\n"
                                      "requests  /var/log/site.log\n"
                                      "Port 8080 is taken: using 8081 instead.\n");
}

TEST(Banner, IsQuietAboutALimitThatStayed) {
    BannerFacts same = facts({"127.0.0.1:8080"});
    same.descriptors_before = same.descriptors_now = 1024;
    EXPECT_THAT(banner(same, plain), Not(HasSubstr("limit")));
}

TEST(Banner, NetworkUrlIsWhatAnotherMachineCanReach) {
    EXPECT_EQ(network_url(facts({":8080"})), "http://192.168.1.20:8080/");
    EXPECT_EQ(network_url(facts({"127.0.0.1:8080", "unix:x", "[2001:db8::7]:80"})),
              "http://[2001:db8::7]/");
    EXPECT_EQ(network_url(facts({"127.0.0.1:8080", "[::1]:80", "unix:x"})), "");
    BannerFacts lonely = facts({":8080"});
    lonely.lan_addresses = {};
    EXPECT_EQ(network_url(lonely), "");
    lonely.lan_addresses = {"2001:db8::7"};
    EXPECT_EQ(network_url(lonely), "http://[2001:db8::7]:8080/");
    lonely.listening = {*parse_listen_address("0.0.0.0:8080")};
    EXPECT_EQ(network_url(lonely), "") << "an IPv4 socket is not reached by IPv6";
}

TEST(Banner, OnATerminalHasColourAndACodeForTheNetworkAddress) {
    const std::string shown = banner(facts({":8080"}), terminal);
    EXPECT_THAT(shown, HasSubstr("\x1b[36mhttp://192.168.1.20:8080/\x1b[0m"));
    EXPECT_THAT(shown, HasSubstr("Ctrl-C"));
    if (TIDERACE_HAVE_QRENCODE) {
        EXPECT_THAT(shown, HasSubstr("\u2584"));
    }
    EXPECT_THAT(banner(facts({"127.0.0.1:8080"}), terminal), Not(HasSubstr("\u2584")));
}

TEST(Banner, WithoutColourHasNoEscapes) {
    BannerStyle style = terminal;
    style.colour = false;
    EXPECT_THAT(banner(facts({":8080"}), style), Not(HasSubstr("\x1b")));
}

TEST(Banner, AFolderNameCannotWriteToTheTerminal) {
    BannerFacts hostile = facts({"127.0.0.1:8080"});
    hostile.root = "/srv/\x1b]0;owned\x07\r\n\x7fsite";
    EXPECT_THAT(banner(hostile, plain), HasSubstr("serving   /srv/?]0;owned????site\n"));
}

TEST(BannerStyle, FollowsTheTerminal) {
    struct Case {
        TerminalFacts terminal;
        bool colour, qr, spacious;
    };
    const Case cases[] = {
        {{true, false, "xterm-256color", "en_US.UTF-8"}, true, true, true},
        {{true, false, "xterm-256color", "C.utf8"}, true, true, true},
        {{true, true, "xterm-256color", "en_US.UTF-8"}, false, true, true},
        {{true, false, "xterm-256color", "C"}, true, false, true},
        {{true, false, "dumb", "en_US.UTF-8"}, false, false, true},
        {{true, false, "", "en_US.UTF-8"}, false, false, true},
        {{false, false, "xterm-256color", "en_US.UTF-8"}, false, false, false},
    };
    for (const Case& c : cases) {
        const BannerStyle style = banner_style(c.terminal);
        const std::string name = c.terminal.term + " " + c.terminal.locale;
        EXPECT_EQ(style.colour, c.colour) << name;
        EXPECT_EQ(style.qr, c.qr) << name;
        EXPECT_EQ(style.spacious, c.spacious) << name;
    }
}

TEST(Banner, SaysThatTheFolderIsListedByItself) {
    BannerFacts facts;
    facts.root = "/srv";
    EXPECT_EQ(banner(facts, {}).find("listing"), std::string::npos);
    facts.lists_on_loopback = true;
    EXPECT_NE(banner(facts, {}).find("listing   on: no index file here"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::server
