#include "server/live/generation.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using Generated = std::shared_ptr<const Generation>;

class GenerationTest : public ::testing::Test {
  protected:
    GenerationTest() {
        folder_.write("index.html", "a");
        options_.listen_is_default = false;
    }
    ServedSite site(const std::string& host) const {
        ServedSite made{.hosts = {host}, .is_default = false, .options = options_};
        made.options.root = folder_.path();
        return made;
    }
    Generated make(std::vector<ServedSite> sites, const Generated& before = nullptr) {
        Wanted wanted{.options = options_, .sites = std::move(sites)};
        EXPECT_TRUE(settle(wanted));
        return *make_generation(std::move(wanted), before.get(), {.password_pool = &pool_});
    }

    testing::TemporaryFolder folder_;
    ServeOptions options_;
    core::WorkerPool pool_{1, 1};
};

TEST_F(GenerationTest, OnlyWhatChangedOfASiteIsMadeAnew) {
    const Generated first = make({site("a"), site("b")});
    EXPECT_NE(first->sites[0].id, first->sites[1].id);
    std::vector<ServedSite> sites{site("new"), site("b"), site("a")};
    sites[1].options.clean_urls = true;
    // The tree has these, and is made anew.
    sites[2].options.added_headers = {{"X-A", "a"}};
    sites[2].options.routes = {{.match = {.path = "/a"}, .cors = "*"}};
    for (ServedSite& each : sites) each.options.listen = {"127.0.0.1:9"};
    const Generated second = make(sites, first);
    EXPECT_EQ(second->number, 2u);
    EXPECT_EQ(second->sites[2].id, first->sites[0].id);
    EXPECT_NE(second->sites[1].id, first->sites[1].id);
    EXPECT_EQ(second->sites[3].id, first->sites[2].id);  // for hosts that are not ours
    EXPECT_NE(second->sites[0].id, first->sites[0].id);
}

TEST_F(GenerationTest, ARateAndAPasswordStayWhereTheyDidNotChange) {
    const auto with = [&](std::uint32_t burst, const std::string& users) {
        ServedSite made = site("a");
        made.options.routes = {{.match = {.path = "/r"},
                                .rate = RouteRate{http::filter::RateLimitOptions{60, burst}}}};
        made.options.basic_auth = {users};
        return std::vector{made};
    };
    const auto table = [](const Generated& of) {
        return of->sites[0].rates->begin()->second.lock();
    };
    const auto users = [](const Generated& of) {
        return of->sites[0].passwords.files.begin()->second;
    };
    Generated first = make(with(5, "ebb:flow"));
    Generated second = make(with(5, "ebb:flow"), first);
    EXPECT_EQ(table(second), table(first));
    EXPECT_EQ(users(second), users(first));
    const Generated third = make(with(6, "ebb:tide"), second);
    EXPECT_NE(users(third), users(first));
    EXPECT_EQ(third->sites[0].rates->size(), 2u);
    first.reset();
    second.reset();
    // What no tree counts by is not kept.
    EXPECT_EQ(make(with(6, "ebb:tide"), third)->sites[0].rates->size(), 1u);
}

TEST_F(GenerationTest, ASiteKnowsThePrivateFilesInItsFolders) {
    for (const char* const name : {"site.toml", "users", "key.pem", "index.html2", "sub/users"}) {
        folder_.write(name, "");
    }
    std::filesystem::create_symlink("users", folder_.path_of("link"));
    ServedSite one = site("a");
    one.options.basic_auth = {"ebb:flow"};
    one.options.routes = {{.match = {.path = "/x"}, .auth = {{folder_.path_of("link")}}},
                          {.match = {.path = "/y"}, .files = {.root = folder_.path_of("sub")}}};
    ServedSite other = site("b");
    other.options.root = folder_.path_of("sub");
    other.options.whole.auth = {{folder_.path_of("sub/../sub/users")}};
    Wanted wanted{.options = options_, .sites = {one, other}};
    wanted.options.private_files = {folder_.path_of("site.toml"), "/elsewhere"};
    wanted.options.tls.certificates = {
        {.certificate = folder_.path_of("cert.pem"), .key = folder_.path_of("key.pem")}};
    ASSERT_TRUE(settle(wanted));
    std::vector<std::string> expected;
    for (const char* const name :
         {"key.pem", "link", "site.toml", "sub/users", "users", "sub/users"}) {
        expected.push_back(folder_.path_of(name));
    }
    EXPECT_EQ(wanted.sites[0].options.private_files, expected);
    EXPECT_EQ(wanted.sites[1].options.private_files, std::vector{folder_.path_of("sub/users")});
}

TEST_F(GenerationTest, ItLivesAsLongAsItsTree) {
    Generated one = make({site("a")});
    const std::weak_ptr<const Generation> seen = one;
    auto tree = tree_of(one);
    one.reset();
    EXPECT_FALSE(seen.expired());
    tree.reset();
    EXPECT_TRUE(seen.expired());
}

TEST_F(GenerationTest, AFolderWithoutAnIndexIsListedWhereOnlyThisMachineSeesIt) {
    folder_.make_folder("bare");
    ServedSite bare = site("a");
    bare.options.root = folder_.path_of("bare");
    for (const auto& [address, lists] :
         std::map<std::string, bool>{{"127.0.0.1:1", true}, {"0.0.0.0:1", false}}) {
        Wanted wanted{.options = options_, .sites = {bare, site("b")}};
        wanted.options.listen = {address};
        ASSERT_TRUE(settle(wanted));
        EXPECT_EQ(wanted.lists_on_loopback, lists);
        EXPECT_EQ(wanted.sites[0].options.listing.value_or(false), lists);
        EXPECT_FALSE(wanted.sites[1].options.listing);
    }
}

}  // namespace
}  // namespace tiderace::server
