// Random sequences of what members do, against a model of plain sets, on each kind of database.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;

constexpr std::size_t model_steps = 120;
constexpr std::size_t modelled = 4;
constexpr std::array<std::string_view, 5> words = {"salt", "wind", "潮水", "stone", "pier"};

// The truth, in the simplest terms.
struct Model {
    struct Post {
        std::size_t author;
        std::string body;
        std::int64_t parent = 0;
    };
    using Pair = std::pair<std::size_t, std::size_t>;

    std::map<std::int64_t, Post> posts;
    std::set<std::pair<std::size_t, std::int64_t>> likes;
    std::set<Pair> follows;
    std::set<Pair> blocks;
    std::set<Pair> mutes;

    bool strangers(std::size_t a, std::size_t b) const {
        return blocks.contains({a, b}) || blocks.contains({b, a});
    }
    void remove(std::int64_t id) {
        // Replies keep the number of what they answered.
        posts.erase(id);
        std::erase_if(likes, [&](const auto& like) { return like.second == id; });
    }
    // Removes the member's posts, likes and relations.
    void leave(std::size_t who) {
        std::vector<std::int64_t> own;
        for (const auto& [id, post] : posts) {
            if (post.author == who) own.push_back(id);
        }
        for (const std::int64_t id : own) remove(id);
        std::erase_if(likes, [&](const auto& like) { return like.first == who; });
        for (std::set<Pair>* pairs : {&follows, &blocks, &mutes}) {
            std::erase_if(
                *pairs, [&](const Pair& pair) { return pair.first == who || pair.second == who; });
        }
    }
    std::int64_t likes_of(std::int64_t id) const {
        return std::ranges::count(likes, id, [](const auto& like) { return like.second; });
    }
    std::int64_t replies_to(std::int64_t id) const {
        return std::ranges::count(posts, id, [](const auto& each) { return each.second.parent; });
    }
    template <typename F>
    std::vector<std::int64_t> some(F wanted) const {
        std::vector<std::int64_t> ids;
        for (const auto& [id, post] : posts) {
            if (wanted(post)) ids.push_back(id);
        }
        std::ranges::reverse(ids);
        if (ids.size() > static_cast<std::size_t>(page_size)) ids.resize(page_size);
        return ids;
    }
    std::vector<std::int64_t> feed(std::size_t who) const {
        return some([&](const Post& post) {
            return post.parent == 0 && !strangers(who, post.author) &&
                   !mutes.contains({who, post.author}) &&
                   (post.author == who || follows.contains({who, post.author}));
        });
    }
    std::vector<std::int64_t> of(std::size_t who, std::size_t author) const {
        return some(
            [&](const Post& post) { return post.author == author && !strangers(who, author); });
    }
    std::vector<std::int64_t> tagged(std::size_t who, std::string_view word) const {
        const std::string tag = "#" + std::string(word);
        return some([&](const Post& post) {
            return post.body.contains(tag) && !strangers(who, post.author);
        });
    }
    std::vector<std::string> others(const std::set<Pair>& pairs, std::size_t who) const {
        std::vector<std::string> names;
        for (const auto& [a, b] : pairs) {
            if (a == who) names.push_back("member_" + std::to_string(b));
        }
        return names;
    }
    std::vector<std::int64_t> search(std::size_t who, std::string_view word) const {
        return some([&](const Post& post) {
            return post.body.contains(word) && !strangers(who, post.author);
        });
    }
};

class ModelTest : public TidepoolTest {
  protected:
    void begin() {
        for (std::size_t i = 0; i < modelled; ++i) {
            const std::string name = "member_" + std::to_string(i);
            members_.push_back(member(name));
            stores_.push_back(static_cast<std::int64_t>(i) + 1);
        }
        posts_.emplace(*db_);
        others_.emplace(*db_);
        accounts_.emplace(*db_, passwords_);
    }
    std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
    std::int64_t any_post() {
        if (model_.posts.empty()) return 1;
        auto at = model_.posts.begin();
        std::advance(at, below(model_.posts.size()));
        return at->first;
    }
    std::string name(std::size_t who) const { return "member_" + std::to_string(who); }

    Task<int> step() {
        const std::size_t who = below(modelled);
        const std::size_t other = below(modelled);
        const std::int64_t id = any_post();
        switch (below(10)) {
            case 0:
            case 1:
            case 2:
                co_await add(who, below(3) == 0 ? id : 0);
                break;
            case 3:
            case 4:
                co_await like(who, id, below(4) != 0);
                break;
            case 5:
                co_await follow(who, other);
                break;
            case 6:
                co_await block(who, other);
                break;
            case 7:
                co_await edit(who, id);
                break;
            case 8:
                co_await mute(who, other);
                break;
            default:
                if (below(3) == 0) co_await remove(who, id);
                if (below(6) == 0) co_await leave(who);
        }
        co_return 0;
    }
    // Another member signs up under the free name.
    Task<> leave(std::size_t who) {
        co_await accounts_->remove(stores_[who]);
        model_.leave(who);
        const auto id = co_await db_->one<std::int64_t>(
            "insert into members (created_at, username, name, email, password)"
            " values (?, ?, 'Somebody', ?, '') returning id",
            Time{}, name(who), name(who));
        stores_[who] = *id;
    }
    Task<> add(std::size_t who, std::int64_t parent) {
        std::string body = std::string(words[below(words.size())]) + " and ";
        if (below(2) == 0) body += '#';
        body += words[below(words.size())];
        Draft draft{.body = body};
        if (parent != 0) draft.parent = parent;
        const auto added = co_await posts_->add(stores_[who], draft);
        const auto answered = model_.posts.find(parent);
        const bool allowed = parent == 0 || (answered != model_.posts.end() &&
                                             !model_.strangers(who, answered->second.author));
        EXPECT_EQ(added.has_value(), allowed);
        if (added) model_.posts[added->id] = {who, body, added->parent.value_or(0)};
    }
    Task<> like(std::size_t who, std::int64_t id, bool liked) {
        const auto now = co_await posts_->like(stores_[who], id, liked);
        const auto post = model_.posts.find(id);
        const bool seen = post != model_.posts.end() && !model_.strangers(who, post->second.author);
        EXPECT_EQ(now.has_value(), seen);
        if (!now) co_return;
        if (liked) model_.likes.insert({who, id});
        if (!liked) model_.likes.erase({who, id});
        EXPECT_EQ(now->likes, model_.likes_of(id));
    }
    Task<> follow(std::size_t who, std::size_t other) {
        const bool ends = below(3) == 0;
        bool done = false;
        if (ends) {
            done = co_await others_->unfollow(stores_[who], name(other));
            model_.follows.erase({who, other});
            EXPECT_EQ(done, who != other);
        } else {
            done = co_await others_->follow(stores_[who], name(other));
            EXPECT_EQ(done, who != other && !model_.strangers(who, other));
            if (done) model_.follows.insert({who, other});
        }
    }
    Task<> block(std::size_t who, std::size_t other) {
        const bool ends = below(2) == 0;
        if (ends) {
            co_await others_->unblock(stores_[who], name(other));
            model_.blocks.erase({who, other});
        } else if (co_await others_->block(stores_[who], name(other))) {
            model_.blocks.insert({who, other});
            model_.follows.erase({who, other});
            model_.follows.erase({other, who});
        }
    }
    Task<> mute(std::size_t who, std::size_t other) {
        const bool ends = below(2) == 0;
        Task<bool> work = ends ? others_->unmute(stores_[who], name(other))
                               : others_->mute(stores_[who], name(other));
        const bool done = co_await std::move(work);
        EXPECT_EQ(done, who != other);
        if (ends) model_.mutes.erase({who, other});
        if (!ends && done) model_.mutes.insert({who, other});
    }
    Task<> edit(std::size_t who, std::int64_t id) {
        const std::string body = std::string(below(2) == 0 ? "changed " : "changed #") +
                                 std::string(words[below(words.size())]);
        const bool done = co_await posts_->edit(stores_[who], id, body);
        const auto post = model_.posts.find(id);
        const bool own = post != model_.posts.end() && post->second.author == who;
        EXPECT_EQ(done, own);
        if (own) post->second.body = body;
    }
    Task<> remove(std::size_t who, std::int64_t id) {
        const auto gone = co_await posts_->remove(stores_[who], id);
        const auto post = model_.posts.find(id);
        const bool own = post != model_.posts.end() && post->second.author == who;
        EXPECT_EQ(gone.has_value(), own);
        if (own) model_.remove(id);
    }

    static std::vector<std::int64_t> ids_of(const Posts& posts) {
        std::vector<std::int64_t> ids;
        for (const PostView& post : posts.posts) ids.push_back(post.id);
        return ids;
    }
    static std::vector<std::string> names_of(const People& people) {
        std::vector<std::string> names;
        for (const Person& person : people.people) names.push_back(person.username);
        return names;
    }
    void compare_counts(std::size_t who, const PostView& post) const {
        EXPECT_EQ(post.liked, model_.likes.contains({who, post.id})) << post.id;
        EXPECT_EQ(post.likes, model_.likes_of(post.id)) << post.id;
        EXPECT_EQ(post.replies, model_.replies_to(post.id)) << post.id;
    }
    Task<> compare(std::size_t who) {
        const Posts feed = co_await posts_->feed(stores_[who], newest);
        EXPECT_EQ(ids_of(feed), model_.feed(who));
        const std::string word(words[below(words.size())]);
        const Posts found = co_await posts_->with_words(stores_[who], word, newest);
        EXPECT_EQ(ids_of(found), model_.search(who, word)) << word;
        const Posts tagged = co_await posts_->with_tag(stores_[who], word, newest);
        EXPECT_EQ(ids_of(tagged), model_.tagged(who, word)) << word;
        const std::size_t author = below(modelled);
        const Posts of = co_await posts_->of_member(stores_[who], stores_[author], newest);
        EXPECT_EQ(ids_of(of), model_.of(who, author));
        const People muted = co_await others_->muted(stores_[who], "");
        EXPECT_EQ(names_of(muted), model_.others(model_.mutes, who));
        const People blocked = co_await others_->blocked(stores_[who], "");
        EXPECT_EQ(names_of(blocked), model_.others(model_.blocks, who));
        for (const PostView& post : feed.posts) compare_counts(who, post);
        for (const PostView& post : of.posts) compare_counts(who, post);
        const std::int64_t id = any_post();
        const auto one = co_await posts_->find(stores_[who], id);
        if (one) compare_counts(who, *one);
        const auto profile = co_await others_->profile(stores_[who], name(who));
        EXPECT_EQ(profile->followers,
                  std::ranges::count(model_.follows, who, &Model::Pair::second));
        EXPECT_EQ(profile->following, std::ranges::count(model_.follows, who, &Model::Pair::first));
    }
    Task<int> live(std::uint64_t seed) {
        random_.seed(seed);
        for (std::size_t i = 0; i < model_steps && !HasFailure(); ++i) {
            co_await step();
            if (i % 10 == 9) co_await compare(below(modelled));
        }
        for (std::size_t who = 0; who < modelled && !HasFailure(); ++who) co_await compare(who);
        co_return 0;
    }

    Model model_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<Browser>> members_;
    std::vector<std::int64_t> stores_;  // their ids
    std::optional<PostStore> posts_;
    std::optional<Members> others_;
    password::Hasher passwords_;
    std::optional<Accounts> accounts_;
};

TEST_P(ModelTest, WhateverMembersDoTheDatabaseSaysTheSame) {
    begin();
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        run(live(seed));
        if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Databases, ModelTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
