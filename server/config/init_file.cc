#include "server/config/init_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include "server/config/check.h"
#include "server/config/document.h"
#include "server/config/toml_text.h"
#include "server/config/write_file.h"
#include "server/terminal.h"

namespace tiderace::server::config {
namespace {

constexpr std::string_view program_name = "tiderace";

constexpr std::string_view head_text =
    R"(# A configuration of tiderace run, to begin with. A line with # does nothing.

[[listen]]
address = @LISTEN@  # ":8080" is port 8080 of all addresses of this machine

# https, and clients of port 80 led there:
# [[listen]]
# address = ":443"
# [[listen]]
# address = ":80"
# redirect_to_https = true
# [[tls.certificate]]
# cert = "cert.pem"
# key = "key.pem"

[log]
access = "off"     # "access.log", or "-" for the terminal
level = "info"
)";

constexpr std::string_view files_text = R"(
[[site]]
root = @ROOT@  # relative to this file
# listing = true                       # list folders without an index file
# error_pages = { 404 = "404.html" }   # in the root
# response.set.X-Frame-Options = "DENY"
)";

constexpr std::string_view route_text = R"(
# [[site.route]]
# path = "/old"                        # and all below it; "=/old" is that path alone
# redirect = "/new{rest}"
)";

constexpr std::string_view php_text = R"(index = ["index.php", "index.html"]

[[site.route]]
path = "*.php"
fastcgi = @PHP@
)";

constexpr std::string_view host_text = R"(
[[site]]
hosts = [@HOST@]
root = @ROOT@
)";

constexpr std::string_view others_text = R"(
# Every other host: 421, Misdirected Request.
[[site]]
default = true
status = 421
)";

// The text with a value in the place of its mark.
std::string with(std::string_view text, std::string_view mark, const std::string& value) {
    std::string whole(text);
    const std::size_t at = whole.find(mark);
    return at == whole.npos ? whole : whole.replace(at, mark.size(), string_text(value));
}

std::string folder_of_host(std::string_view host) {
    return std::string(host.starts_with("*.") ? host.substr(2) : host);
}

std::string php_that_runs_here() {
    const std::vector<std::string> found = files_of("/run/php/php*-fpm.sock");
    return "unix:" + (found.empty() ? "/run/php/php-fpm.sock" : found.front());
}

std::vector<std::string> names_in(std::string_view list) {
    std::vector<std::string> names;
    while (!list.empty()) {
        const std::string_view name = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), name.size() + 1));
        const std::size_t begin = name.find_first_not_of(' ');
        if (begin == name.npos) continue;
        names.emplace_back(name.substr(begin, name.find_last_not_of(' ') + 1 - begin));
    }
    return names;
}

// nullopt: the input ended.
std::optional<std::string> ask(const std::string& question, std::string_view otherwise) {
    std::fputs((question + " [" + std::string(otherwise) + "] ").c_str(), stdout);
    std::fflush(stdout);
    std::string answer;
    if (!std::getline(std::cin, answer)) return std::nullopt;
    return answer.empty() ? std::string(otherwise) : answer;
}

// Three questions.
std::optional<Beginning> ask_all() {
    Beginning beginning;
    auto kind = ask("What is served: folder, php or hosts?", "folder");
    while (kind && *kind != "folder" && *kind != "php" && *kind != "hosts") {
        kind = ask("One of these words: folder, php or hosts?", "folder");
    }
    if (!kind) return std::nullopt;
    if (*kind == "hosts") {
        beginning.kind = Beginning::Kind::hosts;
        const auto hosts = ask("Which hosts, with commas between?", "localhost");
        if (!hosts) return std::nullopt;
        beginning.hosts = names_in(*hosts);
    } else {
        const bool is_php = *kind == "php";
        const auto folder = ask(is_php ? "Which folder has the scripts?" : "Which folder?", ".");
        if (!folder) return std::nullopt;
        beginning.folder = *folder;
        if (is_php) {
            beginning.kind = Beginning::Kind::php;
            beginning.php = php_that_runs_here();
        }
    }
    const auto listen = ask("At which address?", beginning.listen);
    if (!listen) return std::nullopt;
    beginning.listen = *listen;
    return beginning;
}

Beginning from_flags(const CommandWords& words) {
    Beginning beginning;
    for (const GivenFlag& each : words.flags) {
        if (each.flag->name == "folder") beginning.folder = each.value;
        if (each.flag->name == "listen") beginning.listen = each.value;
        if (each.flag->name == "php") {
            beginning.kind = Beginning::Kind::php;
            beginning.php = each.value == "here" ? php_that_runs_here() : each.value;
        }
        if (each.flag->name == "hosts") {
            beginning.kind = Beginning::Kind::hosts;
            beginning.hosts = names_in(each.value);
        }
    }
    return beginning;
}

// The folders of hosts are made where they are missing, beside the file.
Result<> make_folders(const std::vector<std::string>& hosts, const std::string& file) {
    for (const std::string& host : hosts) {
        if (host.contains('/')) return fail(Error(EINVAL, "name a host", host));
        const auto folder = std::filesystem::path(file).parent_path() / folder_of_host(host);
        std::error_code fault;
        std::filesystem::create_directory(folder, fault);
        if (fault) return fail(Error(fault.value(), "make", folder.string()));
    }
    return {};
}

int refuse_to_init(std::string_view sentence, int status) {
    complain(program_name, sentence);
    return status;
}

}  // namespace

std::string beginning_text(const Beginning& beginning) {
    std::string text = with(head_text, "@LISTEN@", beginning.listen);
    if (beginning.kind == Beginning::Kind::hosts) {
        for (const std::string& host : beginning.hosts) {
            text += with(with(host_text, "@HOST@", host), "@ROOT@", folder_of_host(host));
        }
        return text.append(others_text);
    }
    text += with(files_text, "@ROOT@", beginning.folder);
    if (beginning.kind == Beginning::Kind::php) text += with(php_text, "@PHP@", beginning.php);
    return text.append(route_text);
}

int init_file(const CommandWords& words) {
    const std::string file = words.operands.empty() ? "tiderace.toml" : words.operands[0];
    std::error_code fault;
    if (std::filesystem::exists(std::filesystem::symlink_status(file, fault))) {
        return refuse_to_init(file + " is there already; name another: tiderace init OTHER.toml",
                              1);
    }
    if (words.has("hosts") && (words.has("folder") || words.has("php"))) {
        return refuse_to_init("--hosts stands alone: each host has a folder of its name", 2);
    }
    if (words.flags.empty() && ::isatty(STDIN_FILENO) == 0) {
        return refuse_to_init(
            "this is no terminal to ask in; say --folder DIR, --php or --hosts A,B", 2);
    }
    std::optional<Beginning> beginning = words.flags.empty() ? ask_all() : from_flags(words);
    if (!beginning) return 1;
    if (file.contains('/') && beginning->kind != Beginning::Kind::hosts) {
        beginning->folder =
            std::filesystem::absolute(beginning->folder).lexically_normal().string();
    }
    Result<> made = make_folders(beginning->hosts, file);
    if (made) made = create_file(file, beginning_text(*beginning));
    if (!made) return refuse_to_init("cannot " + made.error().message(), 1);
    if (const Loaded loaded = load_config(file); !loaded.config) {
        std::fputs(loaded.problems.c_str(), stderr);
        ::unlink(file.c_str());
        return refuse_to_init(file + " is not written: see above", 1);
    }
    const std::string word = shell_word(file);
    return print(program_name, printable(file) + " is written. Next:\n  tiderace check " + word +
                                   "\n  tiderace run " + word + "\n");
}

}  // namespace tiderace::server::config
