#include "examples/tidepool/demo.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tidepool/pages.h"
#include "examples/tidepool/posts.h"
#include "examples/tidepool/timelines.h"

namespace tidepool {

using namespace tiderace;

namespace {

constexpr std::array<std::string_view, 24> first_names = {
    "Ada",  "Brook", "Coral", "Dune", "Ebb",    "Fern", "Gull",  "Heron",
    "Isle", "Jetty", "Kelp",  "Lark", "Marina", "Nori", "Otter", "Pearl",
    "Quay", "Reef",  "Skye",  "Tern", "Umber",  "Vale", "Wave",  "Yarrow"};
constexpr std::array<std::string_view, 12> last_names = {"Anchor",  "Bay",    "Cliff",  "Delta",
                                                         "Estuary", "Fjord",  "Grotto", "Haven",
                                                         "Inlet",   "Lagoon", "Marsh",  "Shore"};
constexpr std::array<std::string_view, 20> sentences = {
    "High water at noon today. #tide",
    "Found three anemones in one pool this morning. #tidepool",
    "The ferry is late again, which gave me time to look at the gulls.",
    "Does anybody know what this orange shell is called? #shells",
    "潮水退了，礁石上全是小螃蟹。#潮汐",
    "New sketch of the lighthouse. The fog helped.",
    "Spring tide on Thursday: bring boots. #tide",
    "Today's walk: 11 km, two seals, no rain.",
    "I am reading about barnacles, and I have questions.",
    "海边的风很大，但是天空很蓝。",
    "Somebody left a bucket at the north steps. It has a crab in it. #lostandfound",
    "Kelp soup: better than it sounds. #recipes",
    "The old pier has a new plank. Progress!",
    "Counting waves is a fine way to fall asleep.",
    "看到了今年第一只海豹！#海豹",
    "If you turn a stone, turn it back. #tidepool",
    "Moon jellies in the harbour tonight; look, do not touch. #jellyfish",
    "We measured the sand bank: it moved four metres since spring.",
    "Coffee, wind, and a very curious turnstone.",
    "Low water 06:12. Who else is up? #tide"};

// Not by a distribution of the library: those give other numbers in another standard library.
std::size_t below(std::mt19937_64& random, std::size_t end) {
    return static_cast<std::size_t>(random() % end);
}

Task<std::int64_t> add_member(db::Transaction& tx, std::mt19937_64& random, std::size_t number,
                              std::string hash, Time began) {
    const std::string first(first_names[number % first_names.size()]);
    const std::string last(last_names[number / first_names.size() % last_names.size()]);
    const std::string username = small_letters(first) + "_" + std::to_string(number + 1);
    const std::string about = below(random, 3) == 0 ? std::string() : "By the " + last + ".";
    const auto id = co_await tx.one<std::int64_t>(
        "insert into members (created_at, username, name, email, password, about)"
        " values (?, ?, ?, ?, ?, ?) returning id",
        began, username, first + " " + last, username + "@tidepool.example", hash, about);
    co_return *id;
}

using Ids = std::vector<std::int64_t>;

Task<> add_posts(db::Transaction& tx, db::Dialect dialect, std::mt19937_64& random,
                 const Ids& members, Time now) {
    const std::size_t count = members.size() * 5;
    Ids posts;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t author = members[below(random, members.size())];
        std::string body(sentences[below(random, sentences.size())]);
        const auto ago = std::chrono::minutes(7 * (count - i));
        std::optional<std::int64_t> parent;
        if (i > 4 && below(random, 4) == 0) parent = posts[below(random, i)];
        const auto id = co_await tx.one<std::int64_t>(
            "insert into posts (created_at, author, parent, body) values (?, ?, ?, ?) returning id",
            now - ago, author, parent, body);
        posts.push_back(*id);
        co_await index_words(tx, dialect, *id, body);
        for (const std::string& tag : tags_of(body)) {
            co_await tx.exec("insert into tags (tag, post) values (?, ?)", tag, *id);
        }
        const std::size_t likes = below(random, std::min<std::size_t>(members.size(), 9));
        for (std::size_t like = 0; like < likes; ++like) {
            const std::int64_t member =
                members[(below(random, members.size()) + like) % members.size()];
            co_await tx.exec("insert into likes (member, post, created_at) values (?, ?, ?)" +
                                 once(dialect, "member"),
                             member, *id, now);
        }
    }
}

Task<> add_follows(db::Transaction& tx, db::Dialect dialect, std::mt19937_64& random,
                   const Ids& members, Time now) {
    for (std::size_t follower = 0; follower < members.size(); ++follower) {
        const std::size_t count = std::min<std::size_t>(members.size() - 1, 4 + below(random, 12));
        for (std::size_t i = 0; i < count; ++i) {
            // Some are followed by very many.
            const std::size_t range =
                below(random, 3) == 0 ? std::min<std::size_t>(members.size(), 5) : members.size();
            const std::size_t followee = below(random, range);
            if (followee == follower) continue;
            co_await tx.exec(
                "insert into follows (follower, followee, created_at)"
                " values (?, ?, ?)" +
                    once(dialect, "follower"),
                members[follower], members[followee], now);
        }
    }
}

}  // namespace

Task<std::size_t> add_demo(db::Database db, std::size_t members) {
    const auto there = co_await db.one<std::int64_t>("select count(*) from members");
    if (*there > 0 || members == 0) co_return 0;
    // One password for all of them: a hash for each would take a thousand members a minute.
    password::Hasher passwords;
    const std::string hash = co_await passwords.hash("tidepool");
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    auto write = [&](db::Transaction& tx) -> Task<> {
        // A fixed seed: each demo is the same, and so are the figures that are measured with it.
        std::mt19937_64 random(20);
        Ids ids;
        for (std::size_t number = 0; number < members; ++number) {
            const Time began = now - std::chrono::days(100);
            ids.push_back(co_await add_member(tx, random, number, hash, began));
        }
        co_await add_posts(tx, db.dialect(), random, ids, now);
        co_await add_follows(tx, db.dialect(), random, ids, now);
        co_await rebuild_timelines(tx);
    };
    co_await db.transaction(write);
    co_return members;
}

}  // namespace tidepool
