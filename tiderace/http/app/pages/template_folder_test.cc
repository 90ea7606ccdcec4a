// TemplateFolder: templates that are wrong, at the start and later; files that change.
#include "tiderace/http/app/pages/template_folder.h"

#include <optional>
#include <string>
#include <variant>

#include "tiderace/http/app/pages/error_page.h"
#include "tiderace/http/app/pages/page_fixture.h"

namespace tiderace::http {
namespace {

using TemplateFolderTest = PagesTest;

TEST_F(TemplateFolderTest, AFaultInATemplateIsSaidAtTheStartWithItsPlace) {
    folder.write("feed.html", "<p>\n<a id={{ name }}>");
    app.templates(folder.path());
    EXPECT_EQ(app.fault(), "templates: " + folder.path() +
                               "/feed.html:2:7: a value that is not in quotes has no safe escaping;"
                               " write id=\"{{ … }}\"\n  <a id={{ name }}>\n        ^");
}

TEST_F(TemplateFolderTest, EveryBrokenTemplateIsSaidOnceAtTheStart) {
    folder.write("layout.html", "{% block %}");
    folder.write("other.html", "<a id={{ name }}>");
    app.templates(folder.path());
    const std::string& said = app.fault();
    const auto times = [&](std::string_view text) {
        std::size_t count = 0;
        for (std::size_t at = said.find(text); at != said.npos; at = said.find(text, at + 1)) {
            ++count;
        }
        return count;
    };
    EXPECT_EQ(times(folder.path() + "/layout.html:1:"), 1u) << said;  // feed.html extends it
    EXPECT_EQ(times(folder.path() + "/other.html:1:"), 1u) << said;
}

TEST_F(TemplateFolderTest, ATemplateThatDoesNotFitItsTypeIsSaidAtTheStart) {
    folder.write("feed.html", "<p>{{ title }}</p>");
    const std::string sentence = "page " + folder.path() +
                                 "/feed.html:1:7: no \"title\"; Feed has name, posts\n"
                                 "  <p>{{ title }}</p>\n        ^";
    // In either order, and wherever in a result the page stands.
    app.get<"/">([]() -> std::optional<PageOf<"feed.html", Feed>> { return {}; });
    app.templates(folder.path());
    EXPECT_EQ(app.fault(), sentence);

    App other;
    other.templates(folder.path());
    other.get<"/">([]() -> task::Task<std::variant<Redirect, PageOf<"feed.html", Feed>>> {
        co_return Redirect{"/"};
    });
    EXPECT_EQ(other.fault(), sentence);
}

TEST_F(TemplateFolderTest, AMissingFolderTemplateOrCallIsSaidAtTheStart) {
    App without;
    without.get<"/">([] { return page<"feed.html">(Feed{}); });
    EXPECT_EQ(without.fault(), "a handler returns a page, but App::templates was not called");
    // Page says neither which template nor which type, but some template it needs.
    App of_any_name;
    of_any_name.get<"/">(
        []() -> task::Task<std::variant<Redirect, Page>> { co_return Redirect{"/"}; });
    EXPECT_EQ(of_any_name.fault(), without.fault());
    App missing;
    missing.templates(folder.path()).get<"/">([] { return page<"fed.html">(Feed{}); });
    EXPECT_EQ(missing.fault(), "page " + folder.path() + "/fed.html: no such template");
    App nowhere;
    nowhere.templates(folder.path() + "/none");
    EXPECT_NE(nowhere.fault().find("No such file"), std::string::npos);
}

TEST_F(TemplateFolderTest, WithoutReloadAChangedFileIsNotRead) {
    app.templates(folder.path());
    app.get<"/">([] { return page<"feed.html">(Feed{"old", {}}); });
    folder.write("layout.html", "<h2>{% block title %}{% endblock %}</h2>");
    EXPECT_EQ(body_of(get("/")), "<h1>old</h1>");
}

TEST_F(TemplateFolderTest, InDevelopmentEachPageSeesWhatChangedAndWhatIsWrong) {
    app.templates(folder.path(), {.reload = true});
    app.get<"/">([] { return page<"feed.html">(Feed{"tide", {}}); });
    app.get<"/new">([] { return page("new.html", Feed{"new", {}}); });
    EXPECT_EQ(body_of(get("/")), "<h1>tide</h1>");
    folder.write("layout.html", "<h2>{% block title %}{% endblock %}</h2>");
    EXPECT_EQ(body_of(get("/")), "<h2>tide</h2>");
    folder.write("new.html", "{{ name }}");
    EXPECT_EQ(body_of(get("/new")), "new");

    folder.write("layout.html", "<h2>{% block <b> %}");
    const std::string broken = get("/");
    EXPECT_EQ(status_of(broken), "500");
    EXPECT_NE(broken.find("/layout.html:1:14: "), std::string::npos) << broken;
    EXPECT_NE(broken.find("  &lt;h2&gt;{% block &lt;b&gt; %}\n               ^"), std::string::npos)
        << broken;
    // It does not fit the type any more.
    folder.write("layout.html", "{{ nothing_of_feed }}");
    EXPECT_NE(get("/").find("nothing_of_feed"), std::string::npos);
    folder.write("layout.html", "<h3>{% block title %}{% endblock %}</h3>");
    EXPECT_EQ(body_of(get("/")), "<h3>tide</h3>");
}

TEST_F(TemplateFolderTest, TheLastGoodVersionServesWhereFaultsAreNotShown) {
    app.templates(folder.path(), {.reload = true, .show_faults = false});
    app.get<"/">([] { return page<"feed.html">(Feed{"tide", {}}); });
    folder.write("layout.html", "{% if %}");
    EXPECT_EQ(body_of(get("/")), "<h1>tide</h1>");
    folder.remove("layout.html");
    EXPECT_EQ(body_of(get("/")), "<h1>tide</h1>");
    folder.write("layout.html", "<h4>{% block title %}{% endblock %}</h4>");
    EXPECT_EQ(body_of(get("/")), "<h4>tide</h4>");
}

TEST_F(TemplateFolderTest, TheErrorPagesOfAMountedAppAreChecked) {
    const auto shop = [] {
        App made;
        made.error_page(
            [](const ErrorAnswer& error) { return page<"fed.html">(Feed{error.title, {}}); });
        return made;
    };
    const std::string sentence = "page " + folder.path() + "/fed.html: no such template";
    App before;
    before.templates(folder.path()).mount("/shop", shop());
    EXPECT_EQ(before.fault(), sentence);
    App after;
    after.mount("/shop", shop()).templates(folder.path());
    EXPECT_EQ(after.fault(), sentence);
    App without;
    without.mount("/shop", shop());
    EXPECT_EQ(without.fault(), "a handler returns a page, but App::templates was not called");
    App both;
    both.templates(folder.path());
    both.get<"/a/{x}">([](std::string) { return "x"; }).group("/bad/");
    App with;
    with.templates(folder.path());
    both.mount("/shop", std::move(with));
    EXPECT_EQ(both.fault(), "group /bad/: a prefix begins with '/' and does not end with one");
}

}  // namespace
}  // namespace tiderace::http
