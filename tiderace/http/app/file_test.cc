#include "tiderace/http/app/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <expected>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

class FileTest : public AppTest {
  protected:
    FileTest() {
        std::filesystem::create_directory(folder.path() + "/inner");
        write("a.txt", "0123456789");
        write("inner/b.pdf", "%PDF");
        write("large.bin", std::string(large_bytes, 'x'));
        std::ofstream(folder.path() + ".outside") << "outside";
        std::filesystem::create_symlink(folder.path() + ".outside", folder.path() + "/out");
        std::filesystem::create_symlink("a.txt", folder.path() + "/in");
        app.get<"/a">([this] { return File(folder.path() + "/a.txt"); });
        app.post<"/a">([this] { return File(folder.path() + "/a.txt"); });
        app.get<"/large">([this] { return File(folder.path() + "/large.bin"); });
        app.get<"/beneath">([this] { return File::beneath(folder.path(), name); });
        app.get<"/hidden">([this] { return File::beneath(folder.path(), name).with_hidden(); });
        app.get<"/as">([this] {
            return File::beneath(folder.path(), "a.txt").download(name).cache_control("private");
        });
        app.get<"/typed">([this] { return File(folder.path() + "/a.txt").type("text/x-own"); });
        app.get<"/maybe/{yes}">([this](bool yes) -> std::expected<File, Problem> {
            if (!yes) return std::unexpected(Problem{.status = 403});
            return File(folder.path() + "/a.txt");
        });
        app.get<"/of/{member}">([this](std::string_view member) {
            return File::beneath(folder.path() + "/" + std::string(member), "a.txt");
        });
        app.get<"/there/{which}">([this](std::string_view which) {
            return File(folder.path() + "/" + std::string(which));
        });
    }
    ~FileTest() override { std::filesystem::remove(folder.path() + ".outside"); }

    void write(const std::string& name, const std::string& bytes) {
        std::ofstream(folder.path() + "/" + name) << bytes;
    }
    static std::string field(const std::string& answer, const std::string& name) {
        const std::size_t at = answer.find("\r\n" + name + ": ");
        if (at == std::string::npos) return "";
        const std::size_t begin = at + name.size() + 4;
        return answer.substr(begin, answer.find("\r\n", begin) - begin);
    }

    static constexpr std::size_t large_bytes = 3'000'000;
    testing::TemporaryFolder folder;
    std::string name;  // what the handlers take for it
};

TEST_F(FileTest, IsAnsweredWithWhatAFileNeeds) {
    const std::string whole = get("/a");
    EXPECT_EQ(status_of(whole), "200");
    EXPECT_EQ(body_of(whole), "0123456789");
    EXPECT_TRUE(field(whole, "Content-Type").starts_with("text/plain"));
    EXPECT_EQ(field(whole, "Content-Disposition"), "");
    EXPECT_EQ(field(whole, "Cache-Control"), "");
    EXPECT_EQ(field(get("/typed"), "Content-Type"), "text/x-own");
    const std::string tag = field(whole, "ETag");
    ASSERT_NE(tag, "");
    EXPECT_EQ(status_of(ask("GET", "/a", "If-None-Match: " + tag + "\r\n")), "304");
    EXPECT_EQ(status_of(ask("GET", "/a", "If-Match: \"other\"\r\n")), "412");
    const std::string part = ask("GET", "/a", "Range: bytes=2-4\r\n");
    EXPECT_EQ(status_of(part), "206");
    EXPECT_EQ(body_of(part), "234");
    EXPECT_EQ(status_of(ask("GET", "/a", "Range: bytes=20-\r\n")), "416");
    const std::string head = ask("HEAD", "/a");
    EXPECT_EQ(field(head, "Content-Length"), "10");
    EXPECT_EQ(body_of(head), "");
    EXPECT_EQ(body_of(get("/large")).size(), large_bytes);
}

TEST_F(FileTest, AnotherMethodShowsTheWholeFile) {
    EXPECT_EQ(body_of(ask("POST", "/a", "Range: bytes=2-4\r\n", "x")), "0123456789");
    const std::string tag = field(get("/a"), "ETag");
    EXPECT_EQ(body_of(ask("POST", "/a", "If-None-Match: " + tag + "\r\n", "x")), "0123456789");
}

TEST_F(FileTest, ItsNameStaysInItsFolder) {
    const auto get_beneath = [this](std::string_view which) {
        name = which;
        return get("/beneath");
    };
    EXPECT_EQ(body_of(get_beneath("a.txt")), "0123456789");
    EXPECT_EQ(body_of(get_beneath("inner/b.pdf")), "%PDF");
    EXPECT_EQ(body_of(get_beneath("in")), "0123456789") << "a link that stays inside";
    const std::string outside = folder.path() + ".outside";
    const std::string sibling = std::filesystem::path(outside).filename();
    for (const std::string& which :
         {std::string("out"), "../" + sibling, "inner/../../" + sibling, outside,
          std::string("inner"), std::string("none"), std::string("a.txt/b"), std::string()}) {
        EXPECT_EQ(status_of(get_beneath(which)), "404") << which;
    }
    // A form can have a zero in it; the system would open what stands before.
    EXPECT_EQ(status_of(get_beneath(std::string_view("a.txt\0.png", 10))), "404");
}

TEST_F(FileTest, ANameThatBeginsWithADotIsSentOnRequestAlone) {
    for (const char* const inner : {"/.git", "/inner/.well-known", "/.well-known"}) {
        std::filesystem::create_directory(folder.path() + inner);
    }
    for (const char* const which :
         {".git/config", ".htpasswd", "inner/.env", "inner/.well-known/a", ".well-known/.a"}) {
        write(which, "secret");
        name = which;
        EXPECT_EQ(status_of(get("/beneath")), "404") << which;
        EXPECT_EQ(body_of(get("/hidden")), "secret") << which;
    }
    write(".well-known/a", "public");
    name = ".well-known/a";
    EXPECT_EQ(body_of(get("/beneath")), "public") << "RFC 8615";
    EXPECT_EQ(status_of(get("/there/.htpasswd")), "200") << "a path of the program's own";
}

TEST_F(FileTest, IsSavedUnderTheNameThatTheHandlerGives) {
    const std::vector<std::pair<std::string, std::string>> names = {
        {"report.pdf", "attachment; filename=\"report.pdf\""},
        {"a b.txt", "attachment; filename=\"a b.txt\""},
        {"\"x\\/%.txt", "attachment; filename=\"_x___.txt\"; filename*=UTF-8''%22x%5C%2F%25.txt"},
        {"\xE6\xBD\xAE.txt", "attachment; filename=\"___.txt\"; filename*=UTF-8''%E6%BD%AE.txt"},
    };
    for (const auto& [given, disposition] : names) {
        name = given;
        const std::string answer = get("/as");
        EXPECT_EQ(field(answer, "Content-Disposition"), disposition);
        EXPECT_EQ(field(answer, "Cache-Control"), "private");
        EXPECT_EQ(body_of(answer), "0123456789");
    }
    name = "a";
    const std::string part = ask("GET", "/as", "Range: bytes=2-4\r\n");
    EXPECT_EQ(field(part, "Content-Disposition"), "attachment; filename=\"a\"");
}

TEST_F(FileTest, WhatIsNoFileOrNotReadableSaysSo) {
    EXPECT_EQ(status_of(get("/there/none")), "404");
    EXPECT_EQ(status_of(get("/there/inner")), "404") << "a folder";
    EXPECT_EQ(status_of(get("/of/none")), "404") << "a member without a folder yet";
    std::filesystem::create_symlink("loop", folder.path() + "/loop");
    EXPECT_EQ(status_of(get("/of/loop")), "500") << "a fault of the server's";
    ASSERT_EQ(::mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
    EXPECT_EQ(status_of(get("/there/pipe")), "403");
    EXPECT_EQ(status_of(get("/maybe/false")), "403");
    EXPECT_EQ(body_of(get("/maybe/true")), "0123456789");
    ASSERT_EQ(::chmod((folder.path() + "/a.txt").c_str(), 0), 0);
    EXPECT_EQ(status_of(get("/a")), ::geteuid() == 0 ? "200" : "403") << "root may read all";
}

}  // namespace
}  // namespace tiderace::http
