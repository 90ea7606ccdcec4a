#include "lab/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

namespace tiderace::lab::engine {
namespace {

TEST(Engines, HaveEachANameOfItsOwn) {
    std::set<std::string_view> names;
    for (const Engine& engine : engines()) {
        EXPECT_TRUE(names.insert(engine.name).second) << engine.name;
        EXPECT_EQ(find_engine(engine.name), &engine);
    }
    EXPECT_EQ(find_engine("auto"), nullptr);
    EXPECT_EQ(find_engine(""), nullptr);
}

TEST(Engines, AreDescribedInThreeSentences) {
    for (const Engine& engine : engines()) {
        const std::string what(engine.what);
        std::size_t sentences = 0;
        for (std::size_t i = 0; i < what.size(); ++i) {
            if (what[i] == '.' && (i + 1 == what.size() || what[i + 1] == ' ')) ++sentences;
        }
        EXPECT_EQ(sentences, 3u) << engine.name << ": " << what;
        EXPECT_TRUE(what.ends_with('.')) << engine.name;
    }
}

TEST(Engines, HoldAllOfCoresThatAreHere) {
    std::istringstream names{std::string(core::engine_names())};
    for (std::string name; names >> name;) {
        const Engine* known = find_engine(name);
        ASSERT_NE(known, nullptr) << name;
        EXPECT_EQ(known->why_absent(), "") << name;
    }
}

TEST(Engines, ThatAreHereMakeTheirLoops) {
    for (const Engine& engine : engines()) {
        if (!engine.why_absent().empty()) continue;
        const auto threading_model = engine.make();
        const auto loops = threading_model->make_loops(2, {.engine = engine.name});
        ASSERT_TRUE(loops.has_value()) << engine.name << ": " << loops.error().message();
        EXPECT_GE((*loops)->size(), 1u) << engine.name;
    }
}

TEST(Engines, ThatAreNotHereSayWhy) {
    std::size_t present = 0;
    for (const Engine& engine : engines()) present += engine.why_absent().empty() ? 1 : 0;
    EXPECT_GE(present, 3u);
    const std::string_view reason = find_engine("kqueue")->why_absent();
#if defined(__linux__)
    EXPECT_FALSE(reason.empty());
    EXPECT_FALSE(reason.ends_with('.'));
#endif
}

}  // namespace
}  // namespace tiderace::lab::engine
