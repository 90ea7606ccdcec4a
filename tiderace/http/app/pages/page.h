// Page: an answer that a template of the App makes of a value.
//
//   struct Feed { std::string name; std::vector<Post> posts; };
//
//   app.templates("templates");                             // a folder of .html and .txt files
//   app.get<"/">([] { return page<"feed.html">(Feed{…}); });
//   return page<"sign_in.html">(SignIn{"wrong"}, Response(403));    // status, headers …
//
//   App::templates(), serve() --> all compiled; each PageOf that a route returns checked
//                                   \-> a fault: one sentence with file, line and caret; no start
//   request -> handler -> value -> template -> escaped by place -> answer
//
// The check at start sees the result types of handlers and error pages. PageOf<"feed.html", Feed>,
// which page<"feed.html">(Feed) makes, names template and type, also inside a Task, optional,
// expected or variant. Page names neither: it holds any page, also one of page("feed.html", …),
// whose name is made at run time. For it the start checks only that there are
// templates; that it exists and fits the value is seen when it is shown. So a handler with a
// declared result is checked if it declares
//
//   Task<std::variant<PageOf<"sign_in.html", SignIn>, Redirect>>        and not <Page, Redirect>
//
// Owner    The handler, until it is returned; it owns its value.
// Thread   The loop's.
// Errors   A template that cannot show the value (the check at start finds that for a PageOf,
//          except in text::Value) is answered with 500 and one entry of the log.
// Memory   One allocation for the value and the response. The text is made in room that the loop
//          keeps up to 64 KiB.
// Keywords: server-side rendering, HTML
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/http/app/results.h"
#include "tiderace/http/response.h"
#include "tiderace/http/route/pattern.h"
#include "tiderace/text/filter.h"
#include "tiderace/text/type_of.h"

namespace tiderace::http {

struct TemplateOptions {
    // For development: each page sees what has changed in the folder since the page before it. A
    // template with a fault does not take the place of its last good version. (Reads all files and
    // takes a lock for each page.)
    bool reload = false;
    // For development: while a template has a fault, each page is an error page with the file, the
    // line and the caret, which shows the source to strangers.
    bool show_faults = reload;
    std::vector<text::Filter> filters = {};  // the user's own
};

class Page {
  public:
    // `response` gives status, headers and cookies.
    template <typename T>
    Page(std::string_view name, T value, Response response = Response())
        : Page(std::make_unique<ContentOf<T>>(name, std::move(value), std::move(response))) {}

    void answer(Exchange& exchange, task::Runner& runner) &&;
    // It may be any page, but needs the templates of one.
    static app_parts::PageUse use() { return {{}, nullptr}; }
    // All of it; nullopt: the template cannot show the value, which is logged.
    std::optional<Response> make(task::Runner& runner) &&;

  protected:
    // On its way from the handler to the answer a page is moved several times, so all of it is
    // behind one pointer.
    struct Content {
        Content(std::string_view template_name, Response&& given)
            : name(template_name), response(std::move(given)) {}
        virtual ~Content() = default;

        std::string name;
        Response response;
        text::Ref value = {};
    };
    template <typename T>
    struct ContentOf final : Content {
        template <typename V>
        ContentOf(std::string_view template_name, V&& from, Response&& given)
            : Content(template_name, std::move(given)), shown(std::forward<V>(from)) {
            value = text::ref_to(shown);
        }

        const T shown;
    };

    explicit Page(std::unique_ptr<Content> content) : content_(std::move(content)) {}

  private:
    struct Fault {
        std::optional<Response> shown;
    };

    std::optional<Fault> render(std::string& out, task::Runner& runner) const;
    std::string_view type() const;

    std::unique_ptr<Content> content_;
};

// One whose template and type are known when the program starts.
template <route::PatternText name, typename T>
class PageOf : public Page {
  public:
    template <typename V = T>
        requires std::is_same_v<std::remove_cvref_t<V>, T>
    explicit PageOf(V&& value, Response response = Response())
        : Page(std::make_unique<ContentOf<T>>(name.view(), std::forward<V>(value),
                                              std::move(response))) {}

    static app_parts::PageUse use() { return {name.view(), &text::type_of<T>}; }
};

template <route::PatternText name, typename T>
PageOf<name, std::remove_cvref_t<T>> page(T&& value, Response response = Response()) {
    return PageOf<name, std::remove_cvref_t<T>>(std::forward<T>(value), std::move(response));
}
template <typename T>
Page page(std::string_view name, T value, Response response = Response()) {
    return Page(name, std::move(value), std::move(response));
}

}  // namespace tiderace::http
