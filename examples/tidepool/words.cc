#include "examples/tidepool/words.h"

namespace tidepool {
namespace {

constexpr Words english = {
    .language =
        {
            .code = "en",
            .other = "zh",
            .other_name = "中文",
        },
    .front =
        {
            .tagline = "What did the tide bring in?",
            .lead = "Tidepool is a small place for short posts: follow the people you care about, "
                    "answer "
                    "them, and find what others wrote.",
            .why = "What it is like here",
            .point_1 = "In order of time",
            .point_1_more =
                "Your feed shows what the people you follow wrote, newest first. Nothing else.",
            .point_2 = "Yours to take away",
            .point_2_more =
                "Edit, delete, export: one button each. Your e-mail address is shown to nobody.",
            .point_3 = "Quick everywhere",
            .point_3_more =
                "Small pages that work on any telephone, with a keyboard, and without scripts.",
        },
    .menu =
        {
            .skip = "Skip to content",
            .menu = "Main menu",
            .home = "Home",
            .feed = "Feed",
            .search = "Search",
            .profile = "Profile",
            .settings = "Settings",
            .about = "About",
            .notifications = "Notices",
            .log_in = "Log in",
            .log_out = "Log out",
            .sign_up = "Sign up",
            .join = "Join Tidepool",
            .have_account = "I have an account",
            .no_account = "I have no account yet",
        },
    .form =
        {
            .name = "Name",
            .name_hint = "As others see it; 1 to 50 characters.",
            .username = "User name",
            .username_hint = "3 to 30 small letters, digits or _.",
            .username_taken = "This user name is taken.",
            .email = "E-mail address",
            .email_hint = "Only for logging in.",
            .email_wrong = "This is no e-mail address.",
            .email_taken = "There is an account with this address.",
            .username_or_email = "User name or e-mail address",
            .password = "Password",
            .password_hint = "At least 8 characters.",
            .password_again = "Password again",
            .passwords_differ = "The two passwords differ.",
            .wrong_log_in = "User name or password is wrong.",
            .too_many_tries = "Too many tries for this account. Wait a minute, then try again.",
            .logged_out = "You are not logged in any more. Log in, and your text is here again.",
            .in_clear =
                "This page came without encryption (http), and your browser keeps no log-in then."
                " Use the address with https.",
        },
    .post =
        {
            .whats_up = "What is new?",
            .post = "Post",
            .post_hint = "#tags and @names become links.",
            .post_empty = "A post has 1 to 2,000 characters.",
            .your_text = "Your text",
            .posts = "Posts",
            .new_posts = "Show new posts",
            .older = "Older",
            .nothing_here = "Nothing here yet. Follow someone, or write the first post.",
            .nothing_found = "No post has these words.",
            .not_posted_yet = "Has not posted anything yet.",
            .no_replies = "No replies yet.",
            .nobody = "Nobody.",
            .members = "Members",
            .edited = "edited",
            .in_reply = "in reply to a post",
            .like = "Like",
            .reply = "Reply",
            .replies = "Replies",
            .more = "More",
            .edit = "Edit",
            .delete_post = "Delete",
            .removed = "This post was removed.",
            .report = "Report",
            .reported = "Thank you. Somebody will look at it.",
            .text = "Text",
            .save = "Save",
            .saved = "Saved.",
            .cancel = "Cancel",
            .sure = "Are you sure?",
            .just_now = "just now",
        },
    .picture =
        {
            .add = "Add a picture",
            .file = "Picture",
            .hint =
                "JPEG, PNG, WebP or GIF, up to 8 MB. What your camera wrote into it is removed.",
            .alt = "What the picture shows",
            .alt_hint = "For those who cannot see it.",
            .off = "Pictures are off on this server.",
            .too_large = "The picture has more than 8 MB, or took too long to arrive.",
            .unknown = "This is no JPEG, PNG, WebP or GIF picture.",
            .too_many = "The picture has too many pixels or frames: at most 40 million and 200.",
            .broken = "The picture is damaged.",
            .busy = "Many pictures are on their way. Try again in a moment.",
            .face = "Your picture",
            .remove_face = "Remove it",
        },
    .member =
        {
            .since = "here since",
            .follow = "Follow",
            .unfollow = "Unfollow",
            .following = "following",
            .followers = "followers",
            .block = "Block",
            .unblock = "Unblock",
            .mute = "Mute",
            .unmute = "Unmute",
            .edit_profile = "Edit profile",
        },
    .notice =
        {
            .no_notifications = "No notices yet.",
            .liked_your_post = "likes your post",
            .replied_to_you = "replied to you:",
            .mentioned_you = "mentioned you:",
            .follows_you = "follows you",
        },
    .report =
        {
            .reports = "Reports",
            .none = "No post is reported.",
            .times = "Members who reported it:",
            .dismiss = "Keep the post",
            .remove_post = "Remove the post",
        },
    .settings =
        {
            .about_you = "About you",
            .change_password = "Change password",
            .old_password = "Old password",
            .old_password_wrong = "The password is wrong.",
            .new_password = "New password",
            .password_changed = "The password is changed. You are logged out elsewhere.",
            .logged_in_at = "Where you are logged in",
            .last_used = "last used",
            .this_one = "this browser",
            .log_out_elsewhere = "Log out everywhere else",
            .hidden = "Members you do not want to read",
            .muted = "Muted members",
            .blocked = "Blocked members",
            .your_data = "Your data",
            .export_data = "Export as JSON",
            .delete_account = "Delete account",
            .delete_account_hint = "Your password, to delete your account and all that you wrote",
        },
    .about =
        {
            .about_1 =
                "Tidepool is the example application of Tiderace, a C++ network library and web "
                "server. All of it runs in one small program.",
            .about_2 = "Passwords are kept as argon2id hashes, sessions as hashes of random ids. "
                       "Pages load "
                       "nothing from other sites.",
            .about_3 = "It works without scripts; with them it is a little nicer.",
        },
    .fault =
        {
            .not_found = "Not here",
            .not_found_more = "There is nothing at this address, or it is gone.",
            .refused = "Not like this",
            .refused_more =
                "The request could not be answered as it was sent. Go back, reload the page, and "
                "try again.",
            .broken = "Something went wrong",
            .broken_more = "It is not your fault. If you sent something, look whether it arrived "
                           "before you send it again.",
            .busy = "Too fast",
            .busy_more = "That was a lot in a short time. Wait a minute, then try again.",
            .away = "Back in a moment",
            .away_more =
                "Tidepool cannot reach its database just now. Nothing was changed: wait a few "
                "seconds, then try again.",
        },
};

constexpr Words chinese = {
    .language =
        {
            .code = "zh",
            .other = "en",
            .other_name = "English",
        },
    .front =
        {
            .tagline = "潮水带来了什么？",
            .lead = "Tidepool 是一个写短文的小地方：关注你在意的人，回复他们，看看别人写了什么。",
            .why = "这里的样子",
            .point_1 = "按时间排列",
            .point_1_more = "首页只显示你关注的人所写的内容，最新的在前。",
            .point_2 = "内容属于你",
            .point_2_more = "编辑、删除、导出，各只需一个按钮。你的邮箱不会给任何人看到。",
            .point_3 = "处处都快",
            .point_3_more = "页面很小，任何手机、键盘都能用，没有脚本也能用。",
        },
    .menu =
        {
            .skip = "跳到内容",
            .menu = "主菜单",
            .home = "首页",
            .feed = "动态",
            .search = "搜索",
            .profile = "主页",
            .settings = "设置",
            .about = "关于",
            .notifications = "通知",
            .log_in = "登录",
            .log_out = "退出",
            .sign_up = "注册",
            .join = "加入 Tidepool",
            .have_account = "我已有账号",
            .no_account = "我还没有账号",
        },
    .form =
        {
            .name = "名字",
            .name_hint = "别人看到的名字，1 到 50 个字。",
            .username = "用户名",
            .username_hint = "3 到 30 个小写字母、数字或 _。",
            .username_taken = "这个用户名已被使用。",
            .email = "邮箱",
            .email_hint = "只用于登录。",
            .email_wrong = "这不是邮箱地址。",
            .email_taken = "这个邮箱已有账号。",
            .username_or_email = "用户名或邮箱",
            .password = "密码",
            .password_hint = "至少 8 个字符。",
            .password_again = "再输一次密码",
            .passwords_differ = "两次输入的密码不同。",
            .wrong_log_in = "用户名或密码不对。",
            .too_many_tries = "此账号的尝试次数过多，请一分钟后再试。",
            .logged_out = "你已退出登录。登录后，你写的内容还在这里。",
            .in_clear = "此页面未加密（http），浏览器不会保存登录状态。请使用 https 地址。",
        },
    .post =
        {
            .whats_up = "有什么新鲜事？",
            .post = "发布",
            .post_hint = "#标签 和 @用户名 会变成链接。",
            .post_empty = "短文要有 1 到 2000 个字。",
            .your_text = "你写的内容",
            .posts = "短文",
            .new_posts = "显示新内容",
            .older = "更早",
            .nothing_here = "这里还没有内容。关注一个人，或写下第一条。",
            .nothing_found = "没有短文包含这些字。",
            .not_posted_yet = "还没有写过什么。",
            .no_replies = "还没有回复。",
            .nobody = "没有人。",
            .members = "成员",
            .edited = "已编辑",
            .in_reply = "回复一条短文",
            .like = "赞",
            .reply = "回复",
            .replies = "回复",
            .more = "更多",
            .edit = "编辑",
            .delete_post = "删除",
            .removed = "这条短文已删除。",
            .report = "举报",
            .reported = "谢谢，会有人查看。",
            .text = "正文",
            .save = "保存",
            .saved = "已保存。",
            .cancel = "取消",
            .sure = "确定吗？",
            .just_now = "刚刚",
        },
    .picture =
        {
            .add = "添加图片",
            .file = "图片",
            .hint = "JPEG、PNG、WebP 或 GIF，不超过 8 MB。相机写入的信息会被删除。",
            .alt = "图片里有什么",
            .alt_hint = "给看不到图片的人。",
            .off = "这个服务器不支持图片。",
            .too_large = "图片超过 8 MB，或者上传太慢。",
            .unknown = "这不是 JPEG、PNG、WebP 或 GIF 图片。",
            .too_many = "图片的像素或帧太多：最多 4000 万像素、200 帧。",
            .broken = "图片已损坏。",
            .busy = "正在上传的图片太多，请稍后再试。",
            .face = "头像",
            .remove_face = "删除头像",
        },
    .member =
        {
            .since = "加入于",
            .follow = "关注",
            .unfollow = "取消关注",
            .following = "正在关注",
            .followers = "关注者",
            .block = "屏蔽",
            .unblock = "取消屏蔽",
            .mute = "静音",
            .unmute = "取消静音",
            .edit_profile = "编辑资料",
        },
    .notice =
        {
            .no_notifications = "还没有通知。",
            .liked_your_post = "赞了你的短文",
            .replied_to_you = "回复了你：",
            .mentioned_you = "提到了你：",
            .follows_you = "关注了你",
        },
    .report =
        {
            .reports = "举报",
            .none = "没有被举报的短文。",
            .times = "举报人数：",
            .dismiss = "保留短文",
            .remove_post = "移除短文",
        },
    .settings =
        {
            .about_you = "自我介绍",
            .change_password = "修改密码",
            .old_password = "旧密码",
            .old_password_wrong = "密码不对。",
            .new_password = "新密码",
            .password_changed = "密码已修改，其他地方已退出登录。",
            .logged_in_at = "登录的地方",
            .last_used = "上次使用",
            .this_one = "这个浏览器",
            .log_out_elsewhere = "退出其他所有地方",
            .hidden = "你不想看到的成员",
            .muted = "已静音的成员",
            .blocked = "已屏蔽的成员",
            .your_data = "你的数据",
            .export_data = "导出为 JSON",
            .delete_account = "删除账号",
            .delete_account_hint = "输入密码，删除账号和你写的一切",
        },
    .about =
        {
            .about_1 = "Tidepool 是 Tiderace（C++ "
                       "网络库和网页服务器）的示例应用，全部在一个小程序里运行。",
            .about_2 =
                "密码以 argon2id 保存，会话只保存随机编号的散列。页面不从其他网站加载任何内容。",
            .about_3 = "没有脚本也能用；有脚本会更方便一点。",
        },
    .fault =
        {
            .not_found = "这里没有",
            .not_found_more = "这个地址没有内容，或者已经删除。",
            .refused = "不能这样",
            .refused_more = "请求无法这样处理。请返回并刷新页面，再试一次。",
            .broken = "出了问题",
            .broken_more = "不是你的错。如果你刚提交了内容，重新提交前请先看看它是否已经保存。",
            .busy = "太快了",
            .busy_more = "短时间内请求太多。请等一分钟再试。",
            .away = "马上回来",
            .away_more = "Tidepool 暂时连不上数据库，没有任何内容被改动。请等几秒钟再试。",
        },
};

}  // namespace

const Words& words_in(std::string_view language) {
    return language.starts_with("zh") ? chinese : english;
}

}  // namespace tidepool
