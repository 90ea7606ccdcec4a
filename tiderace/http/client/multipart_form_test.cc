#include "tiderace/http/client/multipart_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tiderace/http/client/client_fixture.h"
#include "tiderace/http/wire/multipart.h"
#include "tiderace/task/run.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

// The parts as a server reads them: "name(file name,type)=data;", or what is wrong.
std::string parts_of(std::string_view content_type, std::string_view body) {
    const auto boundary = wire::multipart_boundary(content_type);
    if (!boundary) return "no boundary";
    wire::MultipartReader reader(*boundary);
    using Event = wire::MultipartReader::Event;
    std::string all;
    while (true) {
        const auto step = reader.next(body);
        body.remove_prefix(step.bytes);
        if (step.event == Event::part) {
            all.append(reader.name()).append("(");
            all.append(reader.filename().value_or("-")).append(",");
            all.append(reader.content_type()).append(")=");
        }
        if (step.event == Event::data) all += step.data;
        if (step.event == Event::part_end) all += ";";
        if (step.event == Event::end) return body == "\r\n" ? all : "more behind the end";
        if (step.event == Event::need_more || step.event == Event::failed) return "broken";
    }
}

class MultipartFormTest : public ClientTest {
  protected:
    std::string file(const std::string& name, std::string_view content) {
        const std::string path = std::string(folder_.path()) + "/" + name;
        std::ofstream(path, std::ios::binary) << content;
        return path;
    }
    // What the server got, as parts_of() has it; or what the client says.
    std::string send(MultipartForm form) {
        ClientTestServer server(world);
        std::string got;
        server.sessions.on_data = [&](net::Connection& connection, ByteView data) -> std::size_t {
            got += data;
            const std::size_t head = got.find("\r\n\r\n");
            if (head == std::string::npos) return data.size();
            const std::size_t length = got.find("Content-Length: ");
            if (length == std::string::npos) return data.size();
            if (got.size() - head - 4 == std::stoul(got.substr(length + 16))) {
                connection.write(ok("x"));
            }
            return data.size();
        };
        const auto told = begin(ClientRequest("POST", server.url).multipart(std::move(form)));
        EXPECT_TRUE(world.wait_for_pool([&] { return !told->empty(); }));
        if (*told != "200 x") return *told;
        const std::size_t type = got.find("Content-Type: ") + 14;
        return parts_of(got.substr(type, got.find("\r\n", type) - type),
                        std::string_view(got).substr(got.find("\r\n\r\n") + 4));
    }

    testing::TemporaryFolder folder_;
};

TEST_F(MultipartFormTest, FieldsAndFilesReachTheServer) {
    const std::string large(3 * MultipartForm::piece_bytes_max + 1, 'x');
    const std::string got = send(MultipartForm()
                                     .field("title", "Autumn\r\nleaves")
                                     .file("photo", file("a b.png", "\x89PNG"))
                                     .file("data", file("large", large), "name", "text/csv")
                                     .file("empty", file("none", ""))
                                     .bytes("note", "in memory", "n.txt", "text/plain"));
    const std::string wanted =
        "title(-,)=Autumn\r\nleaves;photo(a b.png,image/png)=\x89PNG;data(name,text/csv)=" + large +
        ";empty(none,application/octet-stream)=;note(n.txt,text/plain)=in memory;";
    EXPECT_TRUE(got == wanted) << got.size() << " bytes instead of " << wanted.size();
    EXPECT_EQ(send(MultipartForm()), "") << "a form without a part is one";
}

TEST_F(MultipartFormTest, NamesAreQuotedAsBrowsersDo) {
    std::string all;
    const auto form = std::make_shared<MultipartForm>(
        MultipartForm().bytes("a\"b\r\nc\\;=\xc3\xa4", "", "x\"; name=\"y", "text/plain"));
    EXPECT_TRUE(form->valid());
    task::run([](std::shared_ptr<MultipartForm> kept, std::string& text) -> task::Task<> {
        auto pieces = MultipartForm::pieces(std::move(kept));
        while (auto piece = co_await pieces.next()) text += *piece;
    }(form, all));
    EXPECT_THAT(all, ::testing::HasSubstr("form-data; name=\"a%22b%0D%0Ac\\;=\xc3\xa4\"; "
                                          "filename=\"x%22; name=%22y\"\r\n"));
}

TEST_F(MultipartFormTest, WhatNoMessageMayHoldIsNotSent) {
    const auto refused = ::testing::StartsWith("! bad_request");
    EXPECT_THAT(send(MultipartForm().field(std::string_view("a\0b", 3), "")), refused);
    EXPECT_THAT(send(MultipartForm().bytes("a", "", "\x7f", "text/plain")), refused);
    EXPECT_THAT(send(MultipartForm().bytes("a", "", "b", "text/plain\r\nX: y")), refused);
    EXPECT_THAT(send(MultipartForm().file("a", "", "b", "text/plain")), refused);
    MultipartForm many;
    for (std::size_t i = 0; i <= MultipartForm::parts_max; ++i) many.field("a", "b");
    EXPECT_THAT(send(std::move(many)), refused);
}

TEST_F(MultipartFormTest, AFileThatCannotBeSentIsNamedBeforeAConnectionIsOpened) {
    const std::string missing = std::string(folder_.path()) + "/missing";
    EXPECT_EQ(send(MultipartForm().file("a", missing)),
              "! body_failed: open " + missing + ": no such file or directory");
    EXPECT_THAT(send(MultipartForm().file("a", std::string(folder_.path()))),
                ::testing::StartsWith("! body_failed: send "));
}

// Its length is in the head already: fewer bytes would leave the server waiting, more would be its
// next request.
TEST_F(MultipartFormTest, AFileThatChangesWhileItIsSentFailsTheRequest) {
    const std::string path = file("changing", std::string(100, 'x'));
    const auto form = std::make_shared<MultipartForm>(MultipartForm().file("a", path));
    for (const std::string& size : {std::string("shorter"), std::string(200, 'y')}) {
        std::string all;
        task::run([](std::shared_ptr<MultipartForm> kept, std::string path, std::string content,
                     std::string& text) -> task::Task<> {
            EXPECT_TRUE(co_await kept->measure());
            std::ofstream(path, std::ios::trunc) << content;
            auto pieces = MultipartForm::pieces(kept);
            try {
                while (auto piece = co_await pieces.next()) text += *piece;
            } catch (const std::runtime_error& error) {
                text = error.what();
            }
        }(form, path, size, all));
        EXPECT_EQ(all, "send " + path + ": its size changed meanwhile");
    }
}

TEST_F(MultipartFormTest, IsSentAgainWithARetryAndARedirectThatKeepsTheBody) {
    ClientTestServer server(world);
    std::vector<std::string> bodies(1);
    server.sessions.on_data = [&](net::Connection& connection, ByteView data) -> std::size_t {
        bodies.back() += data;
        if (!bodies.back().ends_with("--\r\n")) return data.size();
        constexpr std::string_view none = "Content-Length: 0\r\n\r\n";
        if (bodies.size() == 1) {
            connection.write("HTTP/1.1 503 X\r\n" + std::string(none));
        } else if (bodies.size() == 2) {
            connection.write("HTTP/1.1 307 X\r\nLocation: /new\r\n" + std::string(none));
        } else {
            connection.write(ok("x"));
        }
        bodies.emplace_back();
        return data.size();
    };
    make({.retry = {.attempts_max = 2}});
    const auto told = begin(ClientRequest("PUT", server.url)
                                .multipart(MultipartForm().file("a", file("f", "content"))));
    EXPECT_TRUE(world.wait_for_pool([&] {
        if (told->empty() && bodies.size() == 2 && bodies.back().empty()) world.advance(1s);
        return !told->empty();
    }));
    EXPECT_EQ(*told, "200 x");
    ASSERT_EQ(bodies.size(), 4U);
    const auto body = [](const std::string& all) { return all.substr(all.find("\r\n\r\n")); };
    EXPECT_EQ(body(bodies[0]), body(bodies[1]));
    EXPECT_EQ(body(bodies[0]), body(bodies[2]));
}

}  // namespace
}  // namespace tiderace::http
