// Listings as answers: formats, fields, and a folder of many entries in little memory.
#include "tiderace/http/listing/listing.h"

#include <new>

#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/static_site.h"

namespace tiderace::http::listing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ListingTest : public testing::StaticSite {
  protected:
    ListingTest() { options_.listing = true; }
};

TEST_F(ListingTest, APageForPeopleAndJsonForPrograms) {
    folder_.write("docs/a.txt", "aaa");
    folder_.make_folder("docs/sub");
    auto& page = get("/docs/", {{"Accept", "text/html,*/*;q=0.8"}});
    EXPECT_EQ(page.status(), 200);
    EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(page.header("Vary"), "Accept");
    EXPECT_EQ(page.header("X-Content-Type-Options"), "nosniff");
    EXPECT_THAT(page.header("Content-Security-Policy"), HasSubstr("default-src 'none'"));
    EXPECT_EQ(page.content_length(), -1);
    EXPECT_THAT(page.body(), HasSubstr("href=\"./a.txt\""));
    EXPECT_THAT(page.body(), HasSubstr("href=\"./sub/\""));
    EXPECT_TRUE(page.body().ends_with("</html>\n"));

    clock_.set_unix(0);
    folder_.set_time("docs/a.txt", 784'111'777);
    folder_.set_time("docs/sub", 0);
    auto& json = get("/docs/", {{"Accept", "application/json"}});
    EXPECT_EQ(json.header("Content-Type"), "application/json");
    EXPECT_EQ(json.body(),
              "{\"path\":\"/docs/\",\"sorted\":true,\"entries\":[\n"
              "{\"name\":\"sub\",\"href\":\"./sub/\",\"type\":\"directory\","
              "\"modified\":\"1970-01-01T00:00:00Z\"},\n"
              "{\"name\":\"a.txt\",\"href\":\"./a.txt\",\"type\":\"file\","
              "\"modified\":\"1994-11-06T08:49:37Z\",\"bytes\":3}\n"
              "],\"complete\":true}\n");
}

TEST_F(ListingTest, AnIndexComesBeforeAListing) {
    folder_.write("index.html", "front");
    EXPECT_EQ(get("/").body(), "front");
}

TEST_F(ListingTest, TheQueryChoosesTheOrder) {
    folder_.write("a", "1234");
    folder_.write("b", "1");
    const auto order = [&](std::string_view target) {
        const std::string body = get(target, {{"Accept", "application/json"}}).body();
        return body.find("\"a\"") < body.find("\"b\"") ? "ab" : "ba";
    };
    EXPECT_STREQ(order("/"), "ab");
    EXPECT_STREQ(order("/?order=desc"), "ba");
    EXPECT_STREQ(order("/?sort=size&order=asc"), "ba");
    EXPECT_STREQ(order("/?sort=nonsense&order=%00"), "ab");
}

TEST_F(ListingTest, TheReadmeIsShown) {
    folder_.write("README.md", "# Harbour\n<script>x</script>");
    EXPECT_THAT(get("/").body(), HasSubstr("<h2>Harbour</h2>"));
    EXPECT_THAT(exchange_->body(), Not(HasSubstr("<script>x")));
    folder_.write("README.md", std::string(100'000, 'x'));
    EXPECT_THAT(get("/").body(), HasSubstr("Read on"));
}

// At any single allocation: the places that it had are there for the next one.
TEST_F(ListingTest, OneThatFailsForLackOfMemoryGivesItsPlacesBack) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    options_.listings = {.listings_max = 1, .names_max = 3, .names_free = 0};
    for (const char* name : {"a", "b", "c"}) folder_.write(name, "1");
    const std::string whole = get("/", {{"Accept", "application/json"}}).body();
    ASSERT_THAT(whole, HasSubstr("\"sorted\":true"));
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        exchange_ = core::make_ref<testing::RecordedExchange>(
            *loop_, "GET", "/", Fields{{"Accept", "application/json"}});
        bool failed = false;
        {
            testing::ScarceMemory scarce(nth);
            try {
                server().handle(*exchange_);
                exchange_->finish();
            } catch (const std::bad_alloc&) {
                // Contained by the connection, elsewhere.
            }
            failed = scarce.failed();
        }
        EXPECT_EQ(get("/", {{"Accept", "application/json"}}).body(), whole) << nth;
        return failed;
    });
    EXPECT_GT(calls, 5U);
}

TEST_F(ListingTest, HeadMakesNoRows) {
    folder_.write("a", "1");
    auto& answer = ask("HEAD", "/");
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.content_length(), -1) << "as GET has none";
    EXPECT_EQ(answer.body(), "");
}

TEST_F(ListingTest, WithoutListingAFolderIsNotThere) {
    options_.listing = false;
    folder_.write("a", "1");
    EXPECT_EQ(get("/").status(), 404);
}

TEST_F(ListingTest, ManyEntriesAreStreamedInLittleMemory) {
    constexpr std::size_t entries = 50'000;
    folder_.make_folder("many");
    for (std::size_t i = 0; i < entries; ++i) {
        folder_.link("many/" + std::to_string(i), "../file");
    }
    folder_.write("file", "x");
    for (const char* accept : {"text/html", "application/json"}) {
        const std::size_t blocks_before = loop_->blocks().taken();
        auto& answer = get("/many/", {{"Accept", accept}});
        EXPECT_FALSE(answer.broken());
        std::size_t rows = 0;
        const ByteView mark = ByteView(accept) == "text/html" ? "<tr><td>" : "\"name\"";
        for (std::size_t at = 0; (at = answer.body().find(mark, at)) != std::string::npos; ++at) {
            ++rows;
        }
        EXPECT_EQ(rows, entries + (ByteView(accept) == "text/html"));  // and the way up
        EXPECT_LE(answer.queue_bytes_most(), 64'000U);
        EXPECT_EQ(loop_->blocks().taken(), blocks_before);
        EXPECT_LE(kernel_.open_files(), 2);
    }
}

TEST_F(ListingTest, AnUnreadListingTakesOnePlace) {
    options_.listings.listings_max = 2;
    folder_.make_folder("a");
    auto first = core::Ref(&ask("GET", "/a/")), second = core::Ref(&ask("GET", "/a/"));
    EXPECT_EQ(ask("GET", "/a/").status(), 503);
    EXPECT_EQ(exchange_->header("Retry-After"), "1");
    EXPECT_EQ(ask("HEAD", "/a/").status(), 503);
    EXPECT_EQ(kernel_.open_files(), 2) << "of those two";
    first = {};
    EXPECT_EQ(get("/a/").status(), 200);
    EXPECT_EQ(get("/a/").status(), 200);
    EXPECT_TRUE(second->finish());
}

TEST_F(ListingTest, WhereNamesTakeTooMuchRoomTheyAreNotSorted) {
    for (int i = 0; i < 9; ++i) folder_.write("a/" + std::to_string(i), "x");
    options_.listings = {.names_max = 12, .names_free = 2};
    const auto is_sorted = [](testing::RecordedExchange& answer) {
        EXPECT_TRUE(answer.finish());
        return answer.body().find("\"sorted\":true") != std::string::npos;
    };
    const Fields json = {{"Accept", "application/json"}};
    const auto first = core::Ref(&ask("GET", "/a/", json)),
               second = core::Ref(&ask("GET", "/a/", json));
    EXPECT_FALSE(is_sorted(*second));
    EXPECT_TRUE(is_sorted(*first));
}

TEST_F(ListingTest, AFolderThatVanishesWhileItIsSentEndsWell) {
    for (int i = 0; i < 2000; ++i) folder_.write("gone/" + std::to_string(i), "x");
    options_.listings.sorted_max = 10;
    auto& answer = ask("GET", "/gone/", {{"Accept", "application/json"}});
    folder_.remove("gone");
    EXPECT_TRUE(answer.finish());
    EXPECT_THAT(answer.body(), HasSubstr("],\"complete\":"));
}

}  // namespace
}  // namespace tiderace::http::listing
