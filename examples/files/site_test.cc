// The service in memory: no port.
#include "examples/files/site.h"

#include <gtest/gtest.h>
#include <tiderace/testing.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using tiderace::http::Content;
using tiderace::http::Headers;
using tiderace::testing::Client;
using tiderace::testing::form;
using namespace std::chrono_literals;

namespace {

constexpr const char* offset_type = "application/offset+octet-stream";

class FilesTest : public testing::Test {
  protected:
    FilesTest() {
        limits.disk_bytes_free_min = 0;
        limits.file_bytes_max = 1'000'000;
        uploads = std::make_shared<Uploads>(folder, limits, std::time(nullptr));
        app.emplace(make_files(uploads));
        client.emplace(*app);
        client->set_header("Tus-Resumable", "1.0.0");
    }
    tiderace::testing::ClientResponse create(std::uint64_t length, const Content& content = {},
                                             Headers more = {}) {
        more.add("Upload-Length", std::to_string(length));
        more.add("Upload-Metadata", "filename bm90ZS50eHQ=");  // note.txt
        return client->post("/uploads", content, more);
    }
    tiderace::testing::ClientResponse send(std::string_view place, std::uint64_t offset,
                                           std::string bytes, Headers more = {}) {
        more.add("Upload-Offset", std::to_string(offset));
        return client->patch(place, Content(offset_type, std::move(bytes)), more);
    }

    tiderace::testing::TemporaryFolder temporary;
    const fs::path folder = temporary.path();
    UploadLimits limits;
    std::shared_ptr<Uploads> uploads;
    std::optional<tiderace::http::App> app;
    std::optional<Client> client;
};

TEST_F(FilesTest, TheProtocolDescribesItself) {
    const auto answer = client->request("OPTIONS", "/uploads");
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(answer.header("Tus-Version"), "1.0.0");
    EXPECT_EQ(answer.header("Tus-Extension"),
              "creation,creation-with-upload,expiration,checksum,termination");
    EXPECT_EQ(answer.header("Tus-Max-Size"), "1000000");
    Client stranger(*app);
    const auto refused = stranger.post("/uploads", {}, {{"Upload-Length", "1"}});
    EXPECT_EQ(refused.status, 412);
    EXPECT_EQ(refused.header("Tus-Version"), "1.0.0");
}

TEST_F(FilesTest, AnUploadIsMadeFoundContinuedAndDownloaded) {
    const auto made = create(6);
    ASSERT_EQ(made.status, 201) << made.text();
    const std::string place(made.header("Location"));
    EXPECT_EQ(made.header("Tus-Resumable"), "1.0.0");
    EXPECT_TRUE(made.header("Upload-Expires").ends_with(" GMT"));
    EXPECT_EQ(send(place, 0, "abc").header("Upload-Offset"), "3");
    const auto found = client->head(place);
    EXPECT_EQ(found.status, 200);
    EXPECT_EQ(found.header("Upload-Offset"), "3");
    EXPECT_EQ(found.header("Upload-Length"), "6");
    EXPECT_EQ(found.header("Cache-Control"), "no-store");
    EXPECT_EQ(send(place, 0, "abc").status, 409);
    EXPECT_EQ(send(place, 3, "def").status, 204);
    const auto part = client->get("/files/note.txt", {{"Range", "bytes=2-3"}});
    EXPECT_EQ(part.status, 206);
    EXPECT_EQ(part.text(), "cd");
    EXPECT_EQ(part.header("Content-Disposition"), "attachment");
    EXPECT_EQ(part.header("Content-Security-Policy"), "sandbox; default-src 'none'");
}

TEST_F(FilesTest, AFileMayComeWithItsCreation) {
    EXPECT_EQ(create(3, Content(offset_type, "abc")).header("Upload-Offset"), "3");
    EXPECT_EQ(client->get("/files/note.txt").text(), "abc");
}

TEST_F(FilesTest, ADigestIsChecked) {
    const std::string place(create(3).header("Location"));
    // of "abc"
    const Headers digest{
        {"Upload-Checksum", "sha256 ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="}};
    EXPECT_EQ(send(place, 0, "abX", digest).status, 460);
    EXPECT_EQ(client->head(place).header("Upload-Offset"), "0");
    // tus asks every server for SHA-1.
    const Headers short_one{{"Upload-Checksum", "sha1 qZk+NkcGgWq6PiVxeFDCbJzQ2J0="}};
    EXPECT_EQ(send(place, 0, "abX", short_one).status, 460);
    EXPECT_EQ(client->head(place).header("Upload-Offset"), "0");
    for (const char* bad :
         {"md5 abc", "sha1", "sha1 ", "sha256 qZk+NkcGgWq6PiVxeFDCbJzQ2J0=", "sha1 =", "SHA1 a",
          "sha1 ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="}) {
        EXPECT_EQ(send(place, 0, "abc", {{"Upload-Checksum", bad}}).status, 400) << bad;
    }
    const std::string other(create(3).header("Location"));
    EXPECT_EQ(send(other, 0, "abc", short_one).status, 204);
    EXPECT_EQ(send(place, 0, "abc", digest).status, 204);
}

// tus 1.0: a server MUST take the method from this field; some networks pass no PATCH or DELETE.
TEST_F(FilesTest, APostMayNameTheMethodThatItIs) {
    const std::string place(create(3).header("Location"));
    const auto post = [&](const char* method, const Content& content = {}, Headers more = {}) {
        more.add("X-HTTP-Method-Override", method);
        return client->post(place, content, more);
    };
    const auto sent = post("PATCH", Content(offset_type, "ab"), {{"Upload-Offset", "0"}});
    EXPECT_EQ(sent.status, 204) << sent.text();
    EXPECT_EQ(sent.header("Upload-Offset"), "2");
    EXPECT_EQ(post("HEAD").header("Upload-Offset"), "2");
    EXPECT_EQ(post("HEAD").text(), "");
    EXPECT_EQ(post("PATCH", Content("text/plain", "c"), {{"Upload-Offset", "2"}}).status, 415);
    EXPECT_EQ(post("TRACE").status, 405);
    EXPECT_EQ(client->post(place).status, 405) << "no method, no change";
    EXPECT_NE(client->post(place).header("Allow"), "");
    // A GET never changes anything: it passes where another site's POST does not.
    EXPECT_EQ(client->get(place, {{"X-HTTP-Method-Override", "DELETE"}}).status, 200);
    EXPECT_EQ(post("DELETE", {}, {{"Sec-Fetch-Site", "cross-site"}}).status, 403);
    EXPECT_EQ(post("DELETE").status, 204);
    EXPECT_EQ(client->head(place).status, 404);
}

TEST_F(FilesTest, AMediaTypeIsTheSameInAnyCase) {
    for (const char* const type :
         {"Application/Offset+Octet-Stream", "application/offset+octet-stream; x=1",
          "APPLICATION/OFFSET+OCTET-STREAM ;"}) {
        const std::string place(create(1).header("Location"));
        const auto sent = client->patch(place, Content(type, "a"), {{"Upload-Offset", "0"}});
        EXPECT_EQ(sent.status, 204) << type;
        EXPECT_EQ(create(1, Content(type, "a")).header("Upload-Offset"), "1") << type;
    }
    const std::string place(create(1).header("Location"));
    for (const char* const type : {"application/offset+octet-streams", "text/plain", ";"}) {
        const auto sent = client->patch(place, Content(type, "a"), {{"Upload-Offset", "0"}});
        EXPECT_EQ(sent.status, 415) << type;
    }
}

TEST_F(FilesTest, TheRateOfNewUploadsCountsTheFilesOfAForm) {
    std::string body;
    for (int i = 0; i < 100; ++i) {
        body += "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" +
                std::to_string(i) + "\"\r\n\r\nx\r\n";
    }
    const auto answer =
        client->post("/", Content("multipart/form-data; boundary=b", body + "--b--\r\n"));
    EXPECT_EQ(answer.status, 429);
    EXPECT_EQ(answer.header("Retry-After"), "1");
    EXPECT_NE(answer.text().find("too many files at once"), std::string::npos) << answer.text();
    const std::size_t kept = uploads->files().size();
    EXPECT_GE(kept, limits.rate.burst);
    EXPECT_LT(kept, 100u);
    // Both doors have one rate. Some may pass by now, and no two bursts.
    std::size_t more = 0;
    while (more < 60 && create(0).status == 201) ++more;
    EXPECT_LT(more, 60u);
}

TEST_F(FilesTest, WhatIsNoUploadIsRefused) {
    EXPECT_EQ(client->post("/uploads").status, 400) << "no length";
    EXPECT_EQ(create(1'000'001).status, 413);
    const std::string place(create(3).header("Location"));
    EXPECT_EQ(client->patch(place, "abc", {{"Upload-Offset", "0"}}).status, 415);
    EXPECT_EQ(client->patch(place, Content(offset_type, "abc")).status, 400);
    EXPECT_EQ(send(place, 0, "abcd").status, 413);
    EXPECT_EQ(send("/uploads/0123456789abcdef0123456789abcdef", 0, "abc").status, 404);
    EXPECT_EQ(client->del(place).status, 204);
    EXPECT_EQ(client->head(place).status, 404);
    EXPECT_EQ(client->get("/files/.unfinished/").status, 404);
}

TEST_F(FilesTest, APlainFormWorksToo) {
    const std::string body =
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../<i>.txt\"\r\n\r\n"
        "one\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"two.txt\"\r\n\r\n"
        "two\r\n--b--\r\n";
    const auto answer = client->post("/", Content("multipart/form-data; boundary=b", body));
    EXPECT_EQ(answer.status, 303) << answer.text();
    const std::string page = client->get("/").text();
    EXPECT_NE(page.find(">_i_.txt</a>"), std::string::npos) << page;
    EXPECT_EQ(client->get("/files/two.txt").text(), "two");
    EXPECT_EQ(client->post("/remove", form({{"name", "two.txt"}})).status, 303);
    client->advance(10s);  // the cache of files looks at the disk now and then
    const auto gone = client->get("/files/two.txt");
    EXPECT_EQ(gone.status, 404);
    EXPECT_EQ(gone.header("Content-Disposition"), "") << "a page to read, not to save";
    EXPECT_EQ(client->post("/remove", form({{"name", "../site_test"}})).status, 404);
}

TEST_F(FilesTest, AFormThatFitsNowhereSaysSoOnThePage) {
    limits.all_bytes_max = 10;
    const auto small = std::make_shared<Uploads>(folder, limits, std::time(nullptr));
    const auto other = make_files(small);
    Client person(other);
    const std::string body =
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"
        "one\r\n--b--\r\n";
    const auto answer = person.post("/", Content("multipart/form-data; boundary=b", body));
    EXPECT_EQ(answer.status, 507);
    EXPECT_NE(answer.text().find("there is no room for a file of this size"), std::string::npos);
}

// A page of another site whose name was pointed here (DNS rebinding) would read all files.
TEST_F(FilesTest, OnlyNamesOfThisServerAreAnswered) {
    std::ofstream(folder / "private.txt") << "private";
    const auto named = make_files(uploads, {"Files.example.org", "nas"});
    const auto status = [](const tiderace::http::App& of, const std::string& host) {
        Client person(of, {.host = host});
        return person.get("/files/private.txt").status;
    };
    for (const char* const host :
         {"localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1", "127.0.0.1:8080",
          "192.0.2.7:80", "[::1]", "[::1]:8080", "[2001:db8::7]:80"}) {
        EXPECT_EQ(status(*app, host), 200) << host;
        EXPECT_EQ(status(named, host), 200) << host;
    }
    for (const char* const host :
         {"files.example.org", "files.EXAMPLE.org:8443", "nas", "nas.:1"}) {
        EXPECT_EQ(status(*app, host), 421) << host;
        EXPECT_EQ(status(named, host), 200) << host;
    }
    for (const char* const host :
         {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
          "unix", "xlocalhost", "files.example.org.evil.example", "1.example"}) {
        EXPECT_EQ(status(named, host), 421) << host;
    }
    Client rebound(*app, {.host = "evil.example"});
    for (const char* const path : {"/", "/static/files.js", "/uploads", "/none"}) {
        EXPECT_EQ(rebound.get(path).status, 421) << path;
    }
    EXPECT_EQ(rebound.get("/healthz").status, 200) << "for balancers; it says nothing";
}

TEST_F(FilesTest, AnotherSitesFormIsRefused) {
    const auto answer =
        client->post("/remove", form({{"name", "a"}}), {{"Sec-Fetch-Site", "cross-site"}});
    EXPECT_EQ(answer.status, 403);
}

}  // namespace
