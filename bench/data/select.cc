// data_select: how many single-row queries one loop of tiderace::db makes, each answer checked.
//
//   data_select URL TASKS CONNECTIONS SECONDS
//
// As many tasks, each of which asks for a random row of `member` (data_servers.py fills it) once it
// has the last one. Prints what it counted as JSON.
#include <tiderace/db.h>
#include <tiderace/task.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

namespace db = tiderace::db;
using tiderace::Scope;
using tiderace::Task;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t members = 10'000;  // as in data_servers.py

struct Member {
    std::int64_t id;
    std::string name;
    std::optional<std::string> motto;
};

struct Load {
    Clock::time_point end;
    std::uint64_t answers = 0;
    std::uint64_t wrong = 0;
    std::uint32_t seed = 1;
};

Task<> ask(db::Database db, Load& load) {
    while (Clock::now() < load.end) {
        load.seed = load.seed * 1'664'525 + 1'013'904'223;
        const std::int64_t id = load.seed % members + 1;
        const auto member =
            co_await db.one<Member>("select id, name, motto from member where id = ?", id);
        ++load.answers;
        if (!member || member->id != id || !member->name.starts_with("member ")) ++load.wrong;
    }
}

Task<> ask_all(db::Database db, std::size_t tasks, double seconds) {
    co_await db.ping();
    Load load;
    const auto begun = Clock::now();
    load.end =
        begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    Scope scope;
    for (std::size_t i = 0; i < tasks; ++i) scope.spawn(ask(db, load));
    co_await scope.join();
    const std::chrono::duration<double> took = Clock::now() - begun;
    std::printf("{\"answers\": %llu, \"wrong\": %llu, \"seconds\": %.6f}\n",
                static_cast<unsigned long long>(load.answers),
                static_cast<unsigned long long>(load.wrong), took.count());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fputs("usage: data_select URL TASKS CONNECTIONS SECONDS\n", stderr);
        return 2;
    }
    try {
        db::Options options;
        options.connections_max = std::strtoul(argv[3], nullptr, 10);
        tiderace::run(ask_all(db::open(argv[1], options), std::strtoul(argv[2], nullptr, 10),
                              std::strtod(argv[4], nullptr)));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "data_select: %s\n", error.what());
        return 1;
    }
}
