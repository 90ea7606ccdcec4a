#include "server/command_line/flag_texts.h"

#include <gtest/gtest.h>

namespace tiderace::server {
namespace {

using Setter = std::expected<void, std::string> (*)(ServeOptions&, std::string_view);

void expect_refused(Setter set, std::initializer_list<std::string_view> values) {
    for (const std::string_view value : values) {
        ServeOptions options;
        EXPECT_FALSE(set(options, value)) << value;
    }
}

TEST(IndexFlag, TakesNamesInOrderOrNone) {
    ServeOptions options;
    ASSERT_TRUE(set_index(options, "index.html,index.htm"));
    EXPECT_EQ(options.index, (std::vector<std::string>{"index.html", "index.htm"}));
    ASSERT_TRUE(set_index(options, "home.html"));
    EXPECT_EQ(options.index, std::vector<std::string>{"home.html"});
    ASSERT_TRUE(set_index(options, "none"));
    EXPECT_TRUE(options.index.empty());
    expect_refused(set_index,
                   {"", ",", "a,", ",a", "a,,b", "a/b", "..", ".", "/etc/passwd", "a,../b"});
    expect_refused(set_index, {"a,none", "none,a", "a,none,b", "none,none", "none,"});
}

TEST(CompressFlag, TakesAWordOrCodings) {
    ServeOptions options;
    ASSERT_TRUE(set_compress(options, "gzip,br"));
    EXPECT_TRUE(options.compress.codings.gzip && options.compress.codings.br);
    EXPECT_FALSE(options.compress.codings.zstd);
    ASSERT_TRUE(set_compress(options, "auto"));
    EXPECT_TRUE(options.compress.codings.zstd);
    ASSERT_TRUE(set_compress(options, "off"));
    EXPECT_FALSE(options.compress.codings.any());
    expect_refused(set_compress, {"", ",", "gzip,", ",gzip", "gzip,,br", "lz4", "GZIP"});
    expect_refused(set_compress, {"gzip,off", "gzip,auto", "off,gzip", "auto,br", "off,off"});
}

TEST(ErrorPageFlag, TakesACodeAndAFile) {
    ServeOptions options;
    ASSERT_TRUE(set_error_page(options, "404=404.html"));
    ASSERT_TRUE(set_error_page(options, "599=a=b.html"));
    ASSERT_EQ(options.error_pages.size(), 2U);
    EXPECT_EQ(options.error_pages[0].code, 404);
    EXPECT_EQ(options.error_pages[0].file, "404.html");
    EXPECT_EQ(options.error_pages[1].code, 599);
    EXPECT_EQ(options.error_pages[1].file, "a=b.html");
    expect_refused(set_error_page,
                   {"", "404", "404=", "=x", "399=x", "600=x", "4o4=x", "65940=x", "-404=x"});
}

TEST(MimeFlag, TakesAnExtensionWithOrWithoutItsDot) {
    ServeOptions options;
    ASSERT_TRUE(set_mime(options, "GLB=model/gltf-binary"));
    ASSERT_TRUE(set_mime(options, ".txt=text/plain; charset=utf-8"));
    EXPECT_EQ(options.mime_additions[0].extension, "glb");
    EXPECT_EQ(options.mime_additions[0].type, "model/gltf-binary");
    EXPECT_EQ(options.mime_additions[1].extension, "txt");
    EXPECT_EQ(options.mime_additions[1].type, "text/plain; charset=utf-8");
    expect_refused(set_mime, {"", "glb", "glb=", "=a/b", "glb=model", "glb=/b", "glb=a/", "a/b=c/d",
                              "glb=a/b\r\nX: y", "glb=a b/c"});
}

TEST(UserFlag, IsANameAndPerhapsAGroup) {
    for (const std::string_view good : {"nobody", "www-data:www-data", "1000", "1000:www-data"}) {
        ServeOptions options;
        EXPECT_TRUE(set_user(options, good)) << good;
        EXPECT_EQ(options.user, good);
    }
    for (const std::string_view bad : {"", ":", ":group", "name:", "a:b:c"}) {
        ServeOptions options;
        EXPECT_FALSE(set_user(options, bad)) << bad;
    }
}

TEST(CacheControlFlag, SplitsAtTheFirstEqualsSign) {
    ServeOptions options;
    ASSERT_TRUE(set_cache_control(options, "*.css=public, max-age=3600"));
    EXPECT_EQ(options.cache_control[0].pattern, "*.css");
    EXPECT_EQ(options.cache_control[0].value, "public, max-age=3600");
    for (const std::string_view value : {"no-store", "Max-Age=60", " public, max-age=60"}) {
        ServeOptions every;
        ASSERT_TRUE(set_cache_control(every, value)) << value;
        EXPECT_EQ(every.cache_control[0].pattern, "*") << value;
    }
    expect_refused(set_cache_control, {"", "*.css", "*.css=", "=max-age=1", "*=a\nb", "*=a\rb"});
}

TEST(HeaderFlag, TakesWhatIsAField) {
    ServeOptions options;
    ASSERT_TRUE(set_header(options, "X-Frame-Options: DENY "));
    ASSERT_TRUE(set_header(options, "Link:</a>; rel=\"b:c\""));
    EXPECT_EQ(options.added_headers[0].name, "X-Frame-Options");
    EXPECT_EQ(options.added_headers[0].value, "DENY");
    EXPECT_EQ(options.added_headers[1].value, "</a>; rel=\"b:c\"");
}

TEST(HeaderFlag, RefusesWhatWouldBreakAnAnswer) {
    expect_refused(set_header, {"", "X", "X:", ":v", "X Y:v", "X\r\nY:v", "X:a\r\nSet-Cookie: b",
                                "X:a\nb", "X:a\x7f", "\xc3\xbc:v", "X\t:v", "(X):v"});
    ServeOptions options;
    EXPECT_FALSE(set_header(options, std::string_view("X:a\0b", 5)));
    expect_refused(set_header,
                   {"Content-Length:0", "content-type:text/html", "TRANSFER-ENCODING:chunked",
                    "Connection:close", "Date:x", "ETag:\"x\"", "Upgrade:h2c"});
}

TEST(CgiFlag, TakesAPathAndAFolder) {
    ServeOptions options;
    ASSERT_TRUE(set_cgi(options, "/cgi-bin/=/srv/a=b"));
    EXPECT_EQ(options.routes[0].match.path, "/cgi-bin");
    EXPECT_EQ(options.routes[0].cgi, "/srv/a=b");
    ASSERT_TRUE(set_cgi(options, "/=/srv"));
    EXPECT_EQ(options.routes[1].match.path, "");
    expect_refused(set_cgi, {"", "/cgi-bin", "/cgi-bin=", "cgi-bin=/srv", "//=/srv", "=/srv"});
}

TEST(CgiFlag, HoldsForThePathsThatRequestsHave) {
    for (const char* spelled : {"/a b=/srv", "/a%20b/=/srv", "/x/../a%20b=/srv"}) {
        ServeOptions options;
        ASSERT_TRUE(set_cgi(options, spelled));
        EXPECT_EQ(options.routes.back().match.path, "/a b") << spelled;
    }
    expect_refused(set_cgi, {"/a%2Fb=/srv", "/%zz=/srv", "/../a=/srv", "/a\\b=/srv"});
}

TEST(PathLogFlag, HoldsForThePathsThatRequestsHave) {
    ServeOptions options;
    for (const char* spelled : {"/a b=f", "/a%20b=f", "/x/../a%20b/=f", "/./a%20b=f"}) {
        ASSERT_TRUE(set_path_log(options, spelled));
        EXPECT_EQ(options.routes.back().match.path, "/a b") << spelled;
    }
    expect_refused(set_path_log, {"/a%2Fb=f", "/%zz=f", "/../a=f", "/a\\b=f"});
}

TEST(PathLogFlag, TakesAPathAndALog) {
    ServeOptions options;
    ASSERT_TRUE(set_path_log(options, "/api/=/var/log/a=b"));
    EXPECT_EQ(options.routes[0].match.path, "/api");
    EXPECT_EQ(options.routes[0].log, "/var/log/a=b");
    ASSERT_TRUE(set_path_log(options, "/=-"));
    EXPECT_EQ(options.routes[1].match.path, "");
    ASSERT_TRUE(set_path_log(options, "/healthz=off"));
    for (std::size_t i = options.routes.size(); i < path_logs_max; ++i) {
        ASSERT_TRUE(set_path_log(options, "/a" + std::to_string(i) + "=off"));
    }
    EXPECT_FALSE(set_path_log(options, "/a=off"));
    expect_refused(set_path_log, {"", "/api", "/api=", "api=a.log", "//=a.log", "=a.log"});
}

TEST(PathRuleFlags, TakeAPathAndWhatTheSitesFlagTakes) {
    ServeOptions options;
    const auto at = [&](const char* path) -> const Route& {
        return route_of(options.routes, {.path = path});
    };
    ASSERT_TRUE(set_path<RouteValue::auth>(options, "/a=ada:l=v"));
    ASSERT_TRUE(set_path<RouteValue::auth>(options, "/a/open/=off"));
    EXPECT_EQ(at("/a").auth, std::vector<std::string>{"ada:l=v"});
    EXPECT_EQ(at("/a/open").auth, std::vector<std::string>{});
    ASSERT_TRUE(set_path<RouteValue::auth>(options, "/a/open/=bob:b"));
    ASSERT_TRUE(set_path<RouteValue::auth>(options, "/a/open/=off"));
    EXPECT_EQ(at("/a/open").auth, std::vector<std::string>{"bob:b"}) << "users win over an off";
    ASSERT_TRUE(set_path<RouteValue::cors>(options, "/api=*"));
    ASSERT_TRUE(set_path<RouteValue::cors>(options, "/api/own=off"));
    EXPECT_EQ(at("/api").cors, "*");
    EXPECT_EQ(at("/api/own").cors, "off");
    ASSERT_TRUE(set_path<RouteValue::rate>(options, "/=60"));
    ASSERT_TRUE(set_path<RouteValue::rate>(options, "/login=20,5"));
    ASSERT_TRUE(set_path<RouteValue::rate>(options, "/free=off"));
    EXPECT_EQ(at("").rate->limit->burst, http::filter::RateLimitOptions{}.burst);
    EXPECT_EQ(at("/login").rate->limit->per_minute, 20U);
    EXPECT_EQ(at("/login").rate->limit->burst, 5U);
    EXPECT_FALSE(at("/free").rate->limit);
    ASSERT_TRUE(set_path<RouteValue::header>(options, "/app=X-A:b=off"));
    EXPECT_EQ(at("/app").headers.at(0).value, "b=off");
    ASSERT_TRUE(set_path<RouteValue::error_page>(options, "/api=404=a=b.json"));
    EXPECT_EQ(at("/api").error_pages.at(0).code, 404);
    EXPECT_EQ(at("/api").error_pages.at(0).file, "a=b.json");
    ASSERT_TRUE(set_path<RouteValue::compress>(options, "/api=off"));
    ASSERT_TRUE(set_path<RouteValue::compress>(options, "/docs/=br,gzip"));
    EXPECT_FALSE(at("/api").compress->any());
    EXPECT_TRUE(at("/docs").compress->br && at("/docs").compress->gzip);
    EXPECT_FALSE(at("/docs").compress->zstd);
    EXPECT_TRUE(options.compress.codings.zstd) << "the site keeps its own";
    EXPECT_TRUE(options.basic_auth.empty() && !options.cors_origin && options.error_pages.empty());
}

TEST(PathRuleFlags, RefuseWhatTheSitesFlagRefuses) {
    expect_refused(set_path<RouteValue::auth>,
                   {"", "/a", "/a=", "a=ada:x", "/a=:x", "/a=ada:", "//=ada:x"});
    expect_refused(set_path<RouteValue::cors>, {"/a=example.com", "/a=https://a/b"});
    expect_refused(set_path<RouteValue::rate>, {"/a=0", "/a=x", "/a=5,", "/a=5,0", "/a=-1",
                                                "/a=1,2,3", "/a=1000001", "/a=99999999999"});
    expect_refused(set_path<RouteValue::header>, {"/a=off", "/a=X", "/a=Date:x", "/a=X:a\nb"});
    expect_refused(set_path<RouteValue::error_page>, {"/a=off", "/a=404", "/a=200=x.html"});
    expect_refused(set_path<RouteValue::compress>,
                   {"", "/a", "a=br", "/a=lz4", "/a=br,", "/a=off,br"});
    ServeOptions options;
    for (std::size_t i = 0; i < routes_max; ++i) {
        ASSERT_TRUE(set_path<RouteValue::auth>(options, "/a" + std::to_string(i) + "=off"));
    }
    EXPECT_FALSE(set_path<RouteValue::auth>(options, "/a=off"));
    EXPECT_TRUE(set_path<RouteValue::cors>(options, "/a0=*")) << "a path that has settings already";
}

TEST(PathRuleFlags, RedirectsHaveATargetThatIsElsewhere) {
    ServeOptions options;
    for (const char* good : {"/a=/b", "/a=/ab", "/a=https://b.example", "/a=http://b.example/a/",
                             "/a/b=/a", "/=https://b.example", "/a=/", "/a=/b%20c"}) {
        EXPECT_TRUE(set_path<RouteValue::redirect>(options, good)) << good;
    }
    EXPECT_EQ(options.routes[0].reply->target, "/b%20c{rest}") << "the last of a path counts";
    ASSERT_TRUE(set_path<RouteValue::redirect>(options, "/a=off"));
    EXPECT_TRUE(options.routes[0].reply->is_off());
    const std::size_t count = options.routes.size();
    for (const char* bad :
         {"/a=", "/a=b", "/a=//b.example", "/a=ftp://b", "/a=https://", "/a=/b c", "/a=/b\nX: y",
          "/a=/b?c", "/a=/b#c", "/a=/\\b", "/a=/\xC3\xA4", "/a=/a", "/a=/a/b", "/a=/x/../a/b",
          "/=/b", "/a%20b=/a%20b/c", "/a=/..", "/a=/%zz"}) {
        EXPECT_FALSE(set_path<RouteValue::redirect>(options, bad)) << bad;
    }
    EXPECT_EQ(options.routes.size(), count) << "what is refused leaves nothing";
}

TEST(PathRuleFlags, HoldForThePathsThatRequestsHave) {
    ServeOptions options;
    for (const char* spelled : {"/a b=off", "/a%20b=off", "/x/../a%20b/=off", "/./a%20b=off"}) {
        ASSERT_TRUE(set_path<RouteValue::auth>(options, spelled));
        EXPECT_EQ(options.routes.back().match.path, "/a b") << spelled;
    }
    expect_refused(set_path<RouteValue::auth>,
                   {"/a%2Fb=off", "/%zz=off", "/../a=off", "/a\\b=off"});
}

TEST(FastCgiFlag, TakesAPatternAndAnAddress) {
    ServeOptions options;
    ASSERT_TRUE(set_fastcgi(options, "*.php=unix:/run/a=b.sock"));
    EXPECT_EQ(options.routes[0].match.path, "*.php");
    EXPECT_EQ(options.routes[0].fastcgi->path(), "/run/a=b.sock");
    ASSERT_TRUE(set_fastcgi(options, "/app=127.0.0.1:9000"));
    EXPECT_EQ(options.routes[1].fastcgi->port(), 9000);
    expect_refused(set_fastcgi, {"", "*.php", "*.php=", "php=unix:/x", "*.php=:9000",
                                 "*.php=127.0.0.1:0", "*.php=nowhere", "=unix:/x"});
}

TEST(FastCgiFlag, APathHoldsForThePathsThatRequestsHave) {
    for (const char* spelled : {"/a b=unix:/x", "/a%20b/=unix:/x", "/x/../a%20b=unix:/x"}) {
        ServeOptions options;
        ASSERT_TRUE(set_fastcgi(options, spelled));
        EXPECT_EQ(options.routes.back().match.path, "/a b") << spelled;
    }
    ServeOptions options;
    ASSERT_TRUE(set_fastcgi(options, "/a%20b/*.php=unix:/x"));
    EXPECT_EQ(options.routes.back().match.path, "/a%20b/*.php") << "a glob stays as it is";
    expect_refused(set_fastcgi, {"/a%2Fb=unix:/x", "/%zz=unix:/x", "/../a=unix:/x"});
}

TEST(CorsFlag, TakesAllOrOneOrigin) {
    ServeOptions options;
    ASSERT_TRUE(set_cors(options, "*"));
    EXPECT_EQ(options.cors_origin, "*");
    ASSERT_TRUE(set_cors(options, "http://localhost:3000"));
    EXPECT_EQ(options.cors_origin, "http://localhost:3000");
    // Browsers send it so, whatever is typed.
    ASSERT_TRUE(set_cors(options, "HTTPS://Example.com:443"));
    EXPECT_EQ(options.cors_origin, "https://example.com");
    ASSERT_TRUE(set_cors(options, "http://example.com:443"));
    EXPECT_EQ(options.cors_origin, "http://example.com:443");
    expect_refused(set_cors, {"", "**", "example.com", "https://", "https://a/", "https://a/b",
                              "ftp://a", "https://a,https://b", "https://a b", "https://a?b",
                              "https://u@a", "https://a\r\nX:y"});
}

TEST(BasicAuthFlag, TakesAPairOrAFile) {
    ServeOptions options;
    ASSERT_TRUE(set_basic_auth(options, "alice:wonder:land"));
    ASSERT_TRUE(set_basic_auth(options, "users.htpasswd"));
    EXPECT_EQ(options.basic_auth,
              (std::vector<std::string>{"alice:wonder:land", "users.htpasswd"}));
    expect_refused(set_basic_auth, {":password", "alice:"});
}

TEST(PathAuthFlag, APasswordIsTakenAsItIsTyped) {
    ServeOptions options;
    ASSERT_TRUE(set_path<RouteValue::auth>(options, "/a=alice: open sesame "));
    EXPECT_EQ(options.routes[0].auth, std::vector<std::string>{"alice: open sesame "});
}

TEST(SpaFlag, TakesTheNameOfAFileInTheFolder) {
    ServeOptions options;
    ASSERT_TRUE(set_spa(options, "app/index.html"));
    EXPECT_EQ(options.spa_file, "app/index.html");
    ASSERT_TRUE(set_spa(options, "/index.html"));
    EXPECT_EQ(options.spa_file, "index.html");
    expect_refused(set_spa,
                   {"../index.html", "a/../index.html", "a//index.html", "//a", "/", "./a", "a/"});
}

TEST(ProgramFlags, OnePathLeadsToOneFolderOrPeer) {
    ServeOptions options;
    ASSERT_TRUE(set_cgi(options, "/cgi=a"));
    ASSERT_TRUE(set_cgi(options, "/cgi/b=a"));
    const auto path_again = set_cgi(options, "/cgi/=b");
    ASSERT_FALSE(path_again);
    EXPECT_EQ(path_again.error(), "this path is given twice");
    ASSERT_TRUE(set_fastcgi(options, "*.php=unix:/a"));
    ASSERT_TRUE(set_fastcgi(options, "*.cgi=unix:/a"));
    const auto pattern_again = set_fastcgi(options, "*.php=unix:/b");
    ASSERT_FALSE(pattern_again);
    EXPECT_EQ(pattern_again.error(), "this pattern is given twice");
}

TEST(ListenFlag, ThePortOfTheKernelsChoiceMayBeGivenTwice) {
    ServeOptions options;
    ASSERT_TRUE(set_listen(options, "127.0.0.1:0"));
    ASSERT_TRUE(set_listen(options, "127.0.0.1:0"));
    EXPECT_EQ(options.listen.size(), 2U);
}

TEST(ListenFlag, CountsOnlyWhatIsGiven) {
    ServeOptions options;
    EXPECT_FALSE(set_listen(options, "8080"));
    EXPECT_TRUE(options.listen_is_default) << "a refused address changes nothing";
    ASSERT_TRUE(set_listen(options, "127.0.0.1:8080"));
    EXPECT_FALSE(options.listen_is_default);
    EXPECT_EQ(options.listen.size(), 1U);
}

}  // namespace
}  // namespace tiderace::server
