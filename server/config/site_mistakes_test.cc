// What people get wrong about sites as a whole, and what they are told (mistakes_test.cc).
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "server/config/mistake_fixture.h"

namespace tiderace::server::config {
namespace {

// clang-format off
constexpr std::array site_mistakes{
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
