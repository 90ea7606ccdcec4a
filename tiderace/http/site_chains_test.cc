#include "tiderace/http/site_chains.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tiderace/task/runner.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::http {
namespace {

class Both final : public AccessRule, public ResponseFilter {
  public:
    explicit Both(std::string name) : name_(std::move(name)) {}
    Verdict check(Exchange&) override { return Verdict::pass; }
    void filter(Exchange&, Response&) override {}
    const std::string& name() const { return name_; }

  private:
    std::string name_;
};

class SiteChainsTest : public ::testing::Test {
  protected:
    Setting setting(std::string name, SettingKind kind, bool adds_up = false) {
        Setting made{.kind = kind, .adds_up = adds_up};
        if (name.empty()) return made;
        made.make = [name](LayerPlace&) { return Layer(std::make_shared<Both>(name)); };
        return made;
    }
    std::string chain(std::span<const std::uint32_t> inside) {
        task::Runner runner(world_.loop());
        const States states;
        LayerPlace place{world_.loop(), nullptr, runner, states};
        const SiteChains chains(site_, place);
        const Chain made = chains.chain_of(0, inside);
        std::string text;
        for (AccessRule* rule : made.rules) text += dynamic_cast<Both*>(rule)->name() + "> ";
        for (ResponseFilter* filter : made.filters) {
            text += "<" + dynamic_cast<Both*>(filter)->name() + " ";
        }
        return text;
    }

    testing::FakeWorld world_;
    Site site_;
};

TEST_F(SiteChainsTest, TheInnermostOfAKindStandsInThePlaceOfOthers) {
    site_.scope(0).settings = {setting("outer", SettingKind::password),
                               setting("rate", SettingKind::rate)};
    const std::uint32_t in = site_.add_scope(0, "");
    site_.scope(in).settings = {setting("inner", SettingKind::password)};
    const std::uint32_t off = site_.add_scope(0, "");
    site_.scope(off).settings = {setting("", SettingKind::password)};
    EXPECT_EQ(chain({}), "rate> outer> <outer <rate ") << "in the order of their kinds";
    EXPECT_EQ(chain(std::array{in}), "rate> inner> <inner <rate ");
    EXPECT_EQ(chain(std::array{in, off}), "rate> <rate ");
    EXPECT_EQ(chain(std::array{off, in}), "rate> inner> <inner <rate ");
}

TEST_F(SiteChainsTest, OfThoseThatAddUpTheInnermostIsTheLast) {
    site_.scope(0).settings = {setting("a", SettingKind::fields, true),
                               setting("cors", SettingKind::cors)};
    const std::uint32_t in = site_.add_scope(0, "");
    site_.scope(in).settings = {setting("b", SettingKind::fields, true)};
    EXPECT_EQ(chain(std::array{in}), "a> b> cors> <cors <a <b ");
}

TEST_F(SiteChainsTest, AScopeThatAsksNobodyHasNoRuleOfOthers) {
    site_.scope(0).settings = {setting("a", SettingKind::rate)};
    const std::uint32_t in = site_.add_scope(0, "");
    site_.scope(in).asks_nobody = true;
    site_.scope(in).settings = {setting("b", SettingKind::password)};
    EXPECT_EQ(chain(std::array{in}), "b> <b <a ");
}

}  // namespace
}  // namespace tiderace::http
