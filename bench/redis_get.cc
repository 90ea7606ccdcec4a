// redis_get: how many GETs a second one loop of the client gets from a server, each answer checked.
//
//   redis_get URL [--tasks N] [--pipeline N] [--requests N]
//
// --pipeline 1: each task awaits one get() after another. More: explicit pipelines of that many.
// Beside it: redis-benchmark -s SOCKET -t get -c TASKS -P PIPELINE -n REQUESTS -q
#include <tiderace/redis.h>
#include <tiderace/task.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

namespace db = tiderace::db;
namespace redis = tiderace::redis;
using tiderace::Scope;
using tiderace::Task;

struct Wanted {
    std::string url;
    long tasks = 50;
    long pipeline = 16;
    long requests = 1'000'000;
};

struct Count {
    long left = 0;
    long wrong = 0;
};

Task<> ask_one_by_one(redis::Client redis, Count& count) {
    while (count.left > 0) {
        --count.left;
        const auto value = co_await redis.get("key:bench");
        if (value != "xxx") ++count.wrong;
    }
}

Task<> ask_in_pipelines(redis::Client redis, long size, Count& count) {
    while (count.left > 0) {
        auto batch = redis.pipeline();
        for (long i = 0; i < size; ++i) batch.add("GET", "key:bench");
        count.left -= size;
        const auto replies = co_await batch.run();
        for (const redis::Reply& each : replies) {
            if (each.view().text() != "xxx") ++count.wrong;
        }
    }
}

Task<> measure(Wanted wanted) {
    const auto redis = redis::open(wanted.url);
    co_await redis.set("key:bench", "xxx");
    Count count{.left = wanted.requests};
    Scope scope;
    const auto begin = std::chrono::steady_clock::now();
    for (long i = 0; i < wanted.tasks; ++i) {
        scope.spawn(wanted.pipeline > 1 ? ask_in_pipelines(redis, wanted.pipeline, count)
                                        : ask_one_by_one(redis, count));
    }
    co_await scope.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("GET: %.0f requests per second, %ld wrong, %ld tasks, pipelines of %ld\n",
                static_cast<double>(wanted.requests) / took.count(), count.wrong, wanted.tasks,
                wanted.pipeline);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argc % 2 != 0) {
        std::fprintf(stderr, "usage: redis_get URL [--tasks N] [--pipeline N] [--requests N]\n");
        return 2;
    }
    Wanted wanted{.url = argv[1]};
    for (int i = 2; i < argc; i += 2) {
        const long value = std::strtol(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--tasks") == 0) wanted.tasks = value;
        if (std::strcmp(argv[i], "--pipeline") == 0) wanted.pipeline = value;
        if (std::strcmp(argv[i], "--requests") == 0) wanted.requests = value;
    }
    try {
        tiderace::run(measure(wanted));
    } catch (const db::Error& error) {
        std::fprintf(stderr, "redis_get: %s\n", error.what());
        return 1;
    }
}
