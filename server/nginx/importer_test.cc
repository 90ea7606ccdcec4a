#include "server/nginx/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/config.h"
#include "server/config/config_fixture.h"
#include "server/config/format.h"
#include "server/config/toml.h"
#include "tiderace/http/route/regex.h"

namespace tiderace::server::nginx {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

config::Memory world_of(const std::string& text) {
    config::Memory memory;
    memory.files = {{"/n/n.conf", text},
                    {"/srv/www/404.html", ""},
                    {"/n/c.pem", ""},
                    {"/n/k.pem", ""},
                    {"/n/users", ""}};
    return memory;
}

Imported import(const std::string& text) {
    const config::Memory memory = world_of(text);
    const config::DocumentWorld world = memory.world();
    const std::vector<std::string> files{"/n/n.conf"};
    auto imported = import_files(files, world);
    EXPECT_TRUE(imported) << imported.error().sentence;
    return imported ? std::move(*imported) : Imported{};
}

// Imports a server with a root. The result must be valid and formatted.
Imported of_server(const std::string& text) {
    Imported imported = import("server { root /srv/www;\n" + text + "\n}");
    config::Memory memory = world_of(imported.text);
    config::Sources sources;
    config::Problems problems;
    const config::DocumentWorld world = memory.world();
    EXPECT_TRUE(config::read_config("/n/n.conf", sources, problems, world))
        << problems.text(sources) << imported.text;
    EXPECT_EQ(config::format_toml(imported.text).text, imported.text);
    return imported;
}

TEST(NginxImporter, DirectivesThatAreCarried) {
    struct Case {
        const char* nginx;
        const char* ours;
    };
    constexpr Case cases[] = {
        {"listen 8080;", "[[listen]]\naddress = \":8080\"\n"},
        {"listen [::]:80; listen 80;", "[[listen]]\naddress = \":80\"\n\n[[site]]"},
        {"server_name a.example .b.example;",
         "hosts = [\"a.example\", \"b.example\", \"*.b.example\"]\n"},
        {"index a.html b.html;", "index = [\"a.html\", \"b.html\"]\n"},
        {"autoindex on;", "listing = true\n"},
        {"gzip off;", "compress = \"off\"\n"},
        {"expires 1h;", "cache_control = \"max-age=3600\"\n"},
        {"add_header X-A \"b c\" always;", "response.set.X-A = \"b c\"\n"},
        {"error_page 404 /404.html;", "error_pages.404 = \"404.html\"\n"},
        {"try_files $uri $uri/ /index.html;", "fallback = \"index.html\"\n"},
        {"try_files $uri $uri.html $uri/ =404;", "clean_urls = true\n"},
        {"access_log /var/log/a.log;", "log = \"/var/log/a.log\"\n"},
        {"client_max_body_size 20m;", "[limits]\nbody_max = \"20MiB\"\n"},
        {"keepalive_timeout 75s;", "idle_timeout = \"75s\"\n"},
        {"location = /a { return 204; }", "path = \"=/a\"\nstatus = 204\n"},
        {"location /a/ { return 403; }", "path = \"/a\"\nstatus = 403\n"},
        {"location ^~ /a { return 200 ok; }", "path = \"/a\"\nrespond = \"ok\"\n"},
        {"location /a { return 301 /b$request_uri; }", "redirect = \"/b/a{rest}\"\nstatus = 301\n"},
        {"location /a { deny all; }", "# deny all\npath = \"/a\"\ndeny = 403\n"},
        {"location /a { internal; }", "path = \"/a\"\ndeny = true\n"},
        {"location /a { expires max; }", "path = \"/a\"\ncache_control = \"max-age=315360000\"\n"},
        {"location ~ \\.php$ { fastcgi_pass 127.0.0.1:9000; }",
         "path = \"*.php\"\nfastcgi = \"127.0.0.1:9000\"\n"},
        {"location ~ \\.(php|php5)$ { fastcgi_pass 127.0.0.1:9000; }",
         "path = [\"*.php\", \"*.php5\"]\nfastcgi = \"127.0.0.1:9000\"\n"},
        {"rewrite ^/a/(.*)$ /b/$1 permanent;",
         "path = \"/a\"\nredirect = \"/b{rest}\"\nstatus = 301\n"},
        {"location / { autoindex on; }", "listing = true\n"},
        {"auth_basic \"Staff\"; auth_basic_user_file users; location /a { auth_basic off; }",
         "auth = { users = \"/n/users\" }\n"},
    };
    for (const Case& each : cases) {
        const Imported imported = of_server(each.nginx);
        EXPECT_THAT(imported.text, HasSubstr(each.ours));
        EXPECT_FALSE(imported.has_dropped) << each.nginx << imported.text;
    }
}

TEST(NginxImporter, WhatIsNotCarriedIsACommentWithItsPlace) {
    for (const char* const each :
         {"proxy_buffering off;", "listen 80 proxy_protocol;", "try_files $uri @app;",
          "error_page 404 /none.html;", "error_page 404 =200 /404.html;", "add_header A $host;",
          "location @app { return 404; }", "location ~ ^/(a { return 404; }",
          "if ($x) { return 404; }", "rewrite ^/a$ /b last;", "return 444;",
          "location /a { alias /srv/a; }", "expires $x;", "location /a { root /srv/a; }",
          "server_name ~^www\\d;", "client_max_body_size 0;"}) {
        const Imported imported = of_server(each);
        EXPECT_TRUE(imported.has_dropped) << each;
        EXPECT_THAT(imported.text, HasSubstr("# /n/n.conf:2: "));
    }
    for (const char* const each : {"sendfile on;", "include mime.types;", "gzip_vary on;"}) {
        const Imported imported = of_server(each);
        EXPECT_FALSE(imported.has_dropped) << each;
        EXPECT_THAT(imported.text, HasSubstr("  -- not needed\n"));
    }
}

TEST(NginxImporter, AConditionThatIsNotCarriedCloses) {
    for (const char* const each :
         {"allow 10.0.0.0/8; deny all;", "auth_request /auth;", "auth_basic staff;",
          "limit_except GET { deny all; }", "satisfy any; allow 10.0.0.1; deny all;"}) {
        const Imported imported = of_server("location /a { " + std::string(each) + " }");
        EXPECT_TRUE(imported.has_dropped) << each;
        EXPECT_THAT(imported.text, HasSubstr("path = \"/a\"\ndeny = 403\n"));
    }
    for (const char* const each :
         {"location ~ ^/(conf { deny all; }", "location ~* (?J)(?<a>)(?<a> { return 403; }",
          "location ~ ^/a { location ~ ^/a/b { auth_basic x; } }"}) {
        const Imported imported =
            of_server(std::string(each) + "\nlocation ~ \\.php$ { fastcgi_pass 127.0.0.1:9000; }");
        EXPECT_TRUE(imported.has_dropped);
        EXPECT_THAT(imported.text, HasSubstr("default = true\ndeny = 403\n")) << imported.text;
        EXPECT_THAT(imported.text,
                    HasSubstr("# path = \"*.php\"\n# fastcgi = \"127.0.0.1:9000\"\n"));
    }
    const Imported opened = of_server(
        "auth_basic a; auth_basic_user_file users;\n"
        "location / { auth_basic off; }\nlocation /a { expires 1h; }");
    EXPECT_TRUE(opened.has_dropped);
    EXPECT_THAT(opened.text, HasSubstr("auth = { users = \"/n/users\" }\n"));
    EXPECT_THAT(of_server("ssl_verify_client on;").text, HasSubstr("deny = 403\n"));
    EXPECT_THAT(of_server("allow 10.0.0.0/8; deny all;").text,
                EndsWith("default = true\ndeny = 403\n"));
    EXPECT_THAT(of_server("location /a { proxy_pass http://b; }").text,
                HasSubstr("path = \"/a\"\nstatus = 502\n"));
}

TEST(NginxImporter, RegularExpressionsAreCarried) {
    if (!http::route::has_regexes()) GTEST_SKIP() << "this build is without PCRE2";
    struct Case {
        const char* nginx;
        const char* ours;
    };
    constexpr Case cases[] = {
        {"location ~* \\.(css|js)$ { expires 1d; }",
         "path = \"~(?i)\\\\.(css|js)$\"\ncache_control = \"max-age=86400\"\n"},
        {"location ~ ^/a/\\d+ { return 404; }", "path = \"~^/a/\\\\d+\"\nstatus = 404\n"},
        {"location ~ \"^/a{2}\" { deny all; }", "path = \"~^/a{2}\"\ndeny = 403\n"},
        {"location ~ ^/u/(\\d+)/(?<tail>.*)$ { return 301 /user/$1/$tail; }",
         "redirect = \"/user/{1}/{tail}\"\nstatus = 301\n"},
        {"location ~ ^/u { return 302 https://a.example$request_uri; }",
         "redirect = \"https://a.example{path}\"\nstatus = 302\n"},
        {"rewrite ^/u/(\\d+)$ /user/$1 permanent;",
         "path = \"~^/u/(\\\\d+)$\"\nredirect = \"/user/{1}\"\nstatus = 301\n"},
        {"rewrite ^/old /new redirect;", "path = \"~^/old\"\nredirect = \"/new\"\nstatus = 302\n"},
        {"rewrite ^/a/(.*)$ /b/$1 permanent; rewrite ^/a/x$ /c permanent;",
         "path = \"~^/a/(.*)$\"\nredirect = \"/b/{1}\"\n"},
        {"rewrite ^/a/(.*)$ /b/$1 permanent; location /a/x { return 204; }",
         "path = \"/a\"\npriority = 2\nredirect = \"/b{rest}\"\n"},
        {"location /v1/ { rewrite ^/v1/(.*)\\.old$ /v2/$1 break; }",
         "path = \"~^/v1/(.*)\\\\.old$\"\nrewrite = \"/v2/{1}\"\n"},
        {"location /v1/ { rewrite ^/v1/(\\d+)$ /v2/$1 permanent; return 410; }",
         "path = \"~^/v1/(\\\\d+)$\"\nredirect = \"/v2/{1}\"\nstatus = 301\n"},
        {"location /old/ { rewrite ^ /new permanent; }",
         "path = \"/old\"\nredirect = \"/new\"\nstatus = 301\n"},
        {"location /old/ { rewrite ^(.*)$ https://a.example$1 permanent; }",
         "path = \"/old\"\nredirect = \"https://a.example/old{rest}\"\nstatus = 301\n"},
        {"if ($uri ~* ^/a\\d) { return 403; }",
         "path = \"~(?i)^/a\\\\d\"\npriority = 3\ndeny = 403\n"},
        {"if ($uri ~ \"^/a{2}\") { return 403; }",
         "path = \"~^/a{2}\"\npriority = 3\ndeny = 403\n"},
        {"location /a/ { location ~ ^/a/\\d { return 410; } }",
         "path = \"~^/a/\\\\d\"\nstatus = 410\n"},
        {"location ^~ /a { return 200 a; } location ~ \\.b$ { return 200 b; }",
         "path = \"/a\"\nrespond = \"a\"\npriority = 1\n"},
    };
    for (const Case& each : cases) {
        const Imported imported = of_server(each.nginx);
        EXPECT_THAT(imported.text, HasSubstr(each.ours));
        EXPECT_FALSE(imported.has_dropped) << each.nginx << imported.text;
    }
}

TEST(NginxImporter, AnExpressionThatIsNotExactIsAComment) {
    for (const char* const each :
         {"rewrite ^/a/(.*)$ /b/$1 last;", "rewrite ^/a/(\\d+)$ /b?id=$1 permanent;",
          "rewrite ^/a/(\\d+)$ /b/$1? permanent;", "rewrite ^/a/(\\d+)$ /b/$2 permanent;",
          "rewrite ^/(\\w+)$ https://a$1 permanent;", "rewrite ^/a/(.*)$ /b/$1 break;",
          "location /a { rewrite ^/b/(.*)$ /c/$1 break; }",
          "location /a/ { rewrite ^/a/(.*)$ /c/$1 break; } location ~ x { return 200 x; }",
          "location /a/ { rewrite ^/a/(.*)$ /c/$1 break; } location /a/b/ { return 200 x; }",
          "location /a/ { rewrite ^/a/(.*)$ /c/$1 last; }",
          "location ~ ^/(a)$ { rewrite ^/(.*)(.)$ /c/$1/d permanent; }",
          "location ~ ^/(\\w+)$ { return 301 https://a$1; }",
          "location ~ ^/a { location ~ ^/a/b { return 404; } }",
          "location /a/ { location ~ /b { return 404; } }",
          "location ^~ /a { return 200 a; } location /a/b { return 200 b; } location ~ c { expires "
          "1h; }",
          "if ($request_uri ~ ^/a) { return 403; }", "if ($uri !~ ^/a) { return 403; }",
          "location /a/ { if ($uri ~ b) { return 403; } }"}) {
        EXPECT_TRUE(of_server(each).has_dropped) << each << of_server(each).text;
    }
}

TEST(NginxImporter, AnIfThatRefusesIsARouteOrAWarning) {
    const Imported carried = of_server(
        "if ($request_method ~ ^(PUT|DELETE)$) { return 403; }\n"
        "location /a { if ($http_x_a) { return 410; } if ($arg_b = c) { return 503; } }");
    EXPECT_FALSE(carried.has_dropped) << carried.text;
    EXPECT_THAT(carried.text,
                HasSubstr("[[site.route]]\nmethod = [\"PUT\", \"DELETE\"]\npriority = 3\n"
                          "deny = 403\n"));
    EXPECT_THAT(carried.text, HasSubstr("path = \"/a\"\nheader.X-A = true\ndeny = 410\n"));
    EXPECT_THAT(carried.text, HasSubstr("path = \"/a\"\nquery.b = \"c\"\ndeny = 403\n"));
    for (const char* const each :
         {"if ($request_method !~ ^(GET|HEAD)$) { return 405; }",
          "location /a { if ($http_user_agent ~* bot) { return 403; } }", "if ($x) { deny all; }",
          "if ($arg_b = c) { set $a b; return 403; }"}) {
        const Imported imported = of_server(each);
        EXPECT_TRUE(imported.has_dropped) << each;
        ASSERT_EQ(imported.opened.size(), 1U) << each;
        EXPECT_THAT(imported.opened[0], HasSubstr("/n/n.conf:2: if ("));
        EXPECT_THAT(imported.text, HasSubstr("  -- it refused requests, which are answered now\n"));
    }
    EXPECT_TRUE(of_server("if ($a) { return 301 /b; }").opened.empty());
}

TEST(NginxImporter, AServerInClearThatLeadsToHttps) {
    for (const char* const each : {"return 301 https://$host$request_uri;",
                                   "if ($host = a.example) { return 301 "
                                   "https://$host$request_uri; } return 404;",
                                   "rewrite ^ https://$host$request_uri? permanent;"}) {
        const Imported imported = import(
            "server { listen 80; server_name a.example; " + std::string(each) +
            " }\n"
            "server { listen 443 ssl http2; server_name a.example; root /srv/www;\n"
            "ssl_certificate c.pem; ssl_certificate_key k.pem; ssl_protocols TLSv1.2 TLSv1.3; }");
        EXPECT_FALSE(imported.has_dropped) << imported.text;
        EXPECT_THAT(imported.text,
                    HasSubstr("[[listen]]\naddress = \":443\"\n\n"
                              "[[listen]]\naddress = \":80\"\nredirect_to_https = true\n\n"
                              "[[tls.certificate]]\ncert = \"/n/c.pem\"\nkey = \"/n/k.pem\"\n"));
    }
}

TEST(NginxImporter, TheFirstServerIsTheDefaultUnlessAnotherSaysSo) {
    EXPECT_THAT(
        import("server { server_name a; root /a; } server { server_name b; root /b; }").text,
        HasSubstr("hosts = [\"a\"]\ndefault = true\n"));
    const std::string text = import(
                                 "server { server_name a; root /a; }"
                                 "server { listen 80 default_server; server_name _; root /b; }")
                                 .text;
    EXPECT_THAT(text, HasSubstr("hosts = [\"a\"]\nroot"));
    EXPECT_THAT(text, HasSubstr("[[site]]\ndefault = true\nroot = \"/b\"\n"));
    const Imported twice =
        import("server { server_name a; root /a; } server { server_name a; root /b; }");
    EXPECT_TRUE(twice.has_dropped);
    EXPECT_THAT(twice.text, Not(HasSubstr("root = \"/b\"")));
}

TEST(NginxImporter, AServerInheritsUnlessItHasItsOwn) {
    const std::string text =
        import(
            "http { root /srv/www; gzip on; add_header A b; keepalive_timeout 5;\n"
            "server { server_name a; add_header C d; } }")
            .text;
    EXPECT_THAT(text,
                HasSubstr("root = \"/srv/www\"\ncompress = \"auto\"\nresponse.set.C = \"d\"\n"));
    EXPECT_THAT(text, Not(HasSubstr("response.set.A")));
    EXPECT_THAT(text, HasSubstr("idle_timeout = \"5s\"\n"));
}

TEST(NginxImporter, WhateverTheFileIsTheResultIsToml) {
    const std::string text =
        "user a b; http { add_header A \"b\\\"c\"; expires 1h; error_page 404 /404.html;\n"
        "server { listen 80; listen [::]:81 default_server; server_name a *.b .c _;\n"
        "location = /a { return 301 $scheme://$host/b$request_uri; } location ~ \\.(a|b)$ {\n"
        "expires max; } rewrite ^/a/(.*)$ /b/$1 permanent; allow 1.2.3.4; deny all; } }\n"
        "server { listen 443 ssl; ssl_certificate a; return 200 \"\xff\xc3\xa4\"; }";
    std::uint32_t state = 1;
    for (int round = 0; round < 2000; ++round) {
        std::string changed = text;
        for (int i = 0; i < 3; ++i) {
            state = state * 1664525 + 1013904223;
            const std::size_t at = (state >> 8) % changed.size();
            constexpr std::string_view marks = "{};\"'\\$ \n#/=\x01\xffw";
            if (state % 3 == 0) changed.erase(at, 1 + state % 7);
            changed[at % changed.size()] = marks[(state >> 4) % marks.size()];
        }
        const config::Memory memory = world_of(changed);
        const config::DocumentWorld world = memory.world();
        const std::vector<std::string> files{"/n/n.conf"};
        const auto imported = import_files(files, world);
        if (!imported) continue;
        config::Sources sources;
        config::Problems problems;
        config::parse_toml(sources, sources.add({"t.toml", imported->text}), problems);
        ASSERT_EQ(problems.errors(), 0U) << changed << problems.text(sources) << imported->text;
    }
}

TEST(NginxImporter, ACountIsOneAlsoInToml) {
    const auto carries = [](const std::string& count, const std::string& line) {
        const std::string text = import("events { worker_connections " + count + " }").text;
        EXPECT_EQ(text.find("connections_max") != std::string::npos, !line.empty()) << text;
        EXPECT_NE(text.find(line), std::string::npos) << text;
    };
    carries("007;", "connections_max = 7\n");
    for (const char* const none : {";", "99999999999999999999;", "{ a; }", "1k;"})
        carries(none, "");
}

TEST(NginxImporter, ACommentStaysOneLine) {
    const Imported imported = of_server("set $a \"x\ndefault = true\";");
    EXPECT_THAT(imported.text, HasSubstr("# /n/n.conf:2: set $a \"x default = true\"\n"));
}

}  // namespace
}  // namespace tiderace::server::nginx
