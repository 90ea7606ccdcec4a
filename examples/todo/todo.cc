// Lists of what is to be done: pages for people, JSON for programs, a session for each of them.
#include "examples/todo/todo.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using namespace tiderace;
using namespace tiderace::http;

namespace {

struct Item {
    std::uint64_t id = 0;
    std::string text;
    bool done = false;
};

// One object for all loops: each function locks it while it copies or changes a list.
class Todos {
  public:
    static constexpr std::size_t items_max = 10'000;  // of all users

    std::vector<Item> list(std::string_view user) {
        const std::lock_guard held(lock_);
        const auto found = lists_.find(user);
        return found == lists_.end() ? std::vector<Item>() : found->second;
    }
    Item add(std::string_view user, std::string text) {
        const std::lock_guard held(lock_);
        if (count_ >= items_max) throw Problem{.status = 409, .detail = "there is no more room"};
        ++count_;
        return lists_[std::string(user)].emplace_back(Item{++last_id_, std::move(text)});
    }
    // Without `done` the item is removed.
    void change(std::string_view user, std::uint64_t id, std::optional<bool> done) {
        const std::lock_guard held(lock_);
        auto& items = lists_[std::string(user)];
        const auto item = std::ranges::find(items, id, &Item::id);
        if (item == items.end()) throw Problem{.status = 404, .detail = "there is no such item"};
        if (done) {
            item->done = *done;
        } else {
            items.erase(item);
            --count_;
        }
    }

  private:
    std::mutex lock_;
    std::map<std::string, std::vector<Item>, std::less<>> lists_;
    std::size_t count_ = 0;
    std::uint64_t last_id_ = 0;
};
using Shared = std::shared_ptr<Todos>;

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
    std::vector<Item> items;
};

void add_sign_in(App& app, const std::string& password) {
    app.get<"/sign-in">([] { return page<"sign_in.html">(SignInPage{}); });
    app.post<"/sign-in">(
        [password](Form<SignIn> form, Session session) -> Task<std::variant<Page, Redirect>> {
            if (form->password != password) {
                co_return page<"sign_in.html">(SignInPage{"This is not the password."}, Reply(403));
            }
            co_await session.renew();
            co_await session.set("user", *form->name);
            co_return Redirect{"/"};
        },
        rate_limit({.per_minute = 20}));
    app.post<"/sign-out">([](Session session) -> Task<Redirect> {
        co_await session.end();
        co_return Redirect{"/sign-in"};
    });
}

void add_pages(Group<0> pages, const Shared& todos) {
    pages.use(signed_in("user", Redirect{"/sign-in"}));
    pages.get<"/">([todos](Session session) {
        const std::string user(session.get("user"));
        return page<"list.html">(ListPage{user, todos->list(user)});
    });
    pages.post<"/">([todos](Form<NewItem> item, Session session) {
        todos->add(session.get("user"), *item->text);
        return Redirect{"/"};
    });
    pages.post<"/{id}">([todos](std::uint64_t id, Form<Change> change, Session session) {
        todos->change(session.get("user"), id, change->done);
        return Redirect{"/"};
    });
}

void add_api(Group<0> api, const Shared& todos) {
    api.use(signed_in("user", Problem{.status = 401}));
    api.get<"/todos">([todos](Session session) { return todos->list(session.get("user")); });
    api.post<"/todos">([todos](Json<NewItem> item, Session session) {
        const Item added = todos->add(session.get("user"), *item->text);
        return Created<Item>{"/api/todos/" + std::to_string(added.id), added};
    });
    api.patch<"/todos/{id}">([todos](std::uint64_t id, Json<Change> change, Session session) {
        todos->change(session.get("user"), id, change->done.value_or(true));
    });
    api.del<"/todos/{id}">([todos](std::uint64_t id, Session session) {
        todos->change(session.get("user"), id, std::nullopt);
    });
}

}  // namespace

App make_todo(const std::string& password, bool reload) {
    App app;
    const auto todos = std::make_shared<Todos>();
    app.use(request_ids()).use(security_headers()).use(cross_origin());
    app.use(sessions(std::make_shared<MemorySessions>(10'000)));
    app.templates(TODO_FOLDER "/templates", {.reload = reload});
    app.health("/healthz").ready("/readyz").files("/static", TODO_FOLDER "/static");
    add_sign_in(app, password);
    add_pages(app.group(""), todos);
    add_api(app.group("/api"), todos);
    return app;
}
