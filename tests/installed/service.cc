// An application and its database, driven in memory.
#include <tiderace/app.h>
#include <tiderace/db.h>
#include <tiderace/testing.h>

#include <cstdio>

using namespace tiderace;
using namespace tiderace::http;

struct Drop {
    std::int64_t number;
};

int main() {
    App app;
    const auto database = db::open("sqlite::memory:");
    app.share(database);
    app.get<"/drops">([](const db::Database& drops) -> Task<std::vector<Drop>> {
        co_return co_await drops.all<Drop>("select 42 as number");
    });
    testing::Client client(app);
    std::puts(client.get("/drops").body.c_str());
}
