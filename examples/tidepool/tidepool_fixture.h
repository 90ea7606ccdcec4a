// A visitor's browser, in memory, and a Tidepool of each test's own on one of the databases.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tiderace/testing.h>
#include <tiderace/testing/database_server.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tidepool/site.h"

namespace tidepool {

inline constexpr std::string_view password = "correct horse";

// A PNG of two by two.
inline constexpr std::string_view small_png =
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a7300000010494441"
    "54789c63f8cfc000440c100a001fee03fd8b5f14d40000000049454e44ae426082";

inline std::string bytes_of(std::string_view digits) {
    std::string bytes;
    for (std::size_t at = 0; at < digits.size(); at += 2) {
        bytes += static_cast<char>(std::stoi(std::string(digits.substr(at, 2)), nullptr, 16));
    }
    return bytes;
}

// A visitor's browser.
class Browser {
  public:
    explicit Browser(const tiderace::http::App& app, std::string username = {})
        : client_(app), username_(std::move(username)) {}

    tiderace::testing::ClientResponse get(std::string_view path) { return client_.get(path); }
    // With the token of our pages.
    tiderace::testing::ClientResponse send(
        std::string_view path, std::vector<std::pair<std::string, std::string>> fields) {
        fields.emplace_back("csrf", token());
        return post(path, fields);
    }
    tiderace::testing::ClientResponse post(
        std::string_view path, const std::vector<std::pair<std::string, std::string>>& fields) {
        const std::vector<tiderace::http::FormPair> pairs(fields.begin(), fields.end());
        return client_.post(path, tiderace::testing::form(pairs));
    }
    // A form with a file, as browsers send it.
    tiderace::testing::ClientResponse send_file(
        std::string_view path, const std::vector<std::pair<std::string, std::string>>& fields,
        const std::string& file) {
        std::string body;
        for (const auto& [name, value] : fields) {
            body += "--sea\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" +
                    value + "\r\n";
        }
        body +=
            "--sea\r\nContent-Disposition: form-data; name=\"picture\"; "
            "filename=\"../../x.html\"\r\nContent-Type: text/html\r\n\r\n" +
            file + "\r\n--sea--\r\n";
        return client_.post(path,
                            tiderace::http::Content("multipart/form-data; boundary=sea", body));
    }
    tiderace::testing::ClientResponse sign_up(std::string name = "Somebody") {
        return post("/sign-up", {{"name", std::move(name)},
                                 {"username", username_},
                                 {"email", username_ + "@example.org"},
                                 {"password", std::string(password)},
                                 {"again", std::string(password)}});
    }
    tiderace::testing::ClientResponse log_in(std::string_view word = password) {
        return post("/log-in", {{"who", username_}, {"password", std::string(word)}});
    }
    // Its number.
    std::string write(std::string body, std::string parent = {}) {
        std::vector<std::pair<std::string, std::string>> fields{{"body", std::move(body)}};
        if (!parent.empty()) fields.emplace_back("parent", parent);
        const tiderace::testing::ClientResponse answer = send("/posts", fields);
        EXPECT_EQ(answer.status, 303) << answer.text();
        const std::string page = get(parent.empty() ? "/" : "/posts/" + parent).text();
        std::smatch found;
        std::string number;
        const std::regex posts("id=\"post-([0-9]+)\"");
        for (std::sregex_iterator at(page.begin(), page.end(), posts), end; at != end; ++at) {
            if (number.empty() || !parent.empty()) number = (*at)[1];
        }
        return number;
    }
    std::string token() {
        const std::string page = get("/about").text();
        std::smatch found;
        std::regex_search(page, found, std::regex("name=\"csrf\" value=\"([0-9a-f]*)\""));
        return found[1];
    }
    bool is_logged_in() { return get("/settings").status == 200; }
    tiderace::testing::Client& client() { return client_; }

  private:
    tiderace::testing::Client client_;
    std::string username_;
};

inline std::size_t count(const std::string& text, std::string_view piece) {
    std::size_t found = 0;
    for (std::size_t at = text.find(piece); at != std::string::npos;
         at = text.find(piece, at + 1)) {
        ++found;
    }
    return found;
}

class TidepoolTest : public ::testing::TestWithParam<tiderace::db::Dialect> {
  protected:
    void SetUp() override {
        std::string url = "sqlite:" + folder_.string() + "/test.db";
        if (GetParam() != tiderace::db::Dialect::sqlite) {
            const std::string missing = tiderace::testing::DatabaseServer::missing(GetParam());
            if (!missing.empty()) GTEST_SKIP() << missing;
            url = tiderace::testing::DatabaseServer::shared(GetParam()).fresh("tidepool");
        }
        db_ = tiderace::db::open(url);
        EXPECT_EQ(tiderace::run(prepare(*db_, std::string(TIDEPOOL_FOLDER) + "/migrations")), 0);
        app_ = std::make_unique<tiderace::http::App>(
            make_app(*db_, TIDEPOOL_FOLDER, pictures(), {}, {"judge"}));
    }
    std::string pictures() const { return folder_ / "pictures"; }
    static void pass_a_minute(Browser& visitor) {
        visitor.client().advance(std::chrono::minutes(1));
    }
    std::size_t files() const {
        const std::filesystem::directory_iterator all(pictures());
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    static tiderace::Task<int> prepare(tiderace::db::Database db, std::string migrations) {
        co_await tiderace::db::migrate(db, migrations);
        co_return 0;
    }
    // "member1", "member2" …
    static tiderace::Task<> add_members(tiderace::db::Database db, int count) {
        for (int i = 1; i <= count; ++i) {
            const std::string name = "member" + std::to_string(i);
            co_await db.exec(
                "insert into members (created_at, username, name, email, password)"
                " values (?, ?, ?, ?, '')",
                Time{}, name, name, name + "@example.org");
        }
    }
    std::unique_ptr<Browser> member(std::string username, std::string name = "Somebody") {
        auto person = std::make_unique<Browser>(*app_, std::move(username));
        EXPECT_EQ(person->sign_up(std::move(name)).status, 303);
        return person;
    }

    // Signs up before the name is a moderator's.
    std::unique_ptr<Browser> moderator() {
        const tiderace::http::App before = make_app(*db_, TIDEPOOL_FOLDER, pictures());
        EXPECT_EQ(Browser(before, "judge").sign_up().status, 303);
        auto person = std::make_unique<Browser>(*app_, "judge");
        EXPECT_EQ(person->log_in().status, 303);
        return person;
    }

    tiderace::testing::TemporaryFolder temporary_;  // gone after the database has closed
    const std::filesystem::path folder_ = temporary_.path();
    std::optional<tiderace::db::Database> db_;
    std::unique_ptr<tiderace::http::App> app_;
};

inline const auto each_database = ::testing::Values(
    tiderace::db::Dialect::sqlite, tiderace::db::Dialect::postgres, tiderace::db::Dialect::mariadb);
inline std::string name_of_database(const ::testing::TestParamInfo<tiderace::db::Dialect>& each) {
    return std::string(name_of(each.param));
}

}  // namespace tidepool
