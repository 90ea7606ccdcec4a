#include "tiderace/http/app/multipart.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

class MultipartTest : public AppTest {
  protected:
    MultipartTest() {
        app = App({.body_bytes_max = 100_MiB});
        app.post<"/form">([](Multipart form) -> task::Task<std::string> {
            std::string all;
            while (auto part = co_await form.next()) {
                all += part->name + "(" + part->filename.value_or("-") + "," + part->content_type +
                       ")=";
                auto text = co_await form.text(1'000);
                all += text + ";";
            }
            co_return all;
        });
    }
    std::string post(std::string_view body, std::string_view path = "/form",
                     std::string_view type = "multipart/form-data; boundary=XX") {
        return ask("POST", path, "Content-Type: " + std::string(type) + "\r\n", body);
    }
    std::string save(std::string_view body) {
        auto peer = connect();
        peer->say(
            "POST /save HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            "Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
        EXPECT_TRUE(world.wait_for_pool([&] { return peer->over(); }));
        return peer->heard();
    }
    static std::string field(std::string_view name, std::string_view value) {
        return "--XX\r\nContent-Disposition: form-data; name=\"" + std::string(name) +
               "\"\r\n\r\n" + std::string(value) + "\r\n";
    }
};

TEST_F(MultipartTest, GivesThePartsOfAForm) {
    EXPECT_EQ(body_of(post("--XX--\r\n")), "");
    EXPECT_EQ(body_of(post(field("a", "1") + field("b", "") +
                           "--XX\r\nContent-Disposition: form-data; name=f; filename=\"x.txt\"\r\n"
                           "Content-Type: text/plain\r\n\r\nfile\r\n--XX--\r\n")),
              "a(-,)=1;b(-,)=;f(x.txt,text/plain)=file;");
}

TEST_F(MultipartTest, WhatIsNoFormIsNamed) {
    EXPECT_EQ(status_of(post("a=1", "/form", "application/x-www-form-urlencoded")), "415");
    EXPECT_EQ(status_of(post("a=1", "/form", "multipart/form-data")), "415");
    EXPECT_EQ(status_of(post("nothing")), "400");
    EXPECT_EQ(status_of(post(field("a", "1"))), "400") << "without an end";
    EXPECT_EQ(status_of(ask("POST", "/form", "Content-Type: multipart/form-data; boundary=XX\r\n")),
              "400");
    EXPECT_EQ(status_of(post("--XX\r\nno head\r\n\r\n")), "400");
    EXPECT_EQ(status_of(post(field("a", std::string(1'000, 'x')) + "--XX--")), "200");
    EXPECT_EQ(status_of(post(field("a", std::string(1'001, 'x')) + "--XX--")), "413");
    EXPECT_EQ(status_of(post(field(std::string(300, 'n'), "") + "--XX--")), "413");
}

TEST_F(MultipartTest, AHundredThousandPartsAreRefused) {
    std::string body;
    for (int i = 0; i < 100'000; ++i) body += field("a", "1");
    EXPECT_EQ(status_of(post(body + "--XX--")), "413");
}

TEST_F(MultipartTest, AFormWithoutAnEndEndsAtTheLimit) {
    app = App({.body_bytes_max = 1_MiB});
    app.post<"/endless">([](Multipart form) -> task::Task<std::string> {
        while (auto part = co_await form.next()) {
        }
        co_return "ended";
    });
    auto peer = connect();
    peer->say(
        "POST /endless HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=XX\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    const std::string start = field("a", "").append(0x80 - field("a", "").size(), 'x');
    peer->say("80\r\n" + start + "\r\n");
    for (int i = 0; i < 200 && !peer->over(); ++i) {
        peer->say("2000\r\n" + std::string(0x2000, 'x') + "\r\n");
        world.settle();
    }
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    EXPECT_EQ(status_of(peer->heard()), "413");
}

TEST_F(MultipartTest, UnreadPartsArePassedOver) {
    app.post<"/names">([](Multipart form) -> task::Task<std::string> {
        std::string names;
        while (auto part = co_await form.next()) {
            names += part->name;
            if (part->name == "b") auto some = co_await form.read();
        }
        auto none = co_await form.next();
        auto nothing = co_await form.read();
        co_return names + (none || nothing ? "!" : ".");
    });
    const std::string big(300'000, 'x');
    EXPECT_EQ(
        body_of(post(field("a", big) + field("b", big) + field("c", "") + "--XX--", "/names")),
        "abc.");
}

TEST_F(MultipartTest, AFileIsWrittenWholeOrNotAtAll) {
    const testing::TemporaryFolder folder;
    static std::string path;
    path = std::string(folder.path()) + "/upload";
    app.post<"/save">([](Multipart form) -> task::Task<std::string> {
        auto part = co_await form.next();
        const std::uint64_t bytes = co_await form.save(path, 500'000);
        co_return std::to_string(bytes);
    });
    const std::string big(500'000, 'x');
    EXPECT_EQ(body_of(save(field("f", big) + "--XX--")), "500000");
    std::ifstream file(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), big);
    EXPECT_EQ(status_of(save(field("f", "1") + "--XX--")), "500") << "it is there already";
    EXPECT_EQ(std::filesystem::file_size(path), 500'000u);
    std::filesystem::remove(path);
    EXPECT_EQ(status_of(save(field("f", big + "x") + "--XX--")), "413");
    EXPECT_FALSE(std::filesystem::exists(path)) << "removed again";
    EXPECT_EQ(status_of(save(field("f", big))), "400");
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(MultipartTest, AClientThatVanishesLeavesNoFile) {
    const testing::TemporaryFolder folder;
    static std::string path;
    static int ended;
    struct Note {
        ~Note() { ++ended; }
    };
    ended = 0;
    path = std::string(folder.path()) + "/upload";
    app.post<"/save">([](Multipart form) -> task::Task<std::string> {
        const Note note;
        auto part = co_await form.next();
        const std::uint64_t bytes = co_await form.save(path, 500'000);
        co_return std::to_string(bytes);
    });
    auto peer = connect();
    peer->say(
        "POST /save HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n"
        "Content-Type: multipart/form-data; boundary=XX\r\n\r\n" +
        field("f", "some data\r\n and no end of it"));
    ASSERT_TRUE(world.wait_for_pool([&] { return std::filesystem::exists(path); }));
    peer->reset();
    ASSERT_TRUE(world.wait_for_pool([&] { return ended == 1 && !std::filesystem::exists(path); }));
}

}  // namespace
}  // namespace tiderace::http
