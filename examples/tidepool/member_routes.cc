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

Task<Page> show_profile(Visitor visitor, std::string username, Query<BeforePost> from, Site& site) {
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

template <bool followers>
Task<Page> show_people(Visitor visitor, std::string username, Query<FromPerson> query, Site& site) {
    const auto profile = co_await site.members.profile(visitor.id(), username);
    if (!profile) co_return not_found(visitor);
    std::string from = query->from.value_or("");
    Task<People> work = followers
                            ? site.members.followers(visitor.id(), profile->id, std::move(from))
                            : site.members.following(visitor.id(), profile->id, std::move(from));
    People found = co_await std::move(work);
    const MemberWords& words = visitor.words().member;
    const std::string path =
        "/members/" + profile->username + (followers ? "/followers" : "/following");
    PeoplePage shown{
        .frame = visitor.frame(),
        .title = profile->name + " · " + std::string(followers ? words.followers : words.following),
        .people = std::move(found.people),
        .next = found.next.empty() ? "" : path + "?from=" + found.next};
    co_return page<"people.html">(std::move(shown));
}

// follow, unfollow, mute, unmute, block and unblock differ only in what they do.
using Change = Task<bool> (Members::*)(std::int64_t viewer, std::string username);

template <Change change>
Task<Answer> press(std::string username, Sent<PressForm> sent, Site& site) {
    const bool known = co_await (site.members.*change)(sent.visitor.id(), username);
    if (!known) co_return not_found(sent.visitor);
    co_return std::unexpected(Redirect{"/members/" + username});
}

Task<Answer> show_notifications(Member visitor, Site& site) {
    NotificationsPage shown{visitor.frame(), {}};
    shown.notifications = co_await site.members.notifications(visitor.id(), visitor.words());
    // Showing them marks them as seen; the frame was made before that.
    shown.frame.unseen = 0;
    co_return page<"notifications.html">(std::move(shown));
}

}  // namespace

void add_member_routes(App& app) {
    app.get<"/members/{username}">(show_profile);
    app.get<"/members/{username}/followers">(show_people<true>);
    app.get<"/members/{username}/following">(show_people<false>);
    add_press<"/members/{username}/follow">(app, press<&Members::follow>);
    add_press<"/members/{username}/unfollow">(app, press<&Members::unfollow>);
    add_press<"/members/{username}/mute">(app, press<&Members::mute>);
    add_press<"/members/{username}/unmute">(app, press<&Members::unmute>);
    add_press<"/members/{username}/block">(app, press<&Members::block>);
    add_press<"/members/{username}/unblock">(app, press<&Members::unblock>);
    app.get<"/notifications">(show_notifications);
}

}  // namespace tidepool
