#include "examples/tidepool/pictures/pictures.h"

#include <string>
#include <utility>
#include <vector>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;
using ::testing::HasSubstr;
using ::testing::Not;
using tiderace::testing::ClientResponse;

class PicturesTest : public TidepoolTest {};

TEST_P(PicturesTest, APictureIsServedAsNothingElseAndGoesWithItsPost) {
    if (!pictures_are_built()) GTEST_SKIP() << "without libvips";
    auto ann = member("ann");
    const std::string png = bytes_of(small_png);
    const ClientResponse made = ann->send_file(
        "/posts/with-picture",
        {{"csrf", ann->token()}, {"body", "a crab"}, {"alt", "A crab, \"waving\""}}, png);
    EXPECT_EQ(made.status, 303) << made.text();
    const std::string page = ann->get("/").text();
    EXPECT_THAT(page, HasSubstr("alt=\"A crab, &#34;waving&#34;\""));
    std::smatch found;
    ASSERT_TRUE(
        std::regex_search(page, found, std::regex("src=\"(/pictures/[-0-9a-f]+\\.webp)\"")));
    const std::string path = found[1];
    const ClientResponse file = Browser(*app_).get(path);
    EXPECT_EQ(file.status, 200);
    EXPECT_EQ(file.text().substr(0, 4), "RIFF");
    EXPECT_EQ(file.header("Content-Type"), "image/webp");
    EXPECT_EQ(file.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(file.header("Content-Security-Policy"), "default-src 'none'; sandbox");
    EXPECT_THAT(file.header("Cache-Control"), HasSubstr("immutable"));
    for (const char* other :
         {"/pictures/", "/pictures/x.html", "/pictures/.in-0.webp", "/pictures/a/b.webp"}) {
        EXPECT_EQ(ann->get(other).status, 404) << other;
    }
    EXPECT_EQ(files(), 1U);
    EXPECT_EQ(ann->send("/posts/1/delete", {}).status, 303);
    EXPECT_EQ(files(), 0U);
}

TEST_P(PicturesTest, WhatIsNoPictureIsRefusedAndLeavesNothing) {
    if (!pictures_are_built()) GTEST_SKIP() << "without libvips";
    auto ann = member("ann");
    const std::string png = bytes_of(small_png);
    const std::vector<std::pair<std::string, std::string>> fields = {{"csrf", ann->token()},
                                                                     {"body", "kept words"}};
    const ClientResponse refused =
        ann->send_file("/posts/with-picture", fields, "<html><script>alert(1)</script>");
    EXPECT_EQ(refused.status, 422);
    EXPECT_THAT(refused.text(), HasSubstr("no JPEG, PNG, WebP or GIF"));
    EXPECT_THAT(refused.text(), HasSubstr("kept words"));
    EXPECT_EQ(ann->send_file("/posts/with-picture", fields, png.substr(0, 50)).status, 422);
    const ClientResponse large =
        ann->send_file("/posts/with-picture", fields, png + std::string(picture_bytes_max, 'x'));
    EXPECT_EQ(large.status, 422);
    EXPECT_THAT(large.text(), HasSubstr("more than 8 MB"));
    EXPECT_EQ(ann->send_file("/posts/with-picture", {{"body", "x"}}, png).status, 403)
        << "without the token";
    EXPECT_EQ(
        ann->send_file("/posts/with-picture", {{"csrf", ann->token()}, {"body", ""}}, png).status,
        422);
    EXPECT_EQ(ann->send_file("/posts/with-picture",
                             {{"csrf", ann->token()}, {"body", "x"}, {"parent", "99"}}, png)
                  .status,
              404);
    Browser guest(*app_);
    EXPECT_EQ(guest.send_file("/posts/with-picture", fields, png).status, 403);
    EXPECT_EQ(files(), 0U);
    EXPECT_EQ(count(ann->get("/").text(), "<article"), 0U);
}

TEST_P(PicturesTest, AFaceIsShownReplacedAndRemoved) {
    if (!pictures_are_built()) GTEST_SKIP() << "without libvips";
    auto ann = member("ann");
    auto bob = member("bob");
    const std::string png = bytes_of(small_png);
    const std::string post = ann->write("with a face");
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(ann->send_file("/settings/face", {{"csrf", ann->token()}}, png).status, 303);
        EXPECT_EQ(files(), 1U);
    }
    for (const std::string& path :
         {std::string("/members/ann"), "/posts/" + post, std::string("/search?q=ann")}) {
        EXPECT_THAT(bob->get(path).text(), HasSubstr("<img src=\"/pictures/")) << path;
    }
    EXPECT_EQ(ann->send_file("/settings/face", {{"csrf", ann->token()}}, "text").status, 422);
    EXPECT_EQ(ann->send("/settings/face/remove", {}).status, 303);
    EXPECT_EQ(files(), 0U);
    // With an account go its face and the pictures of all that it wrote, and no others.
    ann->send_file("/settings/face", {{"csrf", ann->token()}}, png);
    bob->send_file("/posts/with-picture",
                   {{"csrf", bob->token()}, {"body", "me too"}, {"parent", post}}, png);
    ann->send_file("/posts/with-picture", {{"csrf", ann->token()}, {"body", "mine"}}, png);
    EXPECT_EQ(files(), 3U);
    EXPECT_EQ(ann->send("/settings/delete", {{"password", std::string(password)}}).status, 303);
    EXPECT_EQ(files(), 1U) << "the one of bob's reply, which stays";
}

TEST_P(PicturesTest, WithoutAFolderTheFormSaysThatPicturesAreOff) {
    const http::App without = make_app(*db_, TIDEPOOL_FOLDER);
    Browser ann(without, "ann");
    EXPECT_EQ(ann.sign_up().status, 303);
    EXPECT_THAT(ann.get("/").text(), HasSubstr("Pictures are off"));
    EXPECT_THAT(ann.get("/").text(), Not(HasSubstr("type=\"file\"")));
    EXPECT_EQ(ann.send_file("/posts/with-picture", {{"csrf", ann.token()}, {"body", "x"}},
                            bytes_of(small_png))
                  .status,
              422);
}

INSTANTIATE_TEST_SUITE_P(Databases, PicturesTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
