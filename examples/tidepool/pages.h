// The values for the templates: one struct for each page, checked against its template when the
// program starts. Texts are as members wrote them; the templates escape them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tidepool/post_text.h"
#include "examples/tidepool/words.h"

namespace tidepool {

using Time = std::chrono::sys_seconds;

inline Time now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

struct Viewer {
    std::int64_t id;
    std::string username;
    std::string name;
    std::string login;     // this log-in, among others of the member
    std::int64_t used_at;  // seconds since 1970
    std::int64_t unseen;   // notices
};

// The frame of every page around its content.
struct Frame {
    const Words* words;
    std::optional<Viewer> viewer;
    std::string csrf;
    std::string path;
    std::string query = {};
    std::string notice = {};
    std::int64_t unseen = 0;
    bool moderator = false;
    bool outage = false;    // shown without looking up the visitor
    bool pictures = false;  // forms take them
    std::string back = {};  // where forms that lead back to this page lead: its path with its query
    std::string form = {};  // of the form for a post: one press, one post (posts.h, Draft::form)
};

struct PostView {
    std::int64_t id;
    Time created_at;
    bool edited;
    std::optional<std::int64_t> parent;
    std::string username;
    std::string name;
    std::string initial;
    std::int64_t hue;
    std::string face;  // the name of a picture; "": none
    std::vector<Part> parts;
    std::string picture;
    std::string picture_alt;
    std::int64_t picture_width;
    std::int64_t picture_height;
    std::int64_t likes;
    std::int64_t replies;
    bool liked;
    bool own;
    std::int64_t reports = 0;  // by as many members; on the page of reports alone
};

// A page of a list, newest first.
struct Posts {
    std::vector<PostView> posts;
    std::string next = {};        // the address of the older posts; "": there are none
    std::string_view empty = {};  // the sentence shown instead of posts
};

struct Person {
    std::string username;
    std::string name;
    std::string initial;
    std::int64_t hue;
    std::string face;
};

struct LandingPage {
    Frame frame;
};
struct AboutPage {
    Frame frame;
};
struct FaultPage {
    Frame frame;
    std::string title;
    std::string explanation;
    std::string draft = {};  // what the visitor wrote for a page that is not there
};
struct SignUpFaults {
    std::string name;
    std::string username;
    std::string email;
    std::string password;
    std::string again;
    bool operator==(const SignUpFaults&) const = default;
};
struct SignUpPage {
    Frame frame;
    std::string name = {};
    std::string username = {};
    std::string email = {};
    SignUpFaults faults = {};
    bool in_clear = false;  // this browser will drop the log-in (keeps_no_log_in)
};
struct LogInPage {
    Frame frame;
    std::string back = {};   // where the visitor goes then; "/" for ""
    std::string draft = {};  // what the visitor wrote for that page, and could not send
    bool in_clear = false;   // this browser will drop the log-in (keeps_no_log_in)
    std::string who = {};
    std::string fault = {};
};
struct FeedPage {
    Frame frame;
    std::string draft;
    std::string fault;
    std::vector<PostView> posts;
    std::string next;
    std::string_view empty;
};
struct ThreadPage {
    Frame frame;
    std::string draft;  // of a reply
    std::string fault;
    bool removed;  // then `post` is none, and `posts` are the replies that it left
    PostView post;
    std::vector<PostView> posts;
    std::string next;
    std::string_view empty;
};
struct EditPage {
    Frame frame;
    std::int64_t id;
    std::string body;
    std::string fault = {};
};
struct SearchPage {
    Frame frame;
    std::vector<Person> people;
    std::vector<PostView> posts;
    std::string next;
    std::string_view empty;
};
// Posts that members reported, for moderators.
struct ReportsPage {
    Frame frame;
    std::vector<PostView> posts;
    std::string next;
    std::string_view empty;
};
struct TagPage {
    Frame frame;
    std::string tag;
    std::vector<PostView> posts;
    std::string next;
    std::string_view empty;
};

}  // namespace tidepool
