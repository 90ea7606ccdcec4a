#include <tiderace/app.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

using namespace tiderace::http;
namespace json = tiderace::json;

struct Item {
    std::uint64_t id = 0;
    std::string text;
    bool done = false;
};
struct NewItem {
    json::Length<std::string, 1, 200> text;
};
struct Change {
    std::optional<bool> done;
};
struct ListPage {
    std::string user;
    std::vector<Item> items;
};

class Todos {
  public:
    static constexpr std::size_t items_max = 10'000;

    std::vector<Item> list() {
        const std::lock_guard held(lock_);
        return items_;
    }
    Item add(std::string text) {
        const std::lock_guard held(lock_);
        if (items_.size() >= items_max) {
            throw Problem{.status = 409, .detail = "there is no more room"};
        }
        return items_.emplace_back(Item{++last_id_, std::move(text)});
    }
    // Without `done` the item is removed.
    void change(std::uint64_t id, std::optional<bool> done) {
        const std::lock_guard held(lock_);
        const auto item = std::ranges::find(items_, id, &Item::id);
        if (item == items_.end()) throw Problem{.status = 404, .detail = "there is no such item"};
        if (done) {
            item->done = *done;
        } else {
            items_.erase(item);
        }
    }

  private:
    std::mutex lock_;
    std::vector<Item> items_;
    std::uint64_t last_id_ = 0;
};

int main(int argc, char** argv) {
    Todos todos;
    App app;
    app.templates("templates", {.reload = true});
    app.get<"/">([&] { return page<"list.html">(ListPage{"ann", todos.list()}); });
    app.post<"/">([&](Form<NewItem> item) {
        todos.add(*item->text);
        return Redirect{"/"};
    });
    app.post<"/items/{id}">([&](std::uint64_t id, Form<Change> change) {
        todos.change(id, change->done);
        return Redirect{"/"};
    });
    return app.serve({.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"});
}
