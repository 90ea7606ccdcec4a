#include "tiderace/http/app/csrf.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/form.h"
#include "tiderace/http/app/multipart.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::http {
namespace {

struct Rename {
    std::string name;
};

class CsrfTest : public AppTest {
  protected:
    CsrfTest() {
        app.use(sessions(store)).use(csrf());
        app.get<"/">([](Session session) -> task::Task<std::string> {
            co_return co_await csrf_token(session);
        });
        app.get<"/user">([](Session session) { return std::string(session.get("user")); });
        app.post<"/put">([](Session session) -> task::Task<std::string> {
            co_await session.set("basket", "1");
            co_return "put";
        });
        app.post<"/login">([](Session session) -> task::Task<std::string> {
            co_await session.renew();
            co_await session.set("user", "ann");
            co_return "in";
        });
        app.post<"/rename">([this](Form<Rename> form) {
            ++calls;
            return "to " + form->name;
        });
        app.post<"/logout">([this](Session session) -> task::Task<std::string> {
            ++calls;
            co_await session.end();
            co_return "out";
        });
        app.post<"/json">([this](Body body) {
            ++calls;
            return body.text();
        });
        app.post<"/upload">([this](Multipart form) -> task::Task<std::string> {
            ++calls;
            std::string all;
            while (auto part = co_await form.next()) {
                auto text = co_await form.text(1_MiB);
                all += part->name + "=" + std::to_string(text.size()) + ";";
            }
            co_return all;
        });
        app.post<"/raw">([this](BodyStream body) -> task::Task<std::string> {
            ++calls;
            std::size_t bytes = 0;
            while (auto piece = co_await body.next()) bytes += piece->size();
            co_return std::to_string(bytes);
        });
    }
    // The name and value of a cookie that an answer sets; "": it sets none of that name.
    static std::string pair_in(const std::string& answer, const std::string& name) {
        const std::size_t at = answer.find("Set-Cookie: " + name + "=");
        if (at == std::string::npos) return "";
        return answer.substr(at + 12, answer.find(';', at) - at - 12);
    }
    // Keeps the cookies of an answer, as a browser does.
    void keep(const std::string& answer) {
        const std::string id = pair_in(answer, "__Host-id");
        const std::string secret = pair_in(answer, "__Host-csrf");
        if (!id.empty()) id_pair = id.ends_with("=") ? "" : id;
        if (!secret.empty()) secret_pair = secret.ends_with("=") ? "" : secret;
        const std::string between = id_pair.empty() || secret_pair.empty() ? "" : "; ";
        cookie = "Cookie: " + id_pair + between + secret_pair + "\r\n";
        if (id_pair.empty() && secret_pair.empty()) cookie.clear();
    }
    // Opens the page as another visitor, without a session.
    std::string visit() {
        id_pair.clear();
        secret_pair.clear();
        const std::string answer = get("/");
        keep(answer);
        EXPECT_NE(secret_pair, "") << answer;
        return body_of(answer);
    }
    // Has a session from here on.
    std::string sign_in() {
        const std::string answer = post("/login", "csrf=" + visit());
        EXPECT_EQ(body_of(answer), "in");
        keep(answer);
        return another_token();
    }
    std::string another_token() { return body_of(ask("GET", "/", cookie)); }
    std::string post(std::string_view path, std::string_view body,
                     std::string_view type = "application/x-www-form-urlencoded",
                     std::string_view fields = "") {
        return ask("POST", path,
                   cookie + "Content-Type: " + std::string(type) + "\r\n" + std::string(fields),
                   body);
    }
    static std::string part(std::string_view name, std::string_view value) {
        return "--XX\r\nContent-Disposition: form-data; name=\"" + std::string(name) +
               "\"\r\n\r\n" + std::string(value) + "\r\n";
    }
    std::string upload(std::string_view body, std::string_view path = "/upload") {
        return post(path, body, "multipart/form-data; boundary=XX");
    }

    std::shared_ptr<MemorySessions> store = std::make_shared<MemorySessions>(10);
    std::string cookie;
    std::string id_pair;
    std::string secret_pair;
    int calls = 0;
};

// A stranger without cookies must not push out a signed-in user.
TEST_F(CsrfTest, VisitorsWithoutASessionFillNoStore) {
    sign_in();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(body_of(get("/")).size(), 128u);
    EXPECT_EQ(store->size(), 1u);
    EXPECT_EQ(body_of(ask("GET", "/user", cookie)), "ann");
}

TEST_F(CsrfTest, AVisitorHasTheSecretInACookieOfThisHost) {
    const std::string answer = get("/");
    EXPECT_NE(answer.find("; Path=/; Secure; HttpOnly; SameSite=Lax\r\n"), std::string::npos)
        << answer;
    EXPECT_NE(answer.find("Cache-Control: private, no-cache\r\n"), std::string::npos);
    const std::string token = visit();
    EXPECT_EQ(body_of(post("/rename", "name=ann&csrf=" + token)), "to ann");
    const std::string again = ask("GET", "/", cookie);
    EXPECT_EQ(pair_in(again, "__Host-csrf"), "") << "it has one";
    EXPECT_EQ(body_of(post("/rename", "name=bob&csrf=" + body_of(again))), "to bob");
    EXPECT_EQ(store->size(), 0u);
    for (const char* const other : {"", "Cookie: __Host-csrf=0\r\n", "Cookie: __Host-csrf=\r\n"}) {
        cookie = other;
        EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + token)), "403") << other;
    }
}

TEST_F(CsrfTest, InClearTheCookieHasAnotherName) {
    app = App();
    app.use(sessions(store, {.secure = false})).use(csrf());
    app.get<"/">(
        [](Session session) -> task::Task<std::string> { co_return co_await csrf_token(session); });
    app.post<"/">([] { return "called"; });
    const std::string answer = get("/");
    const std::string secret = pair_in(answer, "csrf");
    EXPECT_EQ(secret.size(), 5u + 64u) << answer;
    EXPECT_EQ(answer.find("; Secure"), std::string::npos);
    const std::string form = "csrf=" + body_of(answer);
    const std::string type = "Content-Type: application/x-www-form-urlencoded\r\n";
    EXPECT_EQ(body_of(ask("POST", "/", "Cookie: " + secret + "\r\n" + type, form)), "called");
    EXPECT_EQ(status_of(ask("POST", "/", "Cookie: __Host-" + secret + "\r\n" + type, form)), "403");
}

// A page that a visitor opened before keeps working when something is stored.
TEST_F(CsrfTest, TheFirstValueTakesTheTokensAlong) {
    const std::string token = visit();
    const std::string put = post("/put", "csrf=" + token);
    EXPECT_EQ(body_of(put), "put");
    keep(put);
    EXPECT_EQ(store->size(), 1u);
    secret_pair.clear();  // from here on the session has it
    keep(put);
    EXPECT_EQ(body_of(post("/rename", "name=ann&csrf=" + token)), "to ann");
    EXPECT_EQ(body_of(post("/rename", "name=bob&csrf=" + another_token())), "to bob");
}

TEST_F(CsrfTest, ALogInMakesAllTokensNew) {
    const std::string before = visit();
    const std::string former = cookie;
    const std::string in = post("/login", "csrf=" + before);
    EXPECT_EQ(pair_in(in, "__Host-csrf"), "__Host-csrf=") << "the browser forgets it";
    keep(in);
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + before)), "403");
    const std::string token = another_token();
    EXPECT_EQ(body_of(post("/rename", "name=ann&csrf=" + token)), "to ann");
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + before)), "403");
    // With the visitor's cookie beside the session's: the session decides.
    cookie = "Cookie: " + id_pair + "; " + former.substr(8);
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + before)), "403");
    EXPECT_EQ(body_of(post("/rename", "name=ann&csrf=" + token)), "to ann");
    // The same browser signs in again: the session had a secret of its own.
    const std::string second = post("/login", "csrf=" + token);
    keep(second);
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + token)), "403");
    EXPECT_EQ(body_of(post("/rename", "name=ann&csrf=" + another_token())), "to ann");
}

TEST_F(CsrfTest, AFormWithATokenOfItsSessionPasses) {
    const std::string token = sign_in();
    EXPECT_EQ(token.size(), 128u);
    EXPECT_EQ(body_of(post("/rename", "name=ann&csrf=" + token)), "to ann");
    EXPECT_EQ(body_of(post("/rename", "csrf=" + token + "&name=bob")), "to bob");
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(body_of(post("/logout", "csrf=" + token)), "out") << "its handler reads no form";
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + token)), "403") << "it has ended";
    EXPECT_EQ(calls, 3);
}

TEST_F(CsrfTest, EachTokenDiffersAndAllAreGood) {
    sign_in();
    std::set<std::string> tokens;
    for (int i = 0; i < 5; ++i) {
        const std::string token = another_token();
        EXPECT_TRUE(tokens.insert(token).second);
        EXPECT_TRUE(tokens.insert(token.substr(64)).second) << "no part of it comes twice";
        EXPECT_EQ(body_of(post("/rename", "name=ann&csrf=" + token)), "to ann");
    }
}

TEST_F(CsrfTest, WithoutAGoodTokenTheHandlerIsNotCalled) {
    const std::string foreign = sign_in();
    const std::string token = sign_in();  // of another session
    std::string changed = token;
    changed[127] = changed[127] == '0' ? '1' : '0';
    std::string upper = token;
    upper[0] = 'G';
    for (const std::string& bad :
         {std::string(), std::string("csrf="), "csrf=" + foreign, "csrf=" + changed,
          "csrf=" + upper, "csrf=" + token + "00", "csrf=" + token.substr(64),
          "csrf=x&csrf=" + token, "csrf=" + std::string(128, '0'), "CSRF=" + token}) {
        EXPECT_EQ(status_of(post("/rename", "name=ann&" + bad)), "403") << bad;
    }
    EXPECT_EQ(status_of(post("/logout", "")), "403");
    EXPECT_EQ(status_of(post("/rename?csrf=" + token, "name=ann")), "403") << "not in the path";
    EXPECT_EQ(status_of(post("/json", "{}", "application/json")), "403");
    EXPECT_EQ(status_of(post("/json", "csrf=" + token, "text/plain")), "403")
        << "a form of another type is no form";
    EXPECT_EQ(calls, 0);
    const std::string own = visit();
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + token)), "403") << "no session";
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + own.substr(0, 127) + "g")), "403");
    cookie.clear();
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + token)), "403") << "no cookie";
    // A session that never asked for a token has no secret, and none fits it.
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + std::string(128, '0'))), "403");
    EXPECT_EQ(calls, 0);
}

TEST_F(CsrfTest, AFieldOfTheHeadIsEnoughForAnyBody) {
    const std::string token = visit();
    const std::string good = "X-CSRF-Token: " + token + "\r\n";
    EXPECT_EQ(body_of(post("/json", "{}", "application/json", good)), "{}");
    EXPECT_EQ(body_of(post("/raw", "12345", "text/plain", good)), "5");
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(status_of(post("/rename", "name=ann&csrf=" + token,
                             "application/x-www-form-urlencoded", "X-CSRF-Token: x\r\n")),
              "403")
        << "a wrong one counts";
    EXPECT_EQ(calls, 2);
}

TEST_F(CsrfTest, TheFirstPartOfAMultipartBodyIsTheToken) {
    const std::string token = visit();
    const std::string file = part("file", std::string(200'000, 'x'));
    EXPECT_EQ(body_of(upload(part("csrf", token) + file + "--XX--")), "csrf=128;file=200000;");
    EXPECT_EQ(body_of(upload(part("csrf", token) + "--XX--", "/raw")),
              std::to_string(part("csrf", token).size() + 6));
    EXPECT_EQ(body_of(upload(part("csrf", token) + "--XX--", "/json")),
              part("csrf", token) + "--XX--");
    EXPECT_EQ(calls, 3);
    for (const std::string& bad :
         {file + part("csrf", token) + "--XX--", part("csrf", "x") + file + "--XX--",
          part("csrf", std::string(10'000, 'x')) + "--XX--", part("csrf", token).substr(0, 100),
          std::string("--XX--"), std::string(10'000, 'x')}) {
        EXPECT_EQ(status_of(upload(bad)), "403") << bad.substr(0, 60);
    }
    EXPECT_EQ(calls, 3);
}

// It is held whole for the check, and given on.
TEST_F(CsrfTest, AFormIsEnoughForAHandlerThatTakesItsBodyAsItComes) {
    const std::string token = visit();
    const std::string form = "csrf=" + token + "&a=" + std::string(100'000, 'x');
    EXPECT_EQ(body_of(post("/raw", form)), std::to_string(form.size()));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(status_of(post("/raw", "a=b")), "403");
    EXPECT_EQ(calls, 1);
}

TEST_F(CsrfTest, ABodyMayBeCutAnywhere) {
    const std::string token = visit();
    const std::string form = "name=ann&csrf=" + token;
    const std::string parts = part("csrf", token) + part("a", "12") + "--XX--";
    const auto in_pieces = [&](std::string_view path, std::string_view type,
                               const std::string& body, std::size_t piece) {
        auto peer = connect();
        peer->say("POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
                  cookie + "Content-Type: " + std::string(type) +
                  "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
        for (std::size_t at = 0; at < body.size(); at += piece) {
            world.settle();
            peer->say(body.substr(at, piece));
        }
        EXPECT_TRUE(world.run_until([&] { return peer->over(); }));
        return body_of(peer->heard());
    };
    for (const std::size_t piece : {1, 2, 3, 7, 16, 31, 64, 190}) {
        EXPECT_EQ(in_pieces("/rename", "application/x-www-form-urlencoded", form, piece), "to ann");
        EXPECT_EQ(in_pieces("/upload", "multipart/form-data; boundary=XX", parts, piece),
                  "csrf=128;a=2;")
            << piece;
    }
}

TEST_F(CsrfTest, AnUploadOverHttp2Passes) {
    const std::string token = visit();
    const std::string id = cookie.substr(8, cookie.size() - 10);  // without name and line end
    const std::string body = part("csrf", token) + part("file", std::string(9'000, 'x')) + "--XX--";
    for (const std::size_t cut : {std::size_t{5}, std::size_t{190}, body.size()}) {
        auto peer = connect();
        testing::H2Client client(*peer);
        const auto stream = client.request(
            "POST", "/upload",
            {{"cookie", id}, {"content-type", "multipart/form-data; boundary=XX"}}, false);
        world.settle();
        client.data(stream, body.substr(0, cut), cut == body.size());
        world.settle();
        if (cut < body.size()) client.data(stream, body.substr(cut), true);
        world.settle();
        EXPECT_EQ(client.answer(stream).body, "csrf=128;file=9000;") << cut;
    }
    EXPECT_EQ(calls, 3);
}

TEST_F(CsrfTest, AClientThatGoesAwayBeforeItsTokenCallsNothing) {
    visit();
    auto peer = connect();
    peer->say("POST /upload HTTP/1.1\r\nHost: a\r\n" + cookie +
              "Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: 500\r\n\r\n--XX");
    world.settle();
    peer->reset();
    world.advance(1h);
    EXPECT_EQ(calls, 0);
}

TEST_F(CsrfTest, OtherBoundsStillHold) {
    const std::string token = visit();
    EXPECT_EQ(status_of(post("/rename", "csrf=" + token + "&name=" + std::string(2_MiB, 'x'))),
              "413");
    EXPECT_EQ(status_of(upload(part("csrf", token) + std::string(2_MiB, 'x'))), "413");
    EXPECT_EQ(status_of(post("/nowhere", "")), "404");
    EXPECT_EQ(status_of(post("/", "")), "405");
    EXPECT_EQ(status_of(ask("HEAD", "/", cookie)), "200");
    EXPECT_EQ(calls, 0);
}

TEST_F(CsrfTest, WithoutSessionsIs500) {
    app = App();
    app.use(csrf());
    app.post<"/">([] { return "called"; });
    EXPECT_EQ(status_of(ask("POST", "/")), "500");
}

}  // namespace
}  // namespace tiderace::http
