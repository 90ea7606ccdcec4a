#include "tiderace/http/wire/mime.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/wire/mime_table.h"

namespace tiderace::http::wire {
namespace {

TEST(Mime, GivesTheTypesThatBrowsersInsistOn) {
    struct Case {
        ByteView path, type;
    };
    const Case cases[] = {
        {"/index.html", "text/html; charset=utf-8"},
        {"/index.htm", "text/html; charset=utf-8"},
        {"/page.xhtml", "application/xhtml+xml"},
        {"/app.css", "text/css; charset=utf-8"},
        {"/app.js", "text/javascript; charset=utf-8"},
        {"/app.mjs", "text/javascript; charset=utf-8"},
        {"/app.js.map", "application/json"},
        {"/data.json", "application/json"},
        {"/site.webmanifest", "application/manifest+json"},
        {"/app.wasm", "application/wasm"},
        {"/logo.svg", "image/svg+xml"},
        {"/logo.svgz", "image/svg+xml"},
        {"/favicon.ico", "image/x-icon"},
        {"/a.png", "image/png"},
        {"/a.jpg", "image/jpeg"},
        {"/a.jpeg", "image/jpeg"},
        {"/a.gif", "image/gif"},
        {"/a.webp", "image/webp"},
        {"/a.avif", "image/avif"},
        {"/a.woff", "font/woff"},
        {"/a.woff2", "font/woff2"},
        {"/a.ttf", "font/ttf"},
        {"/a.otf", "font/otf"},
        {"/a.mp4", "video/mp4"},
        {"/a.webm", "video/webm"},
        {"/a.ts", "video/mp2t"},
        {"/a.m3u8", "application/vnd.apple.mpegurl"},
        {"/a.mp3", "audio/mpeg"},
        {"/a.ogg", "audio/ogg"},
        {"/a.wav", "audio/wav"},
        {"/a.vtt", "text/vtt; charset=utf-8"},
        {"/a.pdf", "application/pdf"},
        {"/README.md", "text/markdown; charset=utf-8"},
        {"/notes.txt", "text/plain; charset=utf-8"},
        {"/table.csv", "text/csv; charset=utf-8"},
        {"/feed.xml", "application/xml"},
        {"/feed.rss", "application/rss+xml"},
        {"/feed.atom", "application/atom+xml"},
        {"/a.zip", "application/zip"},
        {"/a.tar.gz", "application/gzip"},
        {"/main.cc", "text/plain; charset=utf-8"},
        {"/a.epub", "application/epub+zip"},
    };
    const MimeTable table;
    for (const Case& c : cases) EXPECT_EQ(table.type_of(c.path), c.type) << c.path;
}

TEST(Mime, LooksAtTheLastExtensionOfTheLastSegmentInAnyCase) {
    const MimeTable table;
    EXPECT_EQ(table.type_of("PHOTO.JPG"), "image/jpeg");
    EXPECT_EQ(table.type_of("/a.png/b.Css"), "text/css; charset=utf-8");
    EXPECT_EQ(table.type_of("/jquery.min.js"), "text/javascript; charset=utf-8");
    EXPECT_EQ(table.type_of("/.hidden.html"), "text/html; charset=utf-8");
}

TEST(Mime, GivesTheDefaultForAnythingElse) {
    const MimeTable table;
    for (const ByteView path : {"", "/", "/Makefile", "/.html", "/a.", "/a.unknown", "/a.png/b",
                                "/a.ahtml", "/a.averyveryverylongextension", "/a.html ", "html"}) {
        EXPECT_EQ(table.type_of(path), "application/octet-stream") << path;
    }
    EXPECT_EQ(table.type_of(ByteView("/a.html\0", 8)), "application/octet-stream");
}

TEST(Mime, FindsEveryExtensionItHas) {
    const MimeTable table;
    for (const MimeEntry& entry : builtin_mime_types()) {
        EXPECT_EQ(table.type_of("/a." + std::string(entry.extension)), entry.type);
    }
}

TEST(Mime, TheUsersAdditionsComeFirst) {
    MimeTable table;
    EXPECT_TRUE(table.add("tide", "application/x-tide"));
    EXPECT_TRUE(table.add(".TS", "text/plain; charset=utf-8"));
    EXPECT_TRUE(table.add("html", "text/html"));
    EXPECT_TRUE(table.add("tide", "text/x-tide"));
    EXPECT_EQ(table.type_of("/a.Tide"), "text/x-tide");
    EXPECT_EQ(table.type_of("/a.ts"), "text/plain; charset=utf-8");
    EXPECT_EQ(table.type_of("/a.html"), "text/html");
    EXPECT_EQ(table.type_of("/a.css"), "text/css; charset=utf-8");
}

TEST(Mime, RefusesAdditionsThatCouldNotStandInAField) {
    MimeTable table;
    for (const ByteView type : {"", "text", "text/", "/plain", "text/pl ain", "text/plain\r\nX: y",
                                "te xt/plain", " text/plain", "text/plain ", "text/a/b"}) {
        EXPECT_FALSE(table.add("x", type)) << type;
    }
    const std::string long_type = "text/" + std::string(MimeTable::type_bytes_max, 'x');
    EXPECT_FALSE(table.add("x", long_type));
    for (const ByteView extension : {"", ".", "a.b", "a/b", "..", "seventeen-letters"}) {
        EXPECT_FALSE(table.add(extension, "text/plain")) << extension;
    }
    EXPECT_EQ(table.type_of("/a.x"), "application/octet-stream");
}

TEST(Mime, KnowsWhatIsWorthCompressing) {
    for (const ByteView type :
         {"text/html; charset=utf-8", "text/javascript", "TEXT/CSS", "application/json",
          "application/json ; charset=utf-8", "application/manifest+json", "image/svg+xml",
          "application/xml", "application/rss+xml", "application/wasm", "font/ttf", "image/x-icon",
          "model/gltf-binary"}) {
        EXPECT_TRUE(compressible(type)) << type;
    }
    for (const ByteView type :
         {"", "image/png", "image/jpeg", "video/mp4", "audio/mpeg", "font/woff2", "font/woff",
          "application/zip", "application/gzip", "application/pdf", "application/octet-stream",
          "application/epub+zip", "model/vnd.usdz+zip", "text/event-stream", "text"}) {
        EXPECT_FALSE(compressible(type)) << type;
    }
}

}  // namespace
}  // namespace tiderace::http::wire
