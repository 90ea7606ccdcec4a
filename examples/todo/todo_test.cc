// The service in memory: no port, no thread, and a clock that the tests own.
#include "examples/todo/todo.h"

#include <gtest/gtest.h>
#include <tiderace/task.h>
#include <tiderace/testing.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using tiderace::testing::Client;
using tiderace::testing::form;

struct Todo {
    std::uint64_t id;
    std::string text;
    bool done;
};
struct NewTodo {
    std::string text;
};
struct Done {
    bool done;
};

class TodoTest : public testing::Test {
  protected:
    int sign_in(Client& client, const std::string& name, const std::string& password = "secret") {
        return client.post("/sign-in", form({{"name", name}, {"password", password}})).status;
    }
    std::vector<Todo> list(Client& client) {
        return client.get("/api/todos").json<std::vector<Todo>>();
    }

    TodoTest() { tiderace::run(prepare(db)); }

    tiderace::testing::TemporaryFolder folder;  // goes last, when the database has closed
    tiderace::db::Database db = tiderace::db::open("sqlite:" + folder.path_of("todo.db"));
    tiderace::http::App app = make_todo(db, "secret");
};

TEST_F(TodoTest, PagesLeadToTheSignInAndTheApiSaysNo) {
    Client client(app);
    const auto page = client.get("/");
    EXPECT_EQ(page.status, 303);
    EXPECT_EQ(page.header("Location"), "/sign-in");
    EXPECT_EQ(client.get("/api/todos").status, 401);
    EXPECT_EQ(client.post("/api/todos", NewTodo{"tea"}).status, 401);
    EXPECT_NE(client.get("/sign-in").text().find("<input name=\"name\""), std::string::npos);
}

TEST_F(TodoTest, AWrongPasswordIsSaidAndOpensNothing) {
    Client client(app);
    const auto answer = client.post("/sign-in", form({{"name", "ann"}, {"password", "wrong"}}));
    EXPECT_EQ(answer.status, 403);
    EXPECT_NE(answer.text().find("This is not the password."), std::string::npos);
    EXPECT_EQ(client.get("/").status, 303);
    int status = 0;
    for (int i = 0; i < 30; ++i) status = sign_in(client, "ann", "wrong");
    EXPECT_EQ(status, 429) << "guessing is limited";
    client.advance(1min);
    EXPECT_EQ(sign_in(client, "ann"), 303);
}

TEST_F(TodoTest, AFormAddsAnItemThatIsShownEscaped) {
    Client client(app);
    sign_in(client, "ann");
    EXPECT_EQ(client.post("/", form({{"text", "<b>tea"}})).status, 303);
    const auto page = client.get("/").text();
    EXPECT_NE(page.find("<span class=\"text\">&lt;b&gt;tea</span>"), std::string::npos) << page;
    EXPECT_EQ(client.post("/", form({{"text", ""}})).status, 422);
    EXPECT_EQ(client.post("/", form({{"text", std::string(201, 'x')}})).status, 422);
}

TEST_F(TodoTest, FormsCheckAndRemoveItems) {
    Client client(app);
    sign_in(client, "ann");
    client.post("/", form({{"text", "tea"}}));
    const auto id = std::to_string(list(client).at(0).id);
    client.post("/items/" + id, form({{"done", "true"}}));
    EXPECT_TRUE(list(client).at(0).done);
    EXPECT_NE(client.get("/").text().find("class=\"done\""), std::string::npos);
    client.post("/items/" + id, form({{"done", "false"}}));
    EXPECT_FALSE(list(client).at(0).done);
    client.post("/items/" + id, form({}));
    EXPECT_TRUE(list(client).empty());
    EXPECT_EQ(client.post("/items/" + id, form({{"done", "true"}})).status, 404);
    EXPECT_EQ(client.get("/nowhere").status, 404) << "not 405: no form is sent there";
}

TEST_F(TodoTest, TheApiAddsChangesAndRemoves) {
    Client client(app);
    sign_in(client, "ann");
    const auto made = client.post("/api/todos", NewTodo{"tea"});
    EXPECT_EQ(made.status, 201);
    const std::string place(made.header("Location"));
    EXPECT_EQ(place, "/api/todos/" + std::to_string(made.json<Todo>().id));
    EXPECT_EQ(client.patch(place, Done{true}).status, 204);
    EXPECT_TRUE(list(client).at(0).done);
    EXPECT_EQ(client.del(place).status, 204);
    EXPECT_EQ(client.del(place).status, 404);
    EXPECT_EQ(client.post("/api/todos", NewTodo{""}).status, 422);
}

TEST_F(TodoTest, EachNameHasAListOfItsOwn) {
    Client ann(app);
    sign_in(ann, "ann");
    ann.post("/api/todos", NewTodo{"tea"});
    sign_in(ann, "bob");
    EXPECT_TRUE(list(ann).empty());
    EXPECT_EQ(ann.patch("/api/todos/1", Done{true}).status, 404) << "of another list";
    sign_in(ann, "ann");
    EXPECT_EQ(list(ann).size(), 1u);
}

TEST_F(TodoTest, AnotherSitesFormIsRefused) {
    Client client(app);
    sign_in(client, "ann");
    const auto answer =
        client.post("/", form({{"text", "spam"}}), {{"Sec-Fetch-Site", "cross-site"}});
    EXPECT_EQ(answer.status, 403);
    EXPECT_TRUE(list(client).empty());
}

TEST_F(TodoTest, SigningOutEndsTheSessionAndSoDoTwoWeeks) {
    Client client(app);
    sign_in(client, "ann");
    client.post("/sign-out");
    EXPECT_EQ(client.get("/api/todos").status, 401);
    sign_in(client, "ann");
    client.advance(24h * 14 + 1s);
    EXPECT_EQ(client.get("/api/todos").status, 401);
}

TEST_F(TodoTest, TheListsOfAllUsersHaveABound) {
    Client client(app);
    sign_in(client, "ann");
    const auto fill = [](tiderace::db::Database all) -> tiderace::Task<int> {
        co_await all.script(
            "with recursive n (i) as (select 1 union all select i + 1 from n where i < 10000) "
            "insert into item (user, text) select 'ann', 'tea' from n");
        co_return 0;
    };
    tiderace::run(fill(db));
    EXPECT_EQ(client.post("/api/todos", NewTodo{"tea"}).status, 409);
    client.del("/api/todos/1");
    EXPECT_EQ(client.post("/api/todos", NewTodo{"tea"}).status, 201);
}

TEST_F(TodoTest, ListsOutliveTheService) {
    {
        Client client(app);
        sign_in(client, "ann");
        client.post("/api/todos", NewTodo{"tea"});
    }
    const auto again =
        make_todo(tiderace::db::open("sqlite:" + folder.path_of("todo.db")), "secret");
    Client client(again);
    sign_in(client, "ann");
    EXPECT_EQ(list(client).at(0).text, "tea");
}

TEST_F(TodoTest, ErrorsArePagesForPeopleAndProblemsForPrograms) {
    Client client(app);
    const std::string html = client.get("/static/nothing").text();
    EXPECT_NE(html.find("<h1>Not Found</h1>"), std::string::npos) << html;
    const auto problem = client.get("/static/nothing", {{"Accept", "application/json"}});
    EXPECT_EQ(problem.header("Content-Type"), "application/problem+json");
    sign_in(client, "ann");
    const auto wrong = client.post("/", form({{"text", ""}}), {{"Accept", "text/html"}});
    EXPECT_EQ(wrong.status, 422);
    EXPECT_NE(wrong.text().find("Back to the list"), std::string::npos) << wrong.text();
}

TEST_F(TodoTest, ItIsReadyUntilItDrains) {
    Client client(app);
    EXPECT_EQ(client.get("/healthz").status, 200);
    EXPECT_EQ(client.get("/readyz").status, 200);
    app.drain();
    EXPECT_EQ(client.get("/readyz").status, 503);
}
