#include "server/nginx/scope.h"

#include <algorithm>
#include <iterator>

#include "server/config/toml_text.h"
#include "server/nginx/regex.h"
#include "server/nginx/values.h"
#include "server/site/variables.h"
#include "tiderace/base/ascii.h"

namespace tiderace::server::nginx {
namespace {

using config::key_text;
using config::list_text;
using config::string_text;
using config::TableKind;

// What is so here without a word, or has no effect on an answer.
constexpr std::string_view built_in_names[] = {"sendfile",
                                               "tcp_nopush",
                                               "tcp_nodelay",
                                               "types_hash_max_size",
                                               "server_names_hash_bucket_size",
                                               "server_names_hash_max_size",
                                               "default_type",
                                               "charset",
                                               "gzip_vary",
                                               "gzip_proxied",
                                               "gzip_comp_level",
                                               "gzip_types",
                                               "gzip_disable",
                                               "gzip_http_version",
                                               "gzip_min_length",
                                               "gzip_buffers",
                                               "gzip_static",
                                               "log_not_found",
                                               "server_tokens",
                                               "keepalive_requests",
                                               "reset_timedout_connection",
                                               "ssl_prefer_server_ciphers",
                                               "ssl_session_cache",
                                               "ssl_session_timeout",
                                               "ssl_session_tickets",
                                               "ssl_ecdh_curve",
                                               "fastcgi_index",
                                               "fastcgi_param",
                                               "fastcgi_split_path_info",
                                               "fastcgi_buffers",
                                               "fastcgi_buffer_size",
                                               "fastcgi_busy_buffers_size",
                                               "fastcgi_intercept_errors",
                                               "include",
                                               "types",
                                               "http2",
                                               "multi_accept",
                                               "pid"};

constexpr std::string_view guard_names[] = {"allow",        "deny",           "satisfy",
                                            "auth_request", "auth_jwt",       "secure_link",
                                            "limit_except", "valid_referers", "ssl_verify_client"};
constexpr std::string_view proxy_names[] = {"proxy_pass", "uwsgi_pass", "scgi_pass", "grpc_pass",
                                            "memcached_pass"};
constexpr std::string_view answer_keys[] = {"redirect", "respond", "status", "deny", "fastcgi"};
constexpr std::string_view file_keys[] = {"root", "fallback", "index", "listing", "clean_urls"};

bool is_one_of(std::string_view name, const auto& names) {
    return std::ranges::find(names, name) != std::end(names);
}

// A comment is one line whatever it quotes.
std::string one_comment(std::string text) {
    std::ranges::replace_if(text, is_control_character, ' ');
    return "# " + text;
}

int status_of(std::string_view text) {
    const auto number = parse_number<std::uint16_t>(text);
    return number && *number >= 200 && *number <= 599 ? static_cast<int>(*number) : 0;
}

bool is_redirect(int status) {
    return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

}  // namespace

bool Scope::is_built_in(std::string_view name) {
    return is_one_of(name, built_in_names);
}

bool Scope::is_guard(std::string_view name) {
    return is_one_of(name, guard_names);
}

bool Scope::set(const std::string& key, std::string value) {
    if (has(key)) return false;
    settings_.emplace_back(key, std::move(value));
    return true;
}

bool Scope::has(std::string_view key) const {
    return std::ranges::any_of(settings_, [&](const auto& each) { return each.first == key; });
}

void Scope::drop(const Directive& directive, std::string_view reason) {
    around_.has_dropped = true;
    std::string text = directive.place() + ": " + directive.text();
    if (!reason.empty()) text.append("  -- ").append(reason);
    comments_.push_back(text);
    for (const Directive& each : directive.block) drop(each);
}

void Scope::miss(const std::string& what) {
    around_.has_dropped = true;
    comments_.push_back(what);
}

void Scope::mark_built_in(const Directive& directive) {
    comments_.push_back(directive.place() + ": " + directive.text() + "  -- not needed");
}

std::string Scope::absolute(const std::string& file) const {
    return file.starts_with('/') ? file : around_.folder + file;
}

bool Scope::take(const Directive& directive) {
    if (directive.has_block && directive.name != "limit_except" && directive.name != "types") {
        return false;
    }
    if (take_files(directive) || take_answers(directive) || take_access(directive) ||
        take_programs(directive)) {
        return true;
    }
    if (!is_built_in(directive.name)) return false;
    mark_built_in(directive);
    return true;
}

bool Scope::take_files(const Directive& directive) {
    const std::vector<std::string>& words = directive.words;
    const std::string_view name = directive.name;
    if (name == "root" && words.size() == 1) {
        root_ = absolute(words[0]);
        if (words[0].contains('$')) return false;
        if (is_site()) {
            set("root", string_text(root_));
        } else {
            drop(directive, "a route has the root of its site");
        }
    } else if (name == "index") {
        const bool is_plain = std::ranges::none_of(
            words, [](const std::string& each) { return each.find_first_of("/$") != each.npos; });
        if (!is_site() || !is_plain) return false;
        set("index", list_text(words));
    } else if (name == "autoindex" && words.size() == 1) {
        if (!is_site()) return false;
        set("listing", words[0] == "on" ? "true" : "false");
    } else if (name == "try_files") {
        take_try_files(directive);
    } else if (name == "gzip" && words.size() == 1) {
        set("compress", words[0] == "on" ? "\"auto\"" : "\"off\"");
    } else if (name == "expires" && words.size() == 1) {
        const auto value = words[0] == "off" ? std::nullopt : cache_control_of(words[0]);
        if (!value && words[0] != "off") return false;
        expires_ = value.value_or("");
    } else if (name == "add_header") {
        take_header(directive);
    } else if (name == "error_page") {
        take_error_page(directive);
    } else if (name == "access_log") {
        take_log(directive);
    } else {
        return false;
    }
    return true;
}

void Scope::take_try_files(const Directive& directive) {
    std::vector<std::string> words = directive.words;
    if (words.empty()) return drop(directive);
    const std::string last = words.back();
    words.pop_back();
    const auto is_tried = [&](std::string_view name) {
        const auto found = std::ranges::find(words, name);
        if (found == words.end()) return false;
        words.erase(found);
        return true;
    };
    is_tried("$uri");
    is_tried("$fastcgi_script_name");
    is_tried("$uri/");
    const bool has_clean = is_tried("$uri.html");
    const bool is_page = last.starts_with('/') && !last.contains('$') && !last.contains('?');
    if (!words.empty() || (!is_page && last != "=404") || ((is_page || has_clean) && !is_site())) {
        return drop(directive, "files are not tried in turn yet");
    }
    if (has_clean) set("clean_urls", "true");
    if (is_page) set("fallback", string_text(last.substr(1)));
    if (!has_clean && !is_page) mark_built_in(directive);
}

void Scope::take_error_page(const Directive& directive) {
    const std::vector<std::string>& words = directive.words;
    const bool leads_inside = words.size() >= 2 && words.back().starts_with('/') &&
                              !words.back().contains('$') && !words.back().contains('?');
    if (!leads_inside || root_.empty()) return drop(directive);
    const std::string file = words.back().substr(1);
    if (!around_.world.look(root_ + "/" + file, config::FileKind::file)) {
        return drop(directive, "there is no " + root_ + "/" + file);
    }
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const int status = status_of(words[i]);
        if (status < 400 || !set("error_pages." + words[i], string_text(file))) drop(directive);
    }
}

void Scope::take_header(const Directive& directive) {
    const std::vector<std::string>& words = directive.words;
    const bool has_form = words.size() == 2 || (words.size() == 3 && words[2] == "always");
    if (!has_form || words[1].contains('$')) return drop(directive);
    if (equals_ignoring_case(words[0], "Cache-Control")) {
        cache_control_ += (cache_control_.empty() ? "" : ", ") + words[1];
    } else if (!set("response.set." + key_text(words[0]), string_text(words[1]))) {
        drop(directive, "a field is set once");
    }
}

void Scope::take_log(const Directive& directive) {
    const std::vector<std::string>& words = directive.words;
    if (words.empty() || words[0].contains('$') || words[0].starts_with("syslog:")) {
        return drop(directive);
    }
    const std::string file = words[0] == "/dev/stdout" ? "-" : words[0];
    const bool is_word = file == "off" || file == "-";
    if (words.size() > 1 && words[1] != "combined" && words[1] != "main") {
        drop(directive, "the format is combined");
    }
    set("log", string_text(is_word ? file : absolute(file)));
}

bool Scope::take_answers(const Directive& directive) {
    if (directive.name == "return") {
        take_return(directive);
        return true;
    }
    if (is_one_of(directive.name, proxy_names)) {
        drop(directive, "proxying is not built yet: 502");
        set("status", "502");
        return true;
    }
    return false;
}

void Scope::take_return(const Directive& directive) {
    const std::vector<std::string>& words = directive.words;
    if (words.empty() || words.size() > 2) return drop(directive);
    const int given = status_of(words[0]);
    const int status = given == 0 && words.size() == 1 ? 302 : given;
    const bool has_text = words.size() == 2 || given == 0;
    if (status == 0) return drop(directive);
    if (is_redirect(status) && has_text) {
        const auto target = target_of(words.back());
        if (!target) return drop(directive);
        set("redirect", string_text(*target));
        set("status", std::to_string(status));
    } else if (has_text && status >= 200 && !is_redirect(status) && !words[1].contains('$')) {
        set("respond", string_text(words[1]));
        if (status != 200) set("status", std::to_string(status));
    } else if (!has_text && (status < 300 || status >= 400) && status != 444 && status != 499) {
        set("status", std::to_string(status));
    } else {
        drop(directive);
    }
}

std::optional<std::string> Scope::target_of(std::string_view text) const {
    std::string target(text);
    const bool is_alone = path_.starts_with('=');
    const bool is_regex = path_.starts_with('~');
    if (is_regex && target.find_first_of("{}") != target.npos) return std::nullopt;
    const std::string below = is_regex ? "{path}" : path_.substr(is_alone ? 1 : 0);
    for (const std::string_view whole : {"$request_uri", "$uri$is_args$args", "$uri"}) {
        if (!target.ends_with(whole)) continue;
        target.resize(target.size() - whole.size());
        target += below + (is_alone || is_regex ? "" : "{rest}");
        break;
    }
    const auto put = [&](std::string_view variable, const std::string& value) {
        for (std::size_t at = target.find(variable); at != target.npos;
             at = target.find(variable)) {
            target.replace(at, variable.size(), value);
        }
    };
    put("$scheme", around_.has_tls ? "https" : "http");
    if (hosts_.size() == 1 && !hosts_[0].starts_with('*')) {
        for (const std::string_view variable : {"$host", "$server_name", "$http_host"}) {
            put(variable, hosts_[0]);
        }
    }
    target = with_groups(target, path_);
    const bool leads_on =
        target.starts_with('/') || target.starts_with("http://") || target.starts_with("https://");
    const bool is_glob = path_.starts_with('*') || path_.starts_with('[');
    // A client that names the host would choose where it is led.
    if (!leads_on || is_glob || target.contains('$') || authority_of(target).contains('{')) {
        return std::nullopt;
    }
    return target;
}

bool Scope::take_access(const Directive& directive) {
    const std::string_view name = directive.name;
    if (name == "auth_basic" && directive.words.size() == 1) {
        // Of `location /`, while the other locations keep what the server says.
        const bool would_open = directive.words[0] == "off" && !realm_.empty();
        if (would_open) {
            drop(directive, "the site is closed as a whole");
        } else {
            realm_ = directive.words[0];
        }
    } else if (name == "auth_basic_user_file" && directive.words.size() == 1) {
        users_ = absolute(directive.words[0]);
    } else if (name == "internal") {
        set("deny", "true");
    } else if (name == "ssl_verify_client" && directive.words == std::vector<std::string>{"off"}) {
        mark_built_in(directive);
    } else if (is_guard(name)) {
        guards_.push_back(directive);
    } else {
        return false;
    }
    return true;
}

bool Scope::take_programs(const Directive& directive) {
    if (directive.name != "fastcgi_pass" || directive.words.size() != 1) return false;
    std::string address = directive.words[0];
    const auto& known = around_.upstreams;
    const auto upstream =
        std::ranges::find(known, address, &std::pair<std::string, std::string>::first);
    if (upstream != known.end()) address = upstream->second;
    const bool is_address = !address.contains('$') && address.contains(':');
    if (is_site() || !is_address) {
        drop(directive);
        set("status", "502");
    } else {
        set("fastcgi", string_text(address));
    }
    return true;
}

void Scope::close(std::string_view reason) {
    std::erase_if(settings_, [&](const auto& each) {
        return is_one_of(each.first, answer_keys) || is_one_of(each.first, file_keys);
    });
    comments_.emplace_back(reason);
    set("deny", "403");
}

void Scope::finish_access(const Scope* site) {
    if (realm_ == "off") {
        if (site != nullptr && site->has("auth")) set("auth", "\"off\"");
    } else if (!realm_.empty() && !users_.empty()) {
        set("auth", "{ users = " + string_text(users_) + " }");
    } else if (!realm_.empty() && (site == nullptr || site->users_.empty())) {
        around_.has_dropped = true;
        close("auth_basic has no auth_basic_user_file: closed");
    }
    const auto is_all = [](const Directive& each, std::string_view name) {
        return each.name == name && each.words.size() == 1 && each.words[0] == "all";
    };
    if (guards_.empty() || is_all(guards_[0], "allow")) return;
    if (is_all(guards_[0], "deny")) return close("deny all");
    for (const Directive& each : guards_) drop(each);
    close("who may enter is not carried: closed to all, or remove this `deny`");
}

bool Scope::answers() const {
    return std::ranges::any_of(settings_,
                               [](const auto& each) { return is_one_of(each.first, answer_keys); });
}

void Scope::finish(const Scope* site) {
    if (!expires_.empty() || !cache_control_.empty()) {
        const bool has_both = !expires_.empty() && !cache_control_.empty();
        set("cache_control", string_text(expires_ + (has_both ? ", " : "") + cache_control_));
    }
    finish_access(site);
    // nginx lists no folder unless it is told to.
    if (has("root") && !answers() && !has("listing")) set("listing", "false");
    if (site != nullptr && site->answers() && !answers()) {
        around_.has_dropped = true;
        comments_.emplace_back(
            "files of this path are not sent: what answers for the site does here");
    }
    if (!answers()) return;
    std::erase_if(settings_, [](const auto& each) { return is_one_of(each.first, file_keys); });
    if (has("fastcgi") || has("deny")) {
        std::erase_if(settings_, [](const auto& each) { return each.first == "status"; });
    }
}

std::string Scope::comments() const {
    std::string text;
    for (const std::string& each : comments_) text += one_comment(each) + "\n";
    return text;
}

std::string Scope::text() const {
    std::string text;
    for (const auto& [key, value] : settings_) text += key + " = " + value + "\n";
    return text;
}

}  // namespace tiderace::server::nginx
