// Common mistakes about whole sites and their messages (mistakes_test.cc has the others).
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "server/config/mistake_fixture.h"

namespace tiderace::server::config {
namespace {

// clang-format off
constexpr std::array site_mistakes{
Mistake{"TwoWaysToHaveTheFilesOfOnePath", R"([preset.names]
index = ["x.html"]
[[site]]
root = "/srv/www"
[[site.route]]
path = "/a"
root = "/srv/a"
[[site.route]]
path = "/a"
use = ["names"]
[[site.route]]
path = "/a"
method = "POST"
index = ["y.html"]
)",
R"(site.toml:9:8: error: two routes answer this path
 9 | path = "/a"
   |        ^^^^
   = the other is at site.toml:6:8
1 error
)"},
Mistake{"AStatusWithoutTheFieldThatItPromises", R"([preset.methods]
response.set.Allow = "GET"
[[site]]
root = "/srv/www"
[[site.route]]
path = "/a"
status = 401
[[site.route]]
path = "/b"
deny = 405
[[site.route]]
path = "/c"
respond = "no\n"
status = 426
[[site.route]]
path = "/d"
status = 405
use = ["methods"]
[[site.route]]
path = "/e"
response.set.www-authenticate = "Bearer"
status = 401
)",
R"(site.toml:7:10: error: the status 401 promises the field WWW-Authenticate
 7 | status = 401
   |          ^^^
   = auth asks for a password; or response.set.WWW-Authenticate = "Bearer"
site.toml:10:8: error: the status 405 promises the field Allow
 10 | deny = 405
    |        ^^^
    = response.set.Allow = "GET, HEAD"
site.toml:14:10: error: the status 426 promises the field Upgrade
 14 | status = 426
    |          ^^^
    = 400 refuses a request
3 errors
)"},
Mistake{"ALogThatCannotSayIt", R"([log]
fields = ["status", "referrer"]
skip = { status = 200, sample = 2 }
[[site]]
respond = "a"
server_timing = "10.0.0.1/8"
)",
R"(site.toml:2:1: error: lines of this format have no fields to choose
 2 | fields = ["status", "referrer"]
   | ^^^^^^
   = format = "json"
site.toml:2:21: error: no line has a field of this name
 2 | fields = ["status", "referrer"]
   |                     ^^^^^^^^^^
   = did you mean "referer"?
site.toml:3:19: error: status expects statuses by the hundred, such as "2xx"
 3 | skip = { status = 200, sample = 2 }
   |                   ^^^
site.toml:3:33: error: sample expects a number from 0 to 1
 3 | skip = { status = 200, sample = 2 }
   |                                 ^
   = 0.01 is one line of a hundred
site.toml:6:17: error: server_timing: this has bits behind the network's
 6 | server_timing = "10.0.0.1/8"
   |                 ^^^^^^^^^^^^
   = "10.0.0.0/8", "2001:db8::/32", or one address
5 errors
)"},
Mistake{"MetricsForEveryone", R"([metrics]
listen = ":9100"
[[site]]
respond = "a"
)",
R"(site.toml:2:10: error: others than this machine can reach this address
 2 | listen = ":9100"
   |          ^^^^^^^
   = say who may read the page: remote = ["10.0.0.0/8"]
1 error
)"},
Mistake{"MetricsThatNobodySees", R"([metrics]
remote = ["ten"]
path = "/metrics"
[[site]]
respond = "a"
)",
R"(site.toml:1:2: error: nothing shows what [metrics] counts
 1 | [metrics]
   |  ^^^^^^^
   = listen = "127.0.0.1:9100"
site.toml:2:11: error: remote: this is no address or network
 2 | remote = ["ten"]
   |           ^^^^^
   = "10.0.0.0/8", "2001:db8::/32", or one address
site.toml:3:1: error: [metrics] has no key "path"
 3 | path = "/metrics"
   | ^^^^
   = "path" belongs in [[site.route]]
3 errors
)"},
Mistake{"AStatusOfARedirectWithoutItsTarget", R"([[site]]
root = "/srv/www"
[[site.route]]
path = "/a"
status = 308
[[site.route]]
path = "/b"
respond = "text"
status = 308
)",
R"(site.toml:5:10: error: a status from 300 to 399 says where to go, and no `redirect` does
 5 | status = 308
   |          ^^^
   = redirect = "/new{rest}" beside it
site.toml:9:10: error: a status from 300 to 399 says where to go, and no `redirect` does
 9 | status = 308
   |          ^^^
   = redirect = "/new{rest}" beside it
2 errors
)"},
Mistake{"TwoAnswersForOnePath", R"([[site]]
root = "/srv/www"
route = [
  { path = "/a", deny = true },
  { path = ["/b", "/a"], respond = "a" },
  { path = "=/a", deny = true },
  { path = "/a", cors = "*" },
  { path = [], deny = true },
]
)",
R"(site.toml:5:19: error: two routes answer this path
 5 |   { path = ["/b", "/a"], respond = "a" },
   |                   ^^^^
   = the other is at site.toml:4:12
site.toml:8:12: error: this list of paths is empty
 8 |   { path = [], deny = true },
   |            ^^
   = leave it out for a route of all paths
2 errors
)"},
Mistake{"AddressesThatDisagree", R"([[listen]]
address = ":8080"
http2 = "off"
backlog = 9
[[listen]]
address = ":8081"
http2 = "only"
backlog = 9
[[site]]
root = "/srv/www"
)",
R"(site.toml:7:1: error: http2 holds for all addresses
 7 | http2 = "only"
   | ^^^^^
   = it is another at site.toml:3:9
1 error
)"},
Mistake{"RedirectsInACircle", R"([[site]]
root = "/srv/www"
route = [ { path = "/a", redirect = "/b{rest}" }, { path = "=/b", redirect = "/a" } ]
)",
R"(site.toml:1:1: error: redirects lead in a circle: /a -> /b -> /a -> /b and so on
 1 | [[site]]
   | ^^^^^^^^
1 error
)"},
Mistake{"FieldsThatAnAnswerCannotLose", R"([[site]]
respond = "a"
response.remove = ["Server", "Location", "WWW-Authenticate", "X-A"]
)",
R"(site.toml:3:20: error: Server is left out everywhere, or nowhere
 3 | response.remove = ["Server", "Location", "WWW-Authenticate", "X-A"]
   |                    ^^^^^^^^
   = [server] name_field = false
site.toml:3:30: error: "Location" is what its status promises
 3 | response.remove = ["Server", "Location", "WWW-Authenticate", "X-A"]
   |                              ^^^^^^^^^^
   = without it clients cannot follow the answer
site.toml:3:42: error: "WWW-Authenticate" is what its status promises
 3 | response.remove = ["Server", "Location", "WWW-Authenticate", "X-A"]
   |                                          ^^^^^^^^^^^^^^^^^^
   = without it clients cannot follow the answer
3 errors
)"},
Mistake{"AHostInOtherLettersThanAscii", R"([[site]]
hosts = ["bücher.example"]
respond = "a"
)",
R"(site.toml:2:10: error: hosts are names without scheme, port and path
 2 | hosts = ["bücher.example"]
   |          ^^^^^^^^^^^^^^^^
   = write it as DNS has it: "xn--bcher-kva.example"
1 error
)"},
Mistake{"HostsThatNoRequestHas", R"([[site]]
hosts = ["a..", "[1.2.3.4]", "[:]", "*.[::1]", "[::1].", "*"]
respond = "a"
)",
R"(site.toml:2:10: error: hosts are names without scheme, port and path
 2 | hosts = ["a..", "[1.2.3.4]", "[:]", "*.[::1]", "[::1].", "*"]
   |          ^^^^^
   = "example.org", or "*.example.org" for all below it
site.toml:2:17: error: hosts are names without scheme, port and path
 2 | hosts = ["a..", "[1.2.3.4]", "[:]", "*.[::1]", "[::1].", "*"]
   |                 ^^^^^^^^^^^
   = "example.org", or "*.example.org" for all below it
site.toml:2:30: error: hosts are names without scheme, port and path
 2 | hosts = ["a..", "[1.2.3.4]", "[:]", "*.[::1]", "[::1].", "*"]
   |                              ^^^^^
   = "example.org", or "*.example.org" for all below it
site.toml:2:37: error: hosts are names without scheme, port and path
 2 | hosts = ["a..", "[1.2.3.4]", "[:]", "*.[::1]", "[::1].", "*"]
   |                                     ^^^^^^^^^
   = "example.org", or "*.example.org" for all below it
site.toml:2:48: error: hosts are names without scheme, port and path
 2 | hosts = ["a..", "[1.2.3.4]", "[:]", "*.[::1]", "[::1].", "*"]
   |                                                ^^^^^^^^
   = "example.org", or "*.example.org" for all below it
site.toml:2:58: error: hosts are names without scheme, port and path
 2 | hosts = ["a..", "[1.2.3.4]", "[:]", "*.[::1]", "[::1].", "*"]
   |                                                          ^^^
   = "example.org", or "*.example.org" for all below it
6 errors
)"},
Mistake{"AHostTwice", R"([[site]]
hosts = ["a.example", "A.example."]
respond = "a"
[[site]]
hosts = ["default"]
respond = "b"
[[site]]
respond = "c"
)",
R"(site.toml:1:1: error: the host a.example is named twice
 1 | [[site]]
   | ^^^^^^^^
1 error
)"},
Mistake{"ASiteWithoutHosts", R"([[site]]
hosts = []
respond = "a"
[[site]]
default = false
respond = "b"
)",
R"(site.toml:1:1: error: no request comes to this site: it has no hosts
 1 | [[site]]
   | ^^^^^^^^
   = hosts = ["example.org"], or default = true for all others
site.toml:4:1: error: no request comes to this site: it has no hosts
 4 | [[site]]
   | ^^^^^^^^
   = hosts = ["example.org"], or default = true for all others
2 errors
)"},
Mistake{"ErrorPagesThatAreNotThere", R"([[site]]
hosts = ["a.example"]
error_pages = { 404 = "404.html" }
root = "/srv/www"
[[site]]
respond = "b"
[[site.route]]
path = "/a"
error_pages.503 = "busy.html"
)",
R"(site.toml:3:23: error: cannot read /srv/www/404.html: no such file or directory
 3 | error_pages = { 404 = "404.html" }
   |                       ^^^^^^^^^^
site.toml:9:19: error: cannot read busy.html: no such file or directory
 9 | error_pages.503 = "busy.html"
   |                   ^^^^^^^^^^^
2 errors
)"},
Mistake{"ConditionsThatNoRequestMeets", R"([[site]]
respond = "a"
[[site.route]]
path = "/a"
method = ["post", "FETCH"]
header = { "X A" = "1", X-B = 5 }
query = "v"
remote = ["10.0.0.1/8", "a.example", "::1/129"]
scheme = "ftp"
priority = 5000
deny = true
[[site.route]]
path = "/b"
method = []
remote = []
deny = true
)",
R"(site.toml:5:11: error: no request has this method
 5 | method = ["post", "FETCH"]
   |           ^^^^^^
   = methods are in capitals: "POST"
site.toml:5:19: error: no request has this method
 5 | method = ["post", "FETCH"]
   |                   ^^^^^^^
   = method = ["GET", "POST"]; GET is HEAD, too
site.toml:6:12: error: no request has a field of this name
 6 | header = { "X A" = "1", X-B = 5 }
   |            ^^^^^
site.toml:6:31: error: X-B expects a string, true or false, and this is a whole number
 6 | header = { "X A" = "1", X-B = 5 }
   |                               ^
site.toml:7:9: error: query expects a table of names with the values they have
 7 | query = "v"
   |         ^^^
   = query = { name = "value", other = true, third = false }
site.toml:8:11: error: remote: this has bits behind the network's
 8 | remote = ["10.0.0.1/8", "a.example", "::1/129"]
   |           ^^^^^^^^^^^^
   = "10.0.0.0/8", "2001:db8::/32", or one address
site.toml:8:25: error: remote: this is no address or network
 8 | remote = ["10.0.0.1/8", "a.example", "::1/129"]
   |                         ^^^^^^^^^^^
   = "10.0.0.0/8", "2001:db8::/32", or one address
site.toml:8:38: error: remote: this has a bad number of bits
 8 | remote = ["10.0.0.1/8", "a.example", "::1/129"]
   |                                      ^^^^^^^^^
   = "10.0.0.0/8", "2001:db8::/32", or one address
site.toml:9:10: error: scheme expects "http" or "https"
 9 | scheme = "ftp"
   |          ^^^^^
site.toml:10:12: error: priority expects a whole number from -1000 to 1000
 10 | priority = 5000
    |            ^^^^
    = 0 is every route's; one with more is nearer
site.toml:14:10: error: this list of methods is empty
 14 | method = []
    |          ^^
    = leave it out for every method
site.toml:15:10: error: this list of networks is empty
 15 | remote = []
    |          ^^
    = leave it out for every address
12 errors
)"},
Mistake{"NamesOfFilesThatAreWrong", R"([[site]]
hosts = ["a.example"]
canonical_host = "b.example"
try = ["{path}", "/a"]
fallback = "a.html"
response.remove = "X-A"
[[site.route]]
path = "/a"
strip = "/b"
rewrite = "/{1}"
[[site.route]]
path = "/c"
try = [404, "c"]
prefix = "/v2"
body_max = 5
head_timeout = "soon"
deny = true
cache_control = "no-cache"
[[site.route]]
path = "/d"
method = "GET"
cache_control = "no-cache"
)",
R"(site.toml:3:18: error: no request for b.example comes to this site
 3 | canonical_host = "b.example"
   |                  ^^^^^^^^^^^
   = it is one of its hosts
site.toml:4:1: error: "try" stands beside "fallback"
 4 | try = ["{path}", "/a"]
   | ^^^
   = both say what stands for a missing file: leave one of them out
site.toml:6:19: error: remove expects a list of fields
 6 | response.remove = "X-A"
   |                   ^^^^^
   = response.remove = ["X-Powered-By"]
site.toml:9:9: error: no path of this route begins with that
 9 | strip = "/b"
   |         ^^^^
   = strip is the route's path, or the front of it
site.toml:10:11: error: {1} stands for a star, and the path has 0
 10 | rewrite = "/{1}"
    |           ^^^^^^
    = {path}, {rest} behind the route's, {1} for a first star, {host}, {host.1} for a first label
site.toml:13:1: error: "try" is about files, and this does not answer with files
 13 | try = [404, "c"]
    | ^^^
site.toml:13:8: error: try expects paths, such as "{path}" or "/index.html"
 13 | try = [404, "c"]
    |        ^^^
    = a status, 400 to 599, may be the last
site.toml:13:13: error: try expects paths, such as "{path}" or "/index.html"
 13 | try = [404, "c"]
    |             ^^^
    = a status, 400 to 599, may be the last
site.toml:14:1: error: "prefix" is about files, and this does not answer with files
 14 | prefix = "/v2"
    | ^^^^^^
site.toml:15:12: error: body_max expects a size such as "64KiB", and this is a whole number
 15 | body_max = 5
    |            ^
site.toml:16:16: error: head_timeout: expects a time such as 10s, 500ms or 2m
 16 | head_timeout = "soon"
    |                ^^^^^^
site.toml:22:1: error: cache_control is about a path alone
 22 | cache_control = "no-cache"
    | ^^^^^^^^^^^^^
    = leave the other conditions out, or set the field for them: response.set.Cache-Control
12 errors
)"},
Mistake{"ANumberWithAUnit", R"([limits]
header_timeout = 10s
)",
R"(site.toml:2:20: error: this is no TOML: expected digit, saw 's'
 2 | header_timeout = 10s
   |                    ^
   = a text has quotes: header_timeout = "10s"; what is behind this place was not read
1 error
)"},
Mistake{"ANumberTwice", R"([server]
threads = 4
threads = 4
)",
R"(site.toml:3:11: error: this is no TOML: cannot redefine existing integer 'threads'
 3 | threads = 4
   |           ^
   = what is behind this place was not read
1 error
)"},
Mistake{"AFileOfNginx", R"(server {
    listen 80;
}
)",
R"(site.toml:1:8: error: this is no TOML: expected '=', saw '{'
 1 | server {
   |        ^
   = a site is [[site]]; for files of nginx: tiderace import nginx FILE
1 error
)"},
Mistake{"NginxListen", R"([[site]]
root = "/srv/www"
listen = 80
)",
R"(site.toml:3:1: error: [[site]] has no key "listen"
 3 | listen = 80
   | ^^^^^^
   = it is called "address", and belongs in [[listen]]
1 error
)"},
Mistake{"NginxTryFiles", R"([[site]]
root = "/srv/www"
try_files = "$uri $uri/ =404"
)",
R"(site.toml:3:1: error: [[site]] has no key "try_files"
 3 | try_files = "$uri $uri/ =404"
   | ^^^^^^^^^
   = here it is called "try"
1 error
)"},
Mistake{"NginxCertificate", R"([[site]]
root = "/srv/www"
ssl_certificate = "cert.pem"
)",
R"(site.toml:3:1: error: [[site]] has no key "ssl_certificate"
 3 | ssl_certificate = "cert.pem"
   | ^^^^^^^^^^^^^^^
   = it is called "cert", and belongs in [[tls.certificate]]
1 error
)"},
Mistake{"ARegularExpressionWithoutItsSign", R"([[site]]
root = "/srv/www"
route = [ { path = "^/user/[0-9]*$", deny = true } ]
)",
R"(site.toml:3:20: error: a path begins with "/"
 3 | route = [ { path = "^/user/[0-9]*$", deny = true } ]
   |                    ^^^^^^^^^^^^^^^^
   = a "~" before it makes it a regular expression
1 error
)"},
};
// clang-format on

class SiteMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(SiteMistakes, AreToldWithTheirPlace) {
    GetParam().expect_told();
}

INSTANTIATE_TEST_SUITE_P(All, SiteMistakes, ::testing::ValuesIn(site_mistakes),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tiderace::server::config
