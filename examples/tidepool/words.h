// The texts of the pages, in each language. A member of Words is a text in the templates: a name
// that is not here is a fault when the program starts.
#pragma once

#include <string_view>

namespace tidepool {

struct LanguageWords {
    std::string_view code;
    std::string_view other;
    std::string_view other_name;
};
struct FrontWords {
    std::string_view tagline;
    std::string_view lead;
    std::string_view why;
    std::string_view point_1;
    std::string_view point_1_more;
    std::string_view point_2;
    std::string_view point_2_more;
    std::string_view point_3;
    std::string_view point_3_more;
};
struct MenuWords {
    std::string_view skip;
    std::string_view menu;
    std::string_view home;
    std::string_view feed;
    std::string_view search;
    std::string_view profile;
    std::string_view settings;
    std::string_view about;
    std::string_view notifications;
    std::string_view log_in;
    std::string_view log_out;
    std::string_view sign_up;
    std::string_view join;
    std::string_view have_account;
    std::string_view no_account;
};
struct FormWords {
    std::string_view name;
    std::string_view name_hint;
    std::string_view username;
    std::string_view username_hint;
    std::string_view username_taken;
    std::string_view email;
    std::string_view email_hint;
    std::string_view email_wrong;
    std::string_view email_taken;
    std::string_view username_or_email;
    std::string_view password;
    std::string_view password_hint;
    std::string_view password_again;
    std::string_view passwords_differ;
    std::string_view wrong_log_in;
    std::string_view too_many_tries;
    std::string_view logged_out;
    std::string_view in_clear;
};
struct PostWords {
    std::string_view whats_up;
    std::string_view post;
    std::string_view post_hint;
    std::string_view post_empty;
    std::string_view your_text;
    std::string_view posts;
    std::string_view new_posts;
    std::string_view older;
    std::string_view nothing_here;
    std::string_view nothing_found;
    std::string_view not_posted_yet;
    std::string_view no_replies;
    std::string_view nobody;
    std::string_view members;
    std::string_view edited;
    std::string_view in_reply;
    std::string_view like;
    std::string_view reply;
    std::string_view replies;
    std::string_view more;
    std::string_view edit;
    std::string_view delete_post;
    std::string_view removed;
    std::string_view report;
    std::string_view reported;
    std::string_view text;
    std::string_view save;
    std::string_view saved;
    std::string_view cancel;
    std::string_view sure;
    std::string_view just_now;
};
struct PictureWords {
    std::string_view add;
    std::string_view file;
    std::string_view hint;
    std::string_view alt;
    std::string_view alt_hint;
    std::string_view off;
    std::string_view too_large;
    std::string_view unknown;
    std::string_view too_many;
    std::string_view broken;
    std::string_view busy;
    std::string_view face;
    std::string_view remove_face;
};
struct MemberWords {
    std::string_view since;
    std::string_view follow;
    std::string_view unfollow;
    std::string_view following;
    std::string_view followers;
    std::string_view block;
    std::string_view unblock;
    std::string_view mute;
    std::string_view unmute;
    std::string_view edit_profile;
};
struct NoticeWords {
    std::string_view no_notifications;
    std::string_view liked_your_post;
    std::string_view replied_to_you;
    std::string_view mentioned_you;
    std::string_view follows_you;
};
struct ReportWords {
    std::string_view reports;
    std::string_view none;
    std::string_view times;
    std::string_view dismiss;
    std::string_view remove_post;
};
struct SettingsWords {
    std::string_view about_you;
    std::string_view change_password;
    std::string_view old_password;
    std::string_view old_password_wrong;
    std::string_view new_password;
    std::string_view password_changed;
    std::string_view logged_in_at;
    std::string_view last_used;
    std::string_view this_one;
    std::string_view log_out_elsewhere;
    std::string_view hidden;
    std::string_view muted;
    std::string_view blocked;
    std::string_view your_data;
    std::string_view export_data;
    std::string_view delete_account;
    std::string_view delete_account_hint;
};
struct AboutWords {
    std::string_view about_1;
    std::string_view about_2;
    std::string_view about_3;
};
struct FaultWords {
    std::string_view not_found;
    std::string_view not_found_more;
    std::string_view refused;
    std::string_view refused_more;
    std::string_view broken;
    std::string_view broken_more;
    std::string_view busy;
    std::string_view busy_more;
    std::string_view away;
    std::string_view away_more;
};

struct Words {
    LanguageWords language;
    FrontWords front;
    MenuWords menu;
    FormWords form;
    PostWords post;
    PictureWords picture;
    MemberWords member;
    NoticeWords notice;
    ReportWords report;
    SettingsWords settings;
    AboutWords about;
    FaultWords fault;
};

// English unless `language` begins with zh: a cookie's word, or an Accept-Language field.
const Words& words_in(std::string_view language);

}  // namespace tidepool
