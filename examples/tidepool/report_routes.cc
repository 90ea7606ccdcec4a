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

Task<Page> show_reports(Moderator visitor, Query<BeforePost> from, Site& site) {
    Posts posts = co_await site.posts.reported(from->before.value_or(newest));
    const std::string next = posts.next.empty() ? "" : "/reports?before=" + posts.next;
    ReportsPage shown{.frame = visitor.frame(),
                      .posts = std::move(posts.posts),
                      .next = next,
                      .empty = visitor.words().report.none};
    co_return page<"reports.html">(std::move(shown));
}

Task<Answer> dismiss(std::int64_t id, Sent<PressForm, Moderator>, Site& site) {
    co_await site.posts.dismiss_reports(id);
    co_return std::unexpected(Redirect{"/reports"});
}

Task<Answer> remove(std::int64_t id, Sent<PressForm, Moderator>, Site& site) {
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
