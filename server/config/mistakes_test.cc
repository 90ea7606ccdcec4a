// Common mistakes and their messages, byte for byte. When a sentence changes, look at
// the new one before it is put here.
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "server/config/mistake_fixture.h"
#include "tiderace/http/route/regex.h"

namespace tiderace::server::config {
namespace {

// clang-format off
constexpr std::array mistakes{
Mistake{"AQuoteThatIsMissing", R"([[site]]
root = "/srv/www
)",
R"(site.toml:2:17: error: this is no TOML: a quote is missing, or it has a control character
 2 | root = "/srv/www
   |                 ^
   = what is behind this place was not read
1 error
)"},
Mistake{"AKeyTwice", R"([[site]]
root = "/srv/www"
root = "/srv/a"
)",
R"(site.toml:3:8: error: this is no TOML: cannot redefine existing string 'root'
 3 | root = "/srv/a"
   |        ^
   = what is behind this place was not read
1 error
)"},
Mistake{"ADate", R"([[site]]
root = "/srv/www"
hsts = 2026-01-01
)",
R"(site.toml:3:8: error: hsts expects a time such as "10s", and this is a date
 3 | hsts = 2026-01-01
   |        ^^^^^^^^^^
1 error
)"},
Mistake{"OneBracketForASite", R"([site]
root = "/srv/www"
)",
R"(site.toml:1:2: error: "site" is a list of tables
 1 | [site]
   |  ^^^^
   = write [[site]] with two brackets
1 error
)"},
Mistake{"ACommaTooMuch", R"([[site]]
root = "/srv/www"
error_pages = { 404 = "404.html", }
)",
R"(site.toml:3:35: error: this is no TOML: expected key-value pair, saw closing '}' (dangling comma)
 3 | error_pages = { 404 = "404.html", }
   |                                   ^
   = what is behind this place was not read
1 error
)"},
Mistake{"AValueWithoutQuotes", R"([[site]]
root = /srv/www
)",
R"(site.toml:2:8: error: this is no TOML: could not determine value type
 2 | root = /srv/www
   |        ^
   = a text has quotes: root = "/srv/www"; what is behind this place was not read
1 error
)"},
Mistake{"AServerKeyInASite", R"([[site]]
root = "/srv/www"
threads = 4
)",
R"(site.toml:3:1: error: [[site]] has no key "threads"
 3 | threads = 4
   | ^^^^^^^
   = "threads" belongs in [server]
1 error
)"},
Mistake{"ATableOfTheTopInASite", R"([[site]]
root = "/srv/www"
include = ["sites/*.toml"]
)",
R"(site.toml:3:1: error: [[site]] has no key "include"
 3 | include = ["sites/*.toml"]
   | ^^^^^^^
   = "include" belongs at the top of the file, above the first table
1 error
)"},
Mistake{"ARouteOutsideOfASite", R"([[route]]
path = "/a"
[[site]]
root = "/srv/www"
)",
R"(site.toml:1:3: error: the top of the file has no key "route"
 1 | [[route]]
   |   ^^^^^
   = "route" belongs in [[site]]
1 error
)"},
Mistake{"AListenKeyInASite", R"([[site]]
root = "/srv/www"
address = ":80"
)",
R"(site.toml:3:1: error: [[site]] has no key "address"
 3 | address = ":80"
   | ^^^^^^^
   = "address" belongs in [[listen]]
1 error
)"},
Mistake{"ASiteKeyInTheServer", R"([server]
root = "/srv/www"
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:1: error: [server] has no key "root"
 2 | root = "/srv/www"
   | ^^^^
   = "root" belongs in [[site]] or in [[site.route]]
1 error
)"},
Mistake{"AWordThatIsNearlyRight", R"([[site]]
root = "/srv/www"
idnex = ["index.html"]
)",
R"(site.toml:3:1: error: [[site]] has no key "idnex"
 3 | idnex = ["index.html"]
   | ^^^^^
   = did you mean "index"?
1 error
)"},
Mistake{"AHyphenForAnUnderscore", R"([[site]]
root = "/srv/www"
clean-urls = true
)",
R"(site.toml:3:1: error: [[site]] has no key "clean-urls"
 3 | clean-urls = true
   | ^^^^^^^^^^
   = did you mean "clean_urls"?
1 error
)"},
Mistake{"APlural", R"([[site]]
root = "/srv/www"
logs = "a.log"
)",
R"(site.toml:3:1: error: [[site]] has no key "logs"
 3 | logs = "a.log"
   | ^^^^
   = did you mean "log"?
1 error
)"},
Mistake{"NginxServerName", R"([[site]]
root = "/srv/www"
server_name = "example.org"
)",
R"(site.toml:3:1: error: [[site]] has no key "server_name"
 3 | server_name = "example.org"
   | ^^^^^^^^^^^
   = here it is called "hosts"
1 error
)"},
Mistake{"NginxProxyPass", R"([[site]]
root = "/srv/www"
proxy_pass = "http://127.0.0.1:3000"
)",
R"(site.toml:3:1: error: [[site]] has no key "proxy_pass"
 3 | proxy_pass = "http://127.0.0.1:3000"
   | ^^^^^^^^^^
   = here it is called "proxy"
1 error
)"},
Mistake{"NginxLocation", R"([[site]]
root = "/srv/www"
location = "/api"
)",
R"(site.toml:3:1: error: [[site]] has no key "location"
 3 | location = "/api"
   | ^^^^^^^^
   = here it is called "route"
1 error
)"},
Mistake{"CaddyFileServer", R"([[site]]
root = "/srv/www"
[[site.route]]
path = "/a"
file_server = true
)",
R"(site.toml:5:1: error: [[site.route]] has no key "file_server"
 5 | file_server = true
   | ^^^^^^^^^^^
   = here it is called "root"
1 error
)"},
Mistake{"ATimeWithoutUnit", R"([limits]
header_timeout = 10
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:18: error: header_timeout expects a time such as "10s", and this is a whole number
 2 | header_timeout = 10
   |                  ^^
1 error
)"},
Mistake{"ATimeWithoutUnitAsText", R"([limits]
header_timeout = "10"
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:18: error: header_timeout: a time needs a unit, for example 10s, 500ms or 2m
 2 | header_timeout = "10"
   |                  ^^^^
1 error
)"},
Mistake{"ASizeWithAWrongUnit", R"([limits]
head_max = "64XB"
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:12: error: head_max: expects a size such as 4096, 64KiB or 1MiB
 2 | head_max = "64XB"
   |            ^^^^^^
1 error
)"},
Mistake{"ASizeAsNumber", R"([limits]
head_max = 65536
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:12: error: head_max expects a size such as "64KiB", and this is a whole number
 2 | head_max = 65536
   |            ^^^^^
1 error
)"},
Mistake{"ACountAsText", R"([server]
threads = "many"
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:11: error: threads: expects a whole number from 0 to 1024
 2 | threads = "many"
   |           ^^^^^^
1 error
)"},
Mistake{"ATruthAsText", R"([[site]]
root = "/srv/www"
listing = "yes"
)",
R"(site.toml:3:11: error: listing expects true or false, and this is a string
 3 | listing = "yes"
   |           ^^^^^
1 error
)"},
Mistake{"ARateWithoutUnit", R"([[site]]
root = "/srv/www"
rate = { limit = "100" }
)",
R"(site.toml:3:18: error: rate expects a limit of requests, such as "100/min" or "5/s"
 3 | rate = { limit = "100" }
   |                  ^^^^^
   = rate = { limit = "100/min", burst = 20 }, or "off"
1 error
)"},
Mistake{"APortAlone", R"([[listen]]
address = "8080"
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:11: error: address: did you mean :8080 (all addresses) or 127.0.0.1:8080?
 2 | address = "8080"
   |           ^^^^^^
1 error
)"},
Mistake{"APortAsNumber", R"([[listen]]
address = 8080
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:11: error: [[listen]] needs an address
 2 | address = 8080
   |           ^^^^
   = address = ":8080"
1 error
)"},
Mistake{"AnAddressWithAScheme", R"([[listen]]
address = "https://example.org"
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:11: error: address: expects HOST:PORT, :PORT for all addresses, or unix:PATH
 2 | address = "https://example.org"
   |           ^^^^^^^^^^^^^^^^^^^^^
1 error
)"},
Mistake{"Ipv6WithoutBrackets", R"([[listen]]
address = "::1:80"
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:11: error: address: expects HOST:PORT, :PORT for all addresses, or unix:PATH
 2 | address = "::1:80"
   |           ^^^^^^^^
1 error
)"},
Mistake{"TheSameAddressTwice", R"([[listen]]
address = ":80"
[[listen]]
address = ":80"
[[site]]
root = "/srv/www"
)",
R"(site.toml:4:11: error: address: this address is given twice
 4 | address = ":80"
   |           ^^^^^
1 error
)"},
Mistake{"AListenWithoutAddress", R"([[listen]]
http2 = "on"
[[site]]
root = "/srv/www"
)",
R"(site.toml:1:1: error: [[listen]] needs an address
 1 | [[listen]]
   | ^^^^^^^^^^
   = address = ":8080"
1 error
)"},
Mistake{"APathWithoutSlash", R"([[site]]
root = "/srv/www"
route = [ { path = "api", deny = true } ]
)",
R"(site.toml:3:20: error: a path begins with "/"
 3 | route = [ { path = "api", deny = true } ]
   |                    ^^^^^
   = "/api" for all below it, "=/api" for that path alone
1 error
)"},
Mistake{"AStarWhereAPathIsMeant", R"([[site]]
root = "/srv/www"
route = [ { path = "/api/*", deny = true } ]
)",
R"(site.toml:3:20: error: a path holds for all below it already
 3 | route = [ { path = "/api/*", deny = true } ]
   |                    ^^^^^^^^
   = write "/api"
1 error
)"},
Mistake{"ARegularExpression", R"([[site]]
root = "/srv/www"
route = [ { path = "~^/a([0-9]+$", deny = true } ]
)",
R"(site.toml:3:33: error: this regular expression has a fault: missing closing parenthesis
 3 | route = [ { path = "~^/a([0-9]+$", deny = true } ]
   |                                 ^
   = a backslash takes the meaning from a sign, as in '~\.php$'; single quotes keep it as it is
1 error
)"},
Mistake{"APathThatClimbs", R"([[site]]
root = "/srv/www"
route = [ { path = "/a/../b", deny = true } ]
)",
R"(site.toml:3:20: error: no request has this path: ".." and "//" are taken out
 3 | route = [ { path = "/a/../b", deny = true } ]
   |                    ^^^^^^^^^
1 error
)"},
Mistake{"TwoHandlers", R"([[site]]
root = "/srv/www"
[[site.route]]
path = "/a"
redirect = "/b"
deny = true
)",
R"(site.toml:6:1: error: "deny" stands beside "redirect"
 6 | deny = true
   | ^^^^
   = one of them answers: leave the other out
1 error
)"},
Mistake{"ARedirectToItself", R"([[site]]
root = "/srv/www"
[[site.route]]
path = "/a"
redirect = "/a/b"
)",
R"(site.toml:5:12: error: redirect: leads back to the path itself, again and again
 5 | redirect = "/a/b"
   |            ^^^^^^
1 error
)"},
Mistake{"ARedirectWithAWrongStatus", R"([[site]]
root = "/srv/www"
[[site.route]]
path = "/a"
redirect = "/b"
status = 404
)",
R"(site.toml:5:1: error: a redirect has the status 301, 302, 303, 307 or 308
 5 | redirect = "/b"
   | ^^^^^^^^
1 error
)"},
Mistake{"ARedirectToAWord", R"([[site]]
root = "/srv/www"
redirect = "example.org"
)",
R"(site.toml:3:1: error: "redirect" stands beside "root"
 3 | redirect = "example.org"
   | ^^^^^^^^
   = one of them answers: leave the other out
site.toml:3:12: error: a redirect leads to a path, or to an address with http:// or https://
 3 | redirect = "example.org"
   |            ^^^^^^^^^^^^^
   = redirect = "/new{rest}", or "https://example.org{rest}"
2 errors
)"},
Mistake{"TwoSitesOfOneHost", R"([[site]]
hosts = ["a.example"]
root = "/srv/www"
[[site]]
hosts = ["A.example."]
root = "/srv/a"
)",
R"(site.toml:4:1: error: two sites have the host a.example
 4 | [[site]]
   | ^^^^^^^^
   = the other is at site.toml:1:1
1 error
)"},
Mistake{"AHostWithAScheme", R"([[site]]
hosts = ["https://a.example", "b.example:80"]
root = "/srv/www"
)",
R"(site.toml:2:10: error: hosts are names without scheme, port and path
 2 | hosts = ["https://a.example", "b.example:80"]
   |          ^^^^^^^^^^^^^^^^^^^
   = "example.org", or "*.example.org" for all below it
site.toml:2:31: error: hosts are names without scheme, port and path
 2 | hosts = ["https://a.example", "b.example:80"]
   |                               ^^^^^^^^^^^^^^
   = "example.org", or "*.example.org" for all below it
2 errors
)"},
Mistake{"NoSite", R"([[listen]]
address = ":80"
)",
R"(site.toml: error: no [[site]] says what to serve
   = [[site]] with root = "/srv/www"
1 error
)"},
Mistake{"AuthOffAtTheTop", R"([[site]]
root = "/srv/www"
auth = "off"
)",
R"(site.toml:3:8: error: nothing asks for a password here
 3 | auth = "off"
   |        ^^^^^
   = leave auth out: "off" is for a route of a site that has it
1 error
)"},
Mistake{"UsersThatAreNotThere", R"([[site]]
root = "/srv/www"
auth = { users = "staff" }
)",
R"(site.toml:3:18: error: [users] has no "staff"
 3 | auth = { users = "staff" }
   |                  ^^^^^^^
   = a name with a slash is a file: "./staff"
1 error
)"},
Mistake{"APresetThatIsNotThere", R"([[site]]
root = "/srv/www"
use = ["hardened"]
)",
R"(site.toml:3:8: error: there is no [preset.hardened]
 3 | use = ["hardened"]
   |        ^^^^^^^^^^
1 error
)"},
Mistake{"AFolderThatIsMissing", R"([[site]]
root = "/srv/nowhere"
)",
R"(site.toml:2:8: error: cannot read /srv/nowhere: no such file or directory
 2 | root = "/srv/nowhere"
   |        ^^^^^^^^^^^^^^
1 error
)"},
Mistake{"AVariableThatIsNotSet", R"([[site]]
root = "${SITE_ROOT}"
)",
R"(site.toml:2:8: error: the variable SITE_ROOT is not set
 2 | root = "${SITE_ROOT}"
   |        ^^^^^^^^^^^^^^
   = set it, or write ${SITE_ROOT:-default}
1 error
)"},
Mistake{"ACertificateThatIsMissing", R"([[tls.certificate]]
cert = "a.pem"
key = "a.key"
[[site]]
root = "/srv/www"
)",
R"(site.toml:2:8: error: cannot read a.pem: no such file or directory
 2 | cert = "a.pem"
   |        ^^^^^^^
site.toml:3:7: error: cannot read a.key: no such file or directory
 3 | key = "a.key"
   |       ^^^^^^^
2 errors
)"},
Mistake{"ARedirectToHttpsWithoutTls", R"([[listen]]
address = ":80"
redirect_to_https = true
[[site]]
root = "/srv/www"
)",
R"(site.toml:1:3: error: redirect_to_https needs a certificate
 1 | [[listen]]
   |   ^^^^^^
   = name one in [[tls.certificate]]
1 error
)"},
Mistake{"AFieldOfTheServersOwn", R"([[site]]
root = "/srv/www"
response.set.Content-Length = "3"
)",
R"(site.toml:3:14: error: Content-Length is decided by the server for each answer
 3 | response.set.Content-Length = "3"
   |              ^^^^^^^^^^^^^^
1 error
)"},
Mistake{"AnErrorPageOfNoError", R"([[site]]
root = "/srv/www"
error_pages = { 200 = "ok.html" }
)",
R"(site.toml:3:17: error: expects CODE=FILE with a code from 400 to 599, for example 404=404.html
 3 | error_pages = { 200 = "ok.html" }
   |                 ^^^
1 error
)"},
Mistake{"ATableThatComesLater", R"([upstream.app]
servers = ["127.0.0.1:3000"]
[[site]]
root = "/srv/www"
proxy = "app"
)",
R"(site.toml:1:2: error: "upstream" does not work yet
 1 | [upstream.app]
   |  ^^^^^^^^
   = proxying is not built yet
site.toml:5:1: error: "proxy" does not work yet
 5 | proxy = "app"
   | ^^^^^
   = proxying is not built yet
2 errors
)"},
Mistake{"AnAdminSocketWithoutAPath", R"([admin]
mode = 600
sockt = "/run/a.sock"
[[site]]
root = "/srv/www"
)",
R"(site.toml:1:2: error: [admin] needs a socket
 1 | [admin]
   |  ^^^^^
   = socket = "/run/tiderace.sock"
site.toml:2:8: error: mode expects the permissions of a file, such as "0660"
 2 | mode = 600
   |        ^^^
site.toml:3:1: error: [admin] has no key "sockt"
 3 | sockt = "/run/a.sock"
   | ^^^^^
   = did you mean "socket"?
3 errors
)"},
};
// clang-format on

class Mistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreToldWithTheirPlace) {
    if (GetParam().name == "ARegularExpression" && !http::route::has_regexes()) {
        GTEST_SKIP() << "this build is without PCRE2";
    }
    GetParam().expect_told();
}

INSTANTIATE_TEST_SUITE_P(All, Mistakes, ::testing::ValuesIn(mistakes),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tiderace::server::config
