#include "tiderace/http/app/from_request/made_argument.h"

#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/form.h"
#include "tiderace/task.h"

namespace tiderace::http {
namespace {

using task::Task;

struct Users {
    std::string name = "ann";
    int made = 0;
    int ended = 0;
};

// Made at once, of the request and a state.
struct Agent {
    std::string text;
};
// A value, or an answer instead.
struct Token {
    std::string_view text;
};
// A parameter of the path.
struct Item {
    int number;
};
enum class Language { en, zh };
// Made by a task.
struct Visitor {
    std::string name;
    std::string language;
};
// Made of another, which a task makes.
struct Member {
    Visitor visitor;
};
template <typename F>
struct Sent {
    Member member;
    F form;
};
struct Note {
    std::string text;
    std::string csrf;
};

}  // namespace

template <>
struct FromRequest<Agent> {
    static Agent from(const Request& request, const Users& users) {
        return {std::string(request.header("User-Agent")) + " of " + users.name};
    }
};
template <>
struct FromRequest<Token> {
    static std::expected<Token, Problem> from(const Request& request) {
        if (request.header("X-Token") == "throw") throw Problem{.status = 418};
        if (request.header("X-Token").empty()) return std::unexpected(Problem{.status = 401});
        return Token{request.header("X-Token")};
    }
};
template <>
struct FromRequest<Item> {
    static Item from(int number) { return {number}; }
};
template <>
struct FromRequest<Language> {
    static Language from(const Request& request) {
        return request.header("Accept-Language") == "zh" ? Language::zh : Language::en;
    }
};
template <>
struct FromRequest<Visitor> {
    static Task<Visitor> from(Users& users, Language language, const Request& request) {
        ++users.made;
        const std::shared_ptr<void> count(nullptr, [&](void*) { ++users.ended; });
        const std::string_view name = request.header("X-Name");
        co_await sleep(1ms);
        if (name == "throw") throw Problem{.status = 418};
        co_return Visitor{std::string(name), language == Language::zh ? "zh" : "en"};
    }
};
template <>
struct FromRequest<Member> {
    static std::expected<Member, Redirect> from(Visitor visitor) {
        if (visitor.name.empty()) return std::unexpected(Redirect{"/log-in"});
        return Member{std::move(visitor)};
    }
};
template <typename F>
struct FromRequest<Sent<F>> {
    static Task<std::expected<Sent<F>, Problem>> from(Member member, Form<F> form) {
        co_await sleep(1ms);
        if (form->csrf != "right") co_return std::unexpected(Problem{.status = 403});
        co_return Sent<F>{std::move(member), *std::move(form)};
    }
};

namespace {

class MadeArgumentTest : public AppTest {
  protected:
    MadeArgumentTest() {
        app.share(shared_).state<Users>([this](core::EventLoop&) {
            auto users = std::make_unique<Users>();
            users_ = users.get();
            return users;
        });
    }

    const Users shared_;
    Users* users_ = nullptr;
};

TEST_F(MadeArgumentTest, AHandlerTakesATypeOfTheApplication) {
    app.get<"/">([](Agent agent) { return agent.text; });
    EXPECT_EQ(body_of(ask("GET", "/", "User-Agent: curl\r\n")), "curl of ann");
}

TEST_F(MadeArgumentTest, AnArgumentMayAnswerInTheHandlersPlace) {
    app.get<"/{n}">(
        [](Token token, int n) { return std::string(token.text) + " " + std::to_string(n); });
    EXPECT_EQ(body_of(ask("GET", "/7", "X-Token: t\r\n")), "t 7");
    EXPECT_EQ(status_of(get("/7")), "401");
    EXPECT_EQ(status_of(get("/x")), "401") << "the first fault is named";
    EXPECT_EQ(status_of(ask("GET", "/7", "X-Token: throw\r\n")), "418");
}

TEST_F(MadeArgumentTest, ParametersOfThePathGoToArgumentsInTheirOrder) {
    app.get<"/{a}/{b}/{c}">([](int a, Item b, Language language, int c) {
        return std::vector<int>{a, b.number, static_cast<int>(language), c};
    });
    EXPECT_EQ(body_of(ask("GET", "/1/2/3", "Accept-Language: zh\r\n")), "[1,2,1,3]");
    EXPECT_EQ(status_of(get("/1/x/3")), "400");
}

TEST_F(MadeArgumentTest, ATaskMakesAnArgument) {
    app.get<"/plain">([](Visitor visitor) { return visitor.name + visitor.language; })
        .get<"/task">([](Visitor visitor) -> Task<std::string> {
            co_await sleep(1ms);
            co_return visitor.name;
        })
        .get<"/none">([](Visitor) {})
        .get<"/none-later">([](Visitor) -> Task<> { co_await sleep(1ms); })
        .get<"/maybe">([](Visitor) { return std::optional<std::string>(); })
        .get<"/wrong">([](Visitor) -> std::expected<std::string, Problem> {
            return std::unexpected(Problem{.status = 409});
        });
    EXPECT_EQ(body_of(ask("GET", "/plain", "X-Name: bob\r\n")), "boben");
    EXPECT_EQ(body_of(ask("GET", "/task", "X-Name: bob\r\n")), "bob");
    EXPECT_EQ(status_of(get("/none")), "204");
    EXPECT_EQ(status_of(get("/none-later")), "204");
    EXPECT_EQ(status_of(get("/maybe")), "404");
    EXPECT_EQ(status_of(get("/wrong")), "409");
    EXPECT_EQ(status_of(ask("GET", "/plain", "X-Name: throw\r\n")), "418");
}

TEST_F(MadeArgumentTest, ArgumentsAreMadeOfOneAnother) {
    app.get<"/member">([](const Request& request, Member member) {
           return member.visitor.name + std::string(request.path);
       })
        .post<"/sent">([](Sent<Note> sent, const Users& users) -> Task<std::string> {
            co_return sent.member.visitor.name + sent.form.text + users.name;
        });
    EXPECT_EQ(body_of(ask("GET", "/member", "X-Name: bob\r\n")), "bob/member");
    EXPECT_NE(get("/member").find("Location: /log-in"), std::string::npos);
    constexpr std::string_view form = "Content-Type: application/x-www-form-urlencoded\r\n";
    const std::string bob = "X-Name: bob\r\n" + std::string(form);
    EXPECT_EQ(body_of(ask("POST", "/sent", bob, "text=hi&csrf=right")), "bobhiann");
    EXPECT_EQ(status_of(ask("POST", "/sent", bob, "text=hi&csrf=wrong")), "403");
    EXPECT_EQ(status_of(ask("POST", "/sent", form, "text=hi&csrf=right")), "303");
}

// The cheap check comes first, wherever it stands.
TEST_F(MadeArgumentTest, NoTaskBeginsForARequestThatCannotBeRead) {
    app.post<"/">([](Member, Form<Note>) { return "read"; });
    const std::string bob = "X-Name: bob\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    EXPECT_EQ(status_of(ask("POST", "/", bob, "text=hi")), "422");
    EXPECT_EQ(users_->made, 0);
    EXPECT_EQ(status_of(ask("POST", "/", bob, "text=hi&csrf=x")), "200");
    EXPECT_EQ(users_->made, 1);
}

TEST_F(MadeArgumentTest, NoTaskBeginsBehindAnArgumentThatAnswered) {
    app.get<"/">([](Member, Visitor) { return "both"; });
    EXPECT_EQ(status_of(get("/")), "303");
    EXPECT_EQ(users_->made, 1);
    EXPECT_EQ(body_of(ask("GET", "/", "X-Name: bob\r\n")), "both");
    EXPECT_EQ(users_->made, 3);
}

TEST_F(MadeArgumentTest, MiddlewareTakesTheSame) {
    app.group("/token").use([](Token) {}).get<"/">([] { return "in"; });
    app.group("/member").use([](Member) {}).get<"/">([](const Request& request) {
        return std::string(request.header("X-Name"));
    });
    app.group("/ann")
        .use([](Member member) -> Task<std::optional<Problem>> {
            if (member.visitor.name == "ann") co_return std::nullopt;
            co_return Problem{.status = 403};
        })
        .get<"/">([] { return "in"; });
    EXPECT_EQ(status_of(get("/token")), "401");
    EXPECT_EQ(status_of(ask("GET", "/token", "X-Token: throw\r\n")), "418");
    EXPECT_EQ(body_of(ask("GET", "/token", "X-Token: t\r\n")), "in");
    EXPECT_EQ(status_of(get("/member")), "303");
    EXPECT_EQ(body_of(ask("GET", "/member", "X-Name: bob\r\n")), "bob");
    EXPECT_EQ(status_of(get("/ann")), "303");
    EXPECT_EQ(status_of(ask("GET", "/ann", "X-Name: bob\r\n")), "403");
    EXPECT_EQ(body_of(ask("GET", "/ann", "X-Name: ann\r\n")), "in");
}

TEST_F(MadeArgumentTest, AClientThatGoesAwayCancelsTheTask) {
    app.get<"/">([](Visitor) { return "late"; });
    auto peer = connect();
    peer->say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(world.run_until([&] { return users_->made == 1; }));
    EXPECT_EQ(users_->ended, 0);
    peer->reset();
    EXPECT_TRUE(world.run_until([&] { return users_->ended == 1; }));
    EXPECT_EQ(peer->heard(), "");
}

}  // namespace
}  // namespace tiderace::http
