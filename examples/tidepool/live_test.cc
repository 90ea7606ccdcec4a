// Live notices by socket and by event stream, in memory, on each kind of database.

#include "examples/tidepool/live.h"

#include <chrono>
#include <string>
#include <vector>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace std::chrono_literals;
using namespace tiderace;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Socket = tiderace::testing::WebSocket;

class LiveTest : public TidepoolTest {
  protected:
    // One turn of everything that waits for less than a wake's pauses.
    std::vector<std::string> come(Browser& browser, Socket& socket) {
        std::vector<std::string> texts;
        for (int i = 0; i < 6; ++i) {
            browser.client().advance(500ms);
            while (auto message = socket.receive()) texts.push_back(message->text());
        }
        return texts;
    }
    static Socket page_of(Browser& browser) { return browser.client().websocket("/live"); }
};

INSTANTIATE_TEST_SUITE_P(On, LiveTest, each_database, name_of_database);

// All browsers of a test are one App's loop each; what one does reaches the others by the hub.
TEST_P(LiveTest, ANoticeArrivesInThePageThatIsOpen) {
    auto ann = member("ann", "Ann");
    auto bob = member("bob", "Bob");
    const std::string post = ann->write("a shore");
    auto socket = page_of(*ann);
    ASSERT_EQ(socket.status(), 101);
    EXPECT_THAT(come(*ann, socket), ElementsAre(HasSubstr("\"unseen\":0")));
    bob->send("/posts/" + post + "/like", {});
    EXPECT_THAT(come(*ann, socket), Contains(HasSubstr("\"unseen\":1,\"what\":\"Bob likes")));
    bob->write("an answer", post);
    EXPECT_THAT(come(*ann, socket), Contains(HasSubstr("\"unseen\":2")));
    bob->send("/members/ann/follow", {});
    EXPECT_THAT(come(*ann, socket), Contains(HasSubstr("\"unseen\":3")));
    bob->write("hello @ann");
    EXPECT_THAT(come(*ann, socket), Contains(HasSubstr("\"unseen\":4")));
    ann->get("/notifications");
    EXPECT_THAT(come(*ann, socket), Contains(HasSubstr("\"unseen\":0")));
}

TEST_P(LiveTest, NewPostsAreToldToThoseWhoFollow) {
    auto ann = member("ann");
    auto bob = member("bob");
    auto eve = member("eve");
    ann->send("/members/bob/follow", {});
    auto of_ann = page_of(*ann);
    auto of_eve = page_of(*eve);
    come(*ann, of_ann);
    come(*eve, of_eve);
    bob->write("new here");
    EXPECT_THAT(come(*ann, of_ann), ElementsAre(HasSubstr("\"posts\":true")));
    EXPECT_THAT(come(*eve, of_eve), IsEmpty());
}

TEST_P(LiveTest, TheSocketEndsWithItsLogIn) {
    auto ann = member("ann");
    Browser elsewhere(*app_, "ann");
    elsewhere.log_in();
    auto socket = page_of(*ann);
    come(*ann, socket);
    EXPECT_FALSE(socket.ended());
    elsewhere.send("/settings/log-out-elsewhere", {});
    come(*ann, socket);
    EXPECT_TRUE(socket.ended());
    EXPECT_EQ(socket.close_code(), close_logged_out);
}

TEST_P(LiveTest, GuestsAndOtherSitesHearNothing) {
    auto ann = member("ann");
    auto socket = ann->client().websocket("/live", {{"Origin", "https://other.example"}});
    EXPECT_EQ(socket.status(), 403);
    Browser guest(*app_);
    auto of_guest = page_of(guest);
    guest.client().advance(1s);
    EXPECT_FALSE(of_guest.receive());
    EXPECT_TRUE(of_guest.ended());
    EXPECT_EQ(of_guest.close_code(), close_logged_out);
}

TEST_P(LiveTest, AMemberHasAFewPagesAndAnEndedOneLeavesItsPlace) {
    auto ann = member("ann");
    std::vector<Socket> pages;
    for (std::size_t i = 0; i < Wakes::seats_of_member_max; ++i) pages.push_back(page_of(*ann));
    auto refused = page_of(*ann);
    come(*ann, refused);
    EXPECT_EQ(refused.close_code(), close_too_many);
    pages.back().disconnect(true);
    ann->client().advance(1s);
    auto next = page_of(*ann);
    EXPECT_THAT(come(*ann, next), ElementsAre(HasSubstr("\"unseen\":0")));
}

TEST_P(LiveTest, APageThatSpeaksIsClosed) {
    auto ann = member("ann");
    auto socket = page_of(*ann);
    socket.send("anything");
    come(*ann, socket);
    EXPECT_TRUE(socket.ended());
    EXPECT_EQ(socket.close_code(), 1008);
}

TEST_P(LiveTest, WhereNoSocketPassesAnEventStreamSaysTheSame) {
    auto ann = member("ann");
    auto bob = member("bob", "Bob");
    ann->send("/members/bob/follow", {});
    auto events = ann->client().open("/live/events");
    const auto first = events.next_event();
    ASSERT_TRUE(first);
    EXPECT_THAT(first->data, HasSubstr("\"unseen\":0"));
    bob->write("hello @ann");
    std::string seen;
    for (int i = 0; i < 6; ++i) {
        ann->client().advance(500ms);
        while (const auto event = events.next_event()) seen += event->data;
    }
    EXPECT_THAT(seen, HasSubstr("Bob mentioned you"));
    EXPECT_THAT(seen, HasSubstr("\"posts\":true"));
}

TEST_P(LiveTest, TheMutedAreNeitherInTheFeedNorHeard) {
    auto ann = member("ann");
    auto bob = member("bob", "Bob");
    ann->send("/members/bob/follow", {});
    bob->write("before");
    ann->send("/members/bob/mute", {});
    EXPECT_THAT(ann->get("/members/bob").text(), HasSubstr("/members/bob/unmute"));
    auto socket = page_of(*ann);
    come(*ann, socket);
    bob->write("after @ann");
    EXPECT_THAT(come(*ann, socket), IsEmpty());
    EXPECT_EQ(count(ann->get("/").text(), "before"), 0U);
    EXPECT_THAT(ann->get("/members/bob").text(), HasSubstr("before"));
    ann->send("/members/bob/unmute", {});
    EXPECT_EQ(count(ann->get("/").text(), "before"), 1U);
}

TEST_P(LiveTest, TheSameFormMakesOnePostHoweverOftenItComes) {
    auto ann = member("ann");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ann->send("/posts", {{"body", "only once"}, {"form", "f1"}}).status, 303);
    }
    EXPECT_EQ(count(ann->get("/members/ann").text(), "only once"), 1U);
    // Back in a browser shows the old form, with a new text in it.
    ann->send("/posts", {{"body", "something else"}, {"form", "f1"}});
    EXPECT_EQ(count(ann->get("/members/ann").text(), "something else"), 1U);
    EXPECT_THAT(ann->get("/").text(), HasSubstr("name=\"form\""));
}

}  // namespace
}  // namespace tidepool
