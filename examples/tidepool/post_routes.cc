// The front page, posts, likes, tags and search.

#include <tiderace/app.h>

#include <charconv>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "examples/tidepool/site.h"

namespace tidepool {

// A text of a member, from one of our pages. A guest, whose log-in ended meanwhile, gets the log-in
// with the text, which is not lost.
template <typename F>
struct Written : Sent<F> {};

}  // namespace tidepool

template <typename F>
struct tiderace::http::FromRequest<tidepool::Written<F>> {
    static std::expected<tidepool::Written<F>, Page> from(tidepool::Visitor visitor, Form<F> form) {
        if (!visitor.is_member()) {
            std::string path = visitor.frame().back;
            if constexpr (requires { form->parent; }) path = tidepool::path_of_form(form->parent);
            std::string text = tidepool::tidied(form->body);
            return std::unexpected(log_in_with(visitor, std::move(path), std::move(text)));
        }
        if (!visitor.sent(form->csrf)) return std::unexpected(refused(visitor));
        return tidepool::Written<F>{{{std::move(visitor)}, *std::move(form)}};
    }
};

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;

namespace {

constexpr std::size_t query_characters_max = 100;

struct From {
    std::optional<std::int64_t> before;
    std::optional<std::int64_t> after;
    std::optional<std::string> notice;
};
struct SearchQuery {
    std::optional<std::string> q;
    std::optional<std::int64_t> before;
};
struct PostForm {
    std::string body;
    std::optional<std::int64_t> parent;
    std::string csrf;
    std::optional<std::string> form;
};
struct EditForm {
    std::string body;
    std::string csrf;
};
struct PostPressForm {
    std::string csrf;
    std::optional<std::string> back;
};

// The link to what is older.
std::string next_of(const std::string& path, const Posts& posts, std::string_view name = "before") {
    if (posts.next.empty()) return {};
    return path + (path.contains('?') ? "&" : "?") + std::string(name) + "=" + posts.next;
}

}  // namespace

namespace {

// The posts of those whom the visitor follows, and the form for a new one.
Task<Page> feed_page(Site& site, const Visitor& visitor, std::int64_t before, Unsent unsent) {
    Posts posts = co_await site.posts.feed(visitor.id(), before);
    FeedPage feed{.frame = visitor.frame(),
                  .draft = std::move(unsent.text),
                  .fault = std::move(unsent.fault),
                  .posts = std::move(posts.posts),
                  .next = next_of("/", posts),
                  .empty = visitor.words().post.nothing_here};
    co_return page<"feed.html">(std::move(feed), Response(unsent.status));
}

// A post with its replies, and the form for one.
Task<Page> thread_page(Site& site, Visitor visitor, std::int64_t id, std::int64_t after,
                       std::string notice, Unsent unsent) {
    auto post = co_await site.posts.find(visitor.id(), id);
    const Words& words = visitor.words();
    Posts replies;
    const bool removed = !post;
    if (removed && unsent.text.empty() && unsent.fault.empty()) {
        replies = co_await site.posts.replies_to_gone(visitor.id(), id, after);
    }
    if (removed && replies.posts.empty()) co_return not_found(visitor, std::move(unsent.text));
    if (!removed && post->replies > 0) {  // most posts have none, and the page one statement less
        replies = co_await site.posts.replies(visitor.id(), id, after);
    }
    ThreadPage thread{.frame = std::move(visitor).take_frame(std::move(notice)),
                      .draft = std::move(unsent.text),
                      .fault = std::move(unsent.fault),
                      .removed = removed,
                      .post = removed ? PostView{.id = id} : std::move(*post),
                      .posts = std::move(replies.posts),
                      .next = next_of("/posts/" + std::to_string(id), replies, "after"),
                      .empty = words.post.no_replies};
    // An answer to a form has the form's address.
    thread.frame.back = "/posts/" + std::to_string(id);
    co_return page<"thread.html">(std::move(thread), Response(unsent.status));
}

}  // namespace

std::string path_of_form(std::optional<std::int64_t> parent) {
    return parent ? "/posts/" + std::to_string(*parent) : "/";
}

Task<Page> unsent_page(Site& site, Visitor visitor, std::string path, Unsent unsent) {
    constexpr std::string_view posts = "/posts/";
    std::int64_t id = 0;
    if (!path.starts_with(posts)) {
        co_return co_await feed_page(site, visitor, newest, std::move(unsent));
    }
    const auto read = std::from_chars(path.data() + posts.size(), path.data() + path.size(), id);
    const std::string_view rest(read.ptr, path.data() + path.size());
    if (read.ec == std::errc() && rest.empty()) {
        co_return co_await thread_page(site, std::move(visitor), id, 0, "", std::move(unsent));
    }
    const bool edits = read.ec == std::errc() && rest == "/edit";
    if (!edits || !co_await site.posts.text(visitor.id(), id)) {
        co_return not_found(visitor, std::move(unsent.text));
    }
    EditPage again{visitor.frame(), id, std::move(unsent.text), std::move(unsent.fault)};
    again.frame.back = path;
    co_return page<"edit.html">(std::move(again), Response(unsent.status));
}

namespace {

Task<Page> show_front(Visitor visitor, Query<From> from, Site& site) {
    if (!visitor.is_member()) co_return page<"landing.html">(LandingPage{visitor.frame()});
    co_return co_await feed_page(site, visitor, from->before.value_or(newest), Unsent());
}

Task<Answer> add_post(Written<PostForm> written, Site& site) {
    auto& [visitor, form] = written;
    Draft draft{.body = tidied(form.body), .parent = form.parent, .form = form.form.value_or("")};
    // With what was written: a draft must not be lost to a fault. In the form that it came from: a
    // reply is not to become a post of its own.
    if (!is_body(draft.body)) {
        Unsent unsent{draft.body, std::string(visitor.words().post.post_empty), 422};
        co_return co_await unsent_page(site, std::move(visitor), path_of_form(draft.parent),
                                       std::move(unsent));
    }
    std::string text = draft.body;
    const auto added = co_await site.posts.add(visitor.id(), std::move(draft));
    if (!added) co_return not_found(visitor, std::move(text));
    co_return std::unexpected(to_post(*added));
}

Task<Page> show_post(Visitor visitor, std::int64_t id, Query<From> from, Site& site) {
    std::string notice = notice_named(from->notice.value_or(""), visitor.words());
    co_return co_await thread_page(site, std::move(visitor), id, from->after.value_or(0),
                                   std::move(notice), Unsent());
}

Task<Answer> show_edit(Member visitor, std::int64_t id, Site& site) {
    auto body = co_await site.posts.text(visitor.id(), id);
    if (!body) co_return not_found(visitor);
    co_return page<"edit.html">(EditPage{visitor.frame(), id, std::move(*body)});
}

Task<Answer> edit_post(std::int64_t id, Written<EditForm> written, Site& site) {
    const Member& visitor = written.visitor;
    std::string body = tidied(written.form.body);
    if (!is_body(body)) {
        EditPage again{visitor.frame(), id, std::move(body),
                       std::string(visitor.words().post.post_empty)};
        co_return page<"edit.html">(std::move(again), Response(422));
    }
    // Also a post of another member: which numbers exist is not shown to forged forms.
    if (!co_await site.posts.edit(visitor.id(), id, std::move(body))) co_return not_found(visitor);
    co_return std::unexpected(Redirect{"/posts/" + std::to_string(id)});
}

Task<Answer> delete_post(std::int64_t id, Sent<PostPressForm> sent, Site& site) {
    auto pictures = co_await site.posts.remove(sent.visitor.id(), id);
    if (!pictures) co_return not_found(sent.visitor);
    // After the commit: files that went before it could not come back with a transaction that
    // fails.
    co_await site.pictures.remove(std::move(*pictures));
    co_return std::unexpected(Redirect{"/"});
}

Task<Answer> report_post(std::int64_t id, Sent<PostPressForm> sent, Site& site) {
    // Only what the visitor can see can be reported, or a report would show that a hidden post
    // exists.
    const auto post = co_await site.posts.find(sent.visitor.id(), id);
    if (!post) co_return not_found(sent.visitor);
    // Named: with both awaits in conditions, g++ 12 laid out this frame wrongly.
    const bool reported = co_await site.posts.report(sent.visitor.id(), id);
    if (!reported) co_return not_found(sent.visitor);
    co_return std::unexpected(Redirect{"/posts/" + std::to_string(id) + "?notice=reported"});
}

// To a page of a form, back to it; to the script of a page, the new number.
using Pressed = std::variant<Json<Liked>, Page, Redirect>;

template <bool liked>
Task<Pressed> press(std::int64_t id, Sent<PostPressForm> sent, const Request& request, Site& site) {
    // Without scripts the button is a form, whose Accept begins with text/html.
    const bool script = request.header("Accept").starts_with("application/json");
    const auto now = co_await site.posts.like(sent.visitor.id(), id, liked);
    if (!now) co_return not_found(sent.visitor);
    if (script) co_return Json<Liked>(*now);
    co_return Redirect{own_path(sent.form.back.value_or("/")) + "#post-" + std::to_string(id)};
}

Task<Page> show_tag(Visitor visitor, std::string tag, Query<From> from, Site& site) {
    // Tags are stored so; the letters beyond ASCII stay as they are in both.
    tag = small_letters(tag);
    Posts posts = co_await site.posts.with_tag(visitor.id(), tag, from->before.value_or(newest));
    TagPage found{.frame = visitor.frame(),
                  .tag = tag,
                  .posts = std::move(posts.posts),
                  .next = next_of("/tags/" + escaped(tag), posts),
                  .empty = visitor.words().post.nothing_found};
    co_return page<"tag.html">(std::move(found));
}

Task<Answer> search(Member visitor, Query<SearchQuery> query, Site& site) {
    const std::string words = tidied(query->q.value_or(""));
    SearchPage found{.frame = visitor.frame_for_search(words),
                     .people = {},
                     .posts = {},
                     .next = {},
                     .empty = visitor.words().post.nothing_found};
    // A longer text finds nothing: each word is one more condition of the statement.
    if (!words.empty() && count_characters(words) <= query_characters_max) {
        found.people = co_await site.members.search(visitor.id(), words);
        Posts posts =
            co_await site.posts.with_words(visitor.id(), words, query->before.value_or(newest));
        found.posts = std::move(posts.posts);
        found.next = next_of("/search?q=" + escaped(words), posts);
    }
    co_return page<"search.html">(std::move(found));
}

}  // namespace

void add_post_routes(App& app) {
    constexpr SharedLimits::Rate searches{.per_minute = 60, .burst = 30};
    const auto writing = [] { return rate_limit(write_rate); };
    const auto everywhere = [] { return shared_rate_limit("write", write_rate); };
    app.get<"/">(show_front);
    app.post<"/posts">(add_post, writing(), everywhere());
    app.get<"/posts/{id}">(show_post);
    app.get<"/posts/{id}/edit">(show_edit);
    app.post<"/posts/{id}/edit">(edit_post, writing(), everywhere());
    add_press<"/posts/{id}/delete">(app, delete_post);
    app.post<"/posts/{id}/report">(report_post, writing(), everywhere());
    add_press<"/posts/{id}/like">(app, press<true>);
    add_press<"/posts/{id}/unlike">(app, press<false>);
    app.get<"/tags/{tag}">(show_tag);
    app.get<"/search">(search, rate_limit(searches), shared_rate_limit("search", searches));
}

}  // namespace tidepool
