// Profiles, following, blocking, and notifications.

#include <tiderace/app.h>

#include <cstdint>
#include <optional>
#include <string>

#include "examples/tidepool/site.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;

namespace {

Task<Page> show_profile(std::string username, Query<BeforePost> from, const Request& request,
                        Session session, Site& site) {
    const Visitor visitor = co_await Visitor::of(site, session, request);
    auto profile = co_await site.members.profile(visitor.id(), username);
    // Also where the member blocked this visitor, who is not to see the difference.
    if (!profile) co_return not_found(visitor);
    Posts posts =
        co_await site.posts.of_member(visitor.id(), profile->id, from->before.value_or(newest));
    const std::string next =
        posts.next.empty() ? "" : "/members/" + profile->username + "?before=" + posts.next;
    ProfilePage shown{.frame = visitor.frame(),
                      .member = std::move(*profile),
                      .posts = std::move(posts.posts),
                      .next = next,
                      .empty = visitor.words().post.not_posted_yet};
    co_return page<"profile.html">(std::move(shown));
}

Task<Page> show_people(std::string username, bool followers, std::string from,
                       const Request& request, Session session, Site& site) {
    const Visitor visitor = co_await Visitor::of(site, session, request);
    const auto profile = co_await site.members.profile(visitor.id(), username);
    if (!profile) co_return not_found(visitor);
    const Words& words = visitor.words();
    PeoplePage shown{
        .frame = visitor.frame(),
        .title = profile->name + " · " +
                 std::string(followers ? words.member.followers : words.member.following),
        .people = {},
        .next = {}};
    People found;
    if (followers) {
        found = co_await site.members.followers(visitor.id(), profile->id, std::move(from));
    } else {
        found = co_await site.members.following(visitor.id(), profile->id, std::move(from));
    }
    shown.people = std::move(found.people);
    if (!found.next.empty()) {
        shown.next = "/members/" + profile->username + (followers ? "/followers" : "/following") +
                     "?from=" + found.next;
    }
    co_return page<"people.html">(std::move(shown));
}

// follow, unfollow, mute, unmute, block and unblock differ only in what they do.
using Change = Task<bool> (Members::*)(std::int64_t viewer, std::string username);

template <Change change>
Task<Answer> press(std::string username, Form<PressForm> form, const Request& request,
                   Session session, Site& site) {
    const Visitor visitor = co_await Visitor::of(site, session, request);
    if (!visitor.is_member()) co_return std::unexpected(to_log_in(visitor));
    if (!visitor.sent(form->csrf)) co_return refused(visitor);
    if (!co_await (site.members.*change)(visitor.id(), username)) co_return not_found(visitor);
    co_return std::unexpected(Redirect{"/members/" + username});
}

Task<Answer> show_notifications(const Request& request, Session session, Site& site) {
    const Visitor visitor = co_await Visitor::of(site, session, request);
    if (!visitor.is_member()) co_return std::unexpected(to_log_in(visitor));
    NotificationsPage shown{visitor.frame(), {}};
    shown.notifications = co_await site.members.notifications(visitor.id(), visitor.words());
    // Showing them marks them as seen; the frame was made before that.
    shown.frame.unseen = 0;
    co_return page<"notifications.html">(std::move(shown));
}

}  // namespace

void add_member_routes(App& app) {
    app.get<"/members/{username}">(show_profile);
    app.get<"/members/{username}/followers">([](std::string username, Query<FromPerson> query,
                                                const Request& request, Session session,
                                                Site& site) {
        return show_people(std::move(username), true, query->from.value_or(""), request, session,
                           site);
    });
    app.get<"/members/{username}/following">([](std::string username, Query<FromPerson> query,
                                                const Request& request, Session session,
                                                Site& site) {
        return show_people(std::move(username), false, query->from.value_or(""), request, session,
                           site);
    });
    add_press<"/members/{username}/follow">(app, press<&Members::follow>);
    add_press<"/members/{username}/unfollow">(app, press<&Members::unfollow>);
    add_press<"/members/{username}/mute">(app, press<&Members::mute>);
    add_press<"/members/{username}/unmute">(app, press<&Members::unmute>);
    add_press<"/members/{username}/block">(app, press<&Members::block>);
    add_press<"/members/{username}/unblock">(app, press<&Members::unblock>);
    app.get<"/notifications">(show_notifications);
}

}  // namespace tidepool
