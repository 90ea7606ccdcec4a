#include "tiderace/text/script_context.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tiderace::text {
namespace {

using State = ScriptContext::State;

ScriptContext after(std::string_view code) {
    ScriptContext context;
    for (const char c : code) context.step(c);
    return context;
}

TEST(ScriptContext, KnowsWhereAScriptIs) {
    struct Row {
        std::string_view code;
        State state;
    };
    for (const auto& [code, state] : {
             Row{"f(", State::code},
             Row{"'a\\'", State::single_quoted},
             Row{"'a\\\\'", State::code},
             Row{"\"'", State::double_quoted},
             Row{"\"'\" + '\"", State::single_quoted},
             Row{"// '", State::line_comment},
             Row{"// '\n", State::code},
             Row{"// \xE2\x80\xA8 '", State::uncertain},
             Row{"/* ' * / ", State::block_comment},
             Row{"/* ' */", State::code},
             Row{"/*/ '", State::block_comment},
             Row{"`'", State::template_literal},
             Row{"`\\``", State::code},
             Row{"`/`* '", State::single_quoted},
             Row{"`${", State::code},
             Row{"`${ {} } '", State::template_literal},
             Row{"`$\\{ '", State::template_literal},
             Row{"`${ `a${ '}' }` }`", State::code},
             Row{"a = /'/", State::code},
             Row{"a = /[/']", State::expression},
             Row{"a = /[/'", State::expression_class},
             Row{"a / b / '", State::single_quoted},
             Row{"a[0] / '", State::single_quoted},
             Row{"return /'", State::expression},
             Row{"a.return / '", State::single_quoted},
             Row{"returned / '", State::single_quoted},
             Row{"(a) / '", State::uncertain},
             Row{"} / '", State::uncertain},
             Row{"a++ / '", State::uncertain},
             Row{"1. / '", State::uncertain},
             Row{"a = /b\n", State::uncertain},
             Row{"'a\n", State::uncertain},
             Row{"-->", State::uncertain},
             Row{"a <! '", State::uncertain},
             Row{"a / /'", State::expression},
         }) {
        EXPECT_EQ(after(code).state(), state) << code;
    }
}

TEST(ScriptContext, AreJoinedUnlessTheyDifferInPlace) {
    ScriptContext context = after("a ");
    EXPECT_TRUE(context.join(after("( ")));
    context.step('/');
    context.step('\'');
    EXPECT_EQ(context.state(), State::uncertain);
    EXPECT_FALSE(after("'").join(after("a")));
    EXPECT_FALSE(after("`${").join(after("`${{")));
}

TEST(ScriptContext, BoundsWhatItRemembers) {
    std::string deep;
    for (std::size_t i = 0; i < ScriptContext::nested_templates_max; ++i) deep += "`${";
    EXPECT_EQ(after(deep).state(), State::code);
    EXPECT_EQ(after(deep + "`${").state(), State::uncertain);
    EXPECT_EQ(after("`${" + std::string(200, '{')).state(), State::uncertain);
}

}  // namespace
}  // namespace tiderace::text
