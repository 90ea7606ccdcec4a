// Tidepool: a small social network, in one program.
//
//   tidepool [--listen ADDRESS] [--demo N]
//   tidepool backup FILE
//   tidepool restore FILE
//
// TIDEPOOL_DB names the database (sqlite:tidepool.db when it is not set), TIDEPOOL_PICTURES the
// folder of pictures (tidepool-pictures beside a database file, or here; "" for none), and
// TIDEPOOL_FOLDER where templates, static files and migrations lie.

#include <tiderace/app.h>
#include <tiderace/db.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "examples/tidepool/backup.h"
#include "examples/tidepool/demo.h"
#include "examples/tidepool/site.h"

namespace {

using namespace tiderace;

constexpr const char* usage =
    "usage: tidepool [--listen ADDRESS] [--demo N]\n"
    "       tidepool backup FILE\n"
    "       tidepool restore FILE";

struct Options {
    enum class Work : std::uint8_t { serve, backup, restore };

    Work work = Work::serve;
    std::string file = {};
    std::string listen = "127.0.0.1:8080";
    std::size_t demo = 0;
    std::string fault = {};
};

Options read_options(std::span<char*> words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const std::string_view word = words[i];
        const std::string_view value = i + 1 < words.size() ? words[i + 1] : "";
        const bool alone = words.size() == 2 && !value.empty();
        if (word == "--listen" && !value.empty()) {
            options.listen = value;
        } else if (word == "--demo") {
            const auto read =
                std::from_chars(value.data(), value.data() + value.size(), options.demo);
            if (read.ec != std::errc() || read.ptr != value.data() + value.size()) {
                options.fault = "--demo expects a number of members";
            }
        } else if ((word == "backup" || word == "restore") && alone) {
            options.work = word == "backup" ? Options::Work::backup : Options::Work::restore;
            options.file = value;
        } else {
            options.fault = usage;
        }
    }
    return options;
}

std::string setting(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

std::string pictures_beside(const std::string& database) {
    constexpr std::string_view file = "sqlite:";
    std::filesystem::path place;
    if (database.starts_with(file)) place = database.substr(file.size());
    return place.parent_path() / "tidepool-pictures";
}

Task<int> prepare(db::Database db, std::string migrations, std::size_t demo) {
    co_await db::migrate(db, migrations);
    const std::size_t added = co_await tidepool::add_demo(db, demo);
    if (added > 0) {
        std::printf("%zu members of a demo were added; the password of each is \"tidepool\"\n",
                    added);
    }
    co_return 0;
}

Task<int> keep(db::Database db, std::string migrations, std::string pictures, Options options) {
    co_await db::migrate(db, migrations);
    const bool saves = options.work == Options::Work::backup;
    Task<std::size_t> work = saves ? tidepool::back_up(db, pictures, options.file)
                                   : tidepool::restore(db, pictures, options.file);
    const std::size_t lines = co_await std::move(work);
    std::printf("%zu lines %s %s\n", lines, saves ? "written to" : "restored from",
                options.file.c_str());
    co_return 0;
}

}  // namespace

int main(int count, char** words) {
    const Options options =
        read_options(std::span(words, static_cast<std::size_t>(count)).subspan(1));
    if (!options.fault.empty()) {
        std::fprintf(stderr, "tidepool: %s\n", options.fault.c_str());
        return 2;
    }
    const std::string folder = setting("TIDEPOOL_FOLDER", TIDEPOOL_FOLDER);
    try {
        const std::string database = setting("TIDEPOOL_DB", "sqlite:tidepool.db");
        const std::string beside = pictures_beside(database);
        const std::string pictures = setting("TIDEPOOL_PICTURES", beside.c_str());
        db::Database db = db::open(database);
        if (options.work != Options::Work::serve) {
            return run(keep(db, folder + "/migrations", pictures, options));
        }
        if (const int status = run(prepare(db, folder + "/migrations", options.demo)))
            return status;
        http::App app = tidepool::make_app(db, folder, pictures);
        return app.serve({.listen = options.listen});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tidepool: %s\n", error.what());
        return 1;
    }
}
