#include "server/nginx/location_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config_fixture.h"

namespace tiderace::server::nginx {
namespace {

class LocationOrder : public ::testing::Test {
  protected:
    Scope& add(std::string path, const std::string& key, const std::string& value) {
        routes_.emplace_back(config::TableKind::route, std::move(path), around_);
        routes_.back().set(key, value);
        return routes_.back();
    }
    // "path: lines" of each.
    std::string kept(const std::vector<std::string>& firm = {}) {
        keep_order(site_, routes_, firm);
        std::string text;
        for (const Scope& each : routes_) {
            for (const char* const key : {"priority", "root"}) {
                if (each.has(key)) text += each.path() + " " + key + "\n";
            }
        }
        return text;
    }
    void give_root() { site_.take({.name = "root", .words = {"/www"}, .file = {}, .block = {}}); }

    const config::Memory memory_;
    const config::DocumentWorld world_ = memory_.world();
    Surroundings around_{.world = world_, .folder = "/n/", .upstreams = {}};
    Scope site_{config::TableKind::site, "", around_};
    std::vector<Scope> routes_;
};

TEST_F(LocationOrder, APrefixThatIsFirmCountsBeforeExpressions) {
    add("/a", "respond", "\"a\"");
    add("/b", "respond", "\"b\"");
    add("=/a/x", "respond", "\"c\"");
    EXPECT_EQ(kept({"/a"}), "") << "no expressions";
    add("~\\.x$", "respond", "\"d\"");
    EXPECT_EQ(kept({"/a"}), "/a priority\n=/a/x priority\n");
    EXPECT_FALSE(around_.has_dropped);
}

TEST_F(LocationOrder, OneWithALooserOneInsideIsReported) {
    add("/a", "respond", "\"a\"");
    add("/a/b", "respond", "\"b\"");
    add("*.php", "respond", "\"d\"");
    EXPECT_EQ(kept({"/a"}), "");
    EXPECT_TRUE(around_.has_dropped);
    EXPECT_THAT(routes_[0].comments(), ::testing::HasSubstr("^~"));
}

TEST_F(LocationOrder, FilesInThePlaceOfAnAnswerSayWhereTheyAre) {
    give_root();
    add("/old", "redirect", "\"/new\"");
    add("/old/files", "cache_control", "\"no-cache\"");
    add("/other", "cache_control", "\"no-cache\"");
    add("~\\.css$", "cache_control", "\"no-cache\"");
    add("/private", "deny", "403");
    EXPECT_EQ(kept(), "/old/files root\n~\\.css$ root\n");
}

TEST_F(LocationOrder, WhatDeniesStands) {
    give_root();
    add("~\\.css$", "cache_control", "\"no-cache\"");
    add("/private", "deny", "403");
    add("/gone", "status", "403");
    add("~\\.php$", "fastcgi", "\"a:1\"");
    EXPECT_EQ(kept(), "");
}

}  // namespace
}  // namespace tiderace::server::nginx
