#include "server/config/key_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "server/config/config.h"
#include "server/config/config_fixture.h"

namespace tiderace::server::config {
namespace {

TEST(KeyTexts, EachKeyThatWorksHasAMeaningAFormAndAnExample) {
    for (const Key& key : keys()) {
        if (!key.later.empty()) continue;
        const KeyFacts facts = facts_of(key);
        const std::string name = std::string(title_of(key.in)) + " " + std::string(key.name);
        EXPECT_FALSE(facts.about.empty()) << name << ": give it a line in key_texts.cc";
        EXPECT_FALSE(facts.schema.empty()) << name;
        // These have tables of their own, whose keys have examples.
        const bool has_table = key.in == TableKind::top || key.name == "certificate";
        EXPECT_TRUE(has_table || !facts.example.empty()) << name;
    }
}

TEST(KeyTexts, WhatAFlagSaysIsTakenFromIt) {
    const KeyFacts timeout = facts_of(*find_key(TableKind::limits, "header_timeout"));
    EXPECT_EQ(timeout.about, "for a whole request head");
    EXPECT_EQ(timeout.initial, "\"10s\"");
    EXPECT_EQ(timeout.example, "\"10s\"");
    EXPECT_EQ(timeout.nginx, "client_header_timeout");
    const KeyFacts threads = facts_of(*find_key(TableKind::server, "threads"));
    EXPECT_EQ(threads.initial, "");
    EXPECT_EQ(threads.unset, "one per CPU");
    const KeyFacts names = facts_of(*find_key(TableKind::server, "name_field"));
    EXPECT_EQ(names.initial, "true") << "the key says what the server does, not the flag";
    const KeyFacts format = facts_of(*find_key(TableKind::log, "format"));
    EXPECT_EQ(format.initial, "\"combined\"");
}

TEST(KeyTexts, ARouteHasWhatTheSiteHasButNotItsDefault) {
    const KeyFacts in_site = facts_of(*find_key(TableKind::site, "compress"));
    const KeyFacts in_route = facts_of(*find_key(TableKind::route, "compress"));
    EXPECT_EQ(in_route.about, in_site.about);
    EXPECT_FALSE(in_site.initial.empty());
    EXPECT_TRUE(in_route.initial.empty());
}

}  // namespace
}  // namespace tiderace::server::config
