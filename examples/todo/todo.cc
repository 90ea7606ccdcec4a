// Lists of what is to be done: pages for people, JSON for programs, a session for each of them.
#include "examples/todo/todo.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace tiderace;
using namespace tiderace::http;

namespace {

constexpr std::int64_t items_max = 10'000;  // of all users

struct Item {
    std::int64_t id = 0;
    std::string text;
    bool done = false;
};

// Each of these waits for the database and leaves the loop to others meanwhile.
Task<std::vector<Item>> list_of(db::Database db, std::string user) {
    co_return co_await db.all<Item>("select id, text, done from item where user = ? order by id",
                                    user);
}

// The count in the same statement: of two that come at once, one takes the last place.
Task<Item> add(db::Database db, std::string user, std::string text) {
    const auto done = co_await db.exec(
        "insert into item (user, text) select ?, ? where (select count(*) from item) < ?", user,
        text, items_max);
    if (done.rows == 0) throw Problem{.status = 409, .detail = "there is no more room"};
    co_return Item{done.last_id, text};
}

// Without `done` the item is removed.
Task<> change(db::Database db, std::string user, std::int64_t id, std::optional<bool> done) {
    db::Done changed;
    if (done) {
        changed =
            co_await db.exec("update item set done = ? where user = ? and id = ?", *done, user, id);
    } else {
        changed = co_await db.exec("delete from item where user = ? and id = ?", user, id);
    }
    if (changed.rows == 0) throw Problem{.status = 404, .detail = "there is no such item"};
}

struct SignIn {
    json::Length<std::string, 1, 40> name;
    std::string password;
};
struct NewItem {
    json::Length<std::string, 1, 200> text;
};
struct Change {
    std::optional<bool> done;
};
struct SignInPage {
    std::string fault;
};
struct ListPage {
    std::string user;
    std::vector<Item> items = {};
};
struct FaultPage {
    int status;
    std::string title;
    std::string detail;
};

void add_sign_in(App& app, const std::string& password) {
    app.get<"/sign-in">([] { return page<"sign_in.html">(SignInPage{}); });
    app.post<"/sign-in">(
        [password](Form<SignIn> form, Session session)
            -> Task<std::variant<PageOf<"sign_in.html", SignInPage>, Redirect>> {
            if (!equals_in_constant_time(password, form->password)) {
                co_return page<"sign_in.html">(SignInPage{"This is not the password."},
                                               Response(403));
            }
            co_await session.renew();  // an id from before the sign-in is worth nothing
            co_await session.set("user", *form->name);
            co_return Redirect{"/"};
        },
        rate_limit({.per_minute = 20}));
    app.post<"/sign-out">([](Session session) -> Task<Redirect> {
        co_await session.end();
        co_return Redirect{"/sign-in"};
    });
}

void add_pages(Group<0> pages, const db::Database& db) {
    pages.use(signed_in("user", Redirect{"/sign-in"}));
    pages.get<"/">([db](Session session) -> Task<PageOf<"list.html", ListPage>> {
        ListPage shown{.user = std::string(session.get("user"))};
        shown.items = co_await list_of(db, shown.user);
        co_return page<"list.html">(std::move(shown));
    });
    pages.post<"/">([db](Form<NewItem> item, Session session) -> Task<Redirect> {
        co_await add(db, std::string(session.get("user")), *item->text);
        co_return Redirect{"/"};
    });
    pages.post<"/items/{id}">(
        [db](std::int64_t id, Form<Change> form, Session session) -> Task<Redirect> {
            co_await change(db, std::string(session.get("user")), id, form->done);
            co_return Redirect{"/"};
        });
}

void add_api(Group<0> api, const db::Database& db) {
    api.use(signed_in("user", Problem{.status = 401}));
    api.get<"/todos">(
        [db](Session session) { return list_of(db, std::string(session.get("user"))); });
    api.post<"/todos">([db](Json<NewItem> item, Session session) -> Task<Created<Item>> {
        const Item added = co_await add(db, std::string(session.get("user")), *item->text);
        co_return Created<Item>{"/api/todos/" + std::to_string(added.id), added};
    });
    api.patch<"/todos/{id}">([db](std::int64_t id, Json<Change> json, Session session) {
        return change(db, std::string(session.get("user")), id, json->done.value_or(true));
    });
    api.del<"/todos/{id}">([db](std::int64_t id, Session session) {
        return change(db, std::string(session.get("user")), id, std::nullopt);
    });
}

}  // namespace

Task<int> prepare(db::Database db) {
    co_await db::migrate(db, TODO_FOLDER "/migrations");
    co_return 0;
}

App make_todo(const db::Database& db, const std::string& password, bool reload) {
    App app;
    app.use(request_ids()).use(security_headers()).use(cross_origin());
    app.use(sessions(std::make_shared<MemorySessions>(10'000)));
    app.templates(TODO_FOLDER "/templates", {.reload = reload});
    app.error_page([](const ErrorAnswer& error) {
        return page<"error.html">(FaultPage{error.status, error.title, error.detail});
    });
    app.health("/healthz").ready("/readyz").files("/static", TODO_FOLDER "/static");
    app.openapi("/openapi.json", {.title = "todo", .version = "1"});
    add_sign_in(app, password);
    add_pages(app.group(""), db);
    add_api(app.group("/api"), db);
    return app;
}
