// The values for the templates of the pages about members; pages.h has the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tidepool/pages.h"

namespace tidepool {

struct Profile {
    std::int64_t id;
    std::string username;
    std::string name;
    std::string about;
    Time created_at;
    std::string initial;
    std::int64_t hue;
    std::string face;
    std::int64_t posts;
    std::int64_t following;
    std::int64_t followers;
    bool own;
    bool followed;
    bool blocked;
    bool muted;
};
struct ProfilePage {
    Frame frame;
    Profile member;
    std::vector<PostView> posts;
    std::string next;
    std::string_view empty;
};
struct PeoplePage {
    Frame frame;
    std::string title;
    std::vector<Person> people;
    std::string next;
};
struct Notification {
    Time created_at;
    std::string username;
    std::string name;
    std::string initial;
    std::int64_t hue;
    std::string face;
    std::string what;
    std::optional<std::int64_t> post;
    std::string excerpt;
    bool seen;
};
struct NotificationsPage {
    Frame frame;
    std::vector<Notification> notifications;
};
struct LoginView {
    std::string id;
    std::string device;
    Time created_at;
    Time used_at;
    bool here;  // the current one
};
struct SettingsPage {
    Frame frame;
    std::string name;
    std::string about;
    std::string face;
    std::vector<LoginView> logins;
    bool more_logins = false;  // than the visitor's own
    std::string fault = {};
};

}  // namespace tidepool
