// Reports of members, shown to moderators: they keep or remove a post. For other visitors these
// pages do not exist.

#include <tiderace/app.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "examples/tidepool/site.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;

namespace {

Task<Page> show_reports(Query<BeforePost> from, const Request& request, Session session,
                        Site& site) {
    const Visitor visitor = co_await Visitor::of(site, session, request);
    if (!visitor.is_moderator()) co_return not_found(visitor);
    Posts posts = co_await site.posts.reported(from->before.value_or(newest));
    const std::string next = posts.next.empty() ? "" : "/reports?before=" + posts.next;
    ReportsPage shown{.frame = visitor.frame(),
                      .posts = std::move(posts.posts),
                      .next = next,
                      .empty = visitor.words().report.none};
    co_return page<"reports.html">(std::move(shown));
}

Task<Answer> dismiss(std::int64_t id, Form<PressForm> form, const Request& request, Session session,
                     Site& site) {
    const Visitor visitor = co_await Visitor::of(site, session, request);
    if (!visitor.is_moderator()) co_return not_found(visitor);
    if (!visitor.sent(form->csrf)) co_return refused(visitor);
    co_await site.posts.dismiss_reports(id);
    co_return std::unexpected(Redirect{"/reports"});
}

Task<Answer> remove(std::int64_t id, Form<PressForm> form, const Request& request, Session session,
                    Site& site) {
    const Visitor visitor = co_await Visitor::of(site, session, request);
    if (!visitor.is_moderator()) co_return not_found(visitor);
    if (!visitor.sent(form->csrf)) co_return refused(visitor);
    auto pictures = co_await site.posts.remove_reported(id);
    // Nothing: another moderator was faster, or the author removed it.
    if (pictures) co_await site.pictures.remove(std::move(*pictures));
    co_return std::unexpected(Redirect{"/reports"});
}

}  // namespace

void add_report_routes(App& app) {
    app.get<"/reports">(show_reports);
    add_press<"/reports/{id}/dismiss">(app, dismiss);
    add_press<"/reports/{id}/remove">(app, remove);
}

}  // namespace tidepool
