#include <tiderace/app.h>

#include <mutex>
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

// One object for all loops: each function locks it while it copies or changes the list.
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

  private:
    std::mutex lock_;
    std::vector<Item> items_;
    std::uint64_t last_id_ = 0;
};

int main(int argc, char** argv) {
    Todos todos;
    App app;
    app.get<"/api/todos">([&] { return todos.list(); });
    app.post<"/api/todos">([&](Json<NewItem> item) {
        const Item added = todos.add(*item->text);
        return Created<Item>{"/api/todos/" + std::to_string(added.id), added};
    });
    return app.serve({.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"});
}
