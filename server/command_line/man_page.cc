#include "server/command_line/man_page.h"

#include "server/command_line/flags.h"
#include "server/command_line/help_text.h"
#include "server/version.h"

namespace tiderace::server {
namespace {

void add_flag(std::string& page, const FlagHelp& flag) {
    page.append(".TP\n.B ").append(roff_text(flag_usage(flag, false))).append("\n");
    page.append(roff_text(flag_description(flag))).append(".\n");
}

void add_commands(std::string& page) {
    page += ".SH COMMANDS\n";
    for (const CommandSpec& command : commands()) {
        std::string usage(command.name);
        if (!command.operand.empty()) usage.append(" ").append(command.operand);
        page.append(".TP\n.B ").append(roff_text(usage)).append("\n");
        page.append(roff_text(command.about)).append(".\n");
        for (const FlagHelp& flag : command.flags) {
            // serve's are too many for this list, and have a section of their own.
            if (command.name == "serve" || flag.name == "help") continue;
            page.append(".RS\n");
            add_flag(page, flag);
            page.append(".RE\n");
        }
    }
}

void add_serve_flags(std::string& page) {
    // The flags are in the order of their groups, so a new group is where the name of it changes.
    page += ".SH FLAGS OF SERVE\n";
    const FlagHelp* previous = nullptr;
    for (const FlagHelp& flag : find_command("serve")->flags) {
        if (!previous || previous->group != flag.group) {
            page.append(".SS ").append(group_title(flag.group)).append("\n");
        }
        add_flag(page, flag);
        previous = &flag;
    }
    page +=
        ".SS Units\n"
        "A TIME is a number with a unit: 500ms, 10s, 2m, 1h; 0 means no limit.\n"
        "A SIZE is a number of bytes, or a number with KiB, MiB or GiB (powers of 1,024) or\n"
        "KB, MB or GB (powers of 1,000).\n";
}

// What no table of flags has, written in roff. Its dashes are escaped by hand, as roff_text() does
// it: flags are copied from this page.
constexpr std::string_view closing_sections =
    ".SH SIGNALS\n"
    ".TP\n.BR SIGTERM \", \" SIGINT\n"
    "Stop accepting connections, finish the running answers, close idle connections, exit.\n"
    "Answers that still run after \\-\\-drain\\-timeout are cut off; a second signal cuts them "
    "off\n"
    "at once.\n"
    ".TP\n.BR SIGHUP \", \" SIGUSR1\n"
    "Reopen the log files, after another program rotated them, and check at once whether the\n"
    "certificates have changed; otherwise a change is noticed within a few seconds. SIGHUP also\n"
    "reads the file of tiderace run again: where anything in it is wrong, all stays as it was\n"
    "and the log lists it; otherwise new requests are served by it. The server\n"
    "keeps running when its terminal is closed.\n"
    ".TP\n.B SIGPIPE\nIgnored: a peer that has gone is an ordinary end of a connection.\n"
    ".PP\n"
    "tiderace load stops on SIGINT and SIGTERM, and reports the figures so far; tiderace help "
    "load\n"
    "lists its flags.\n"
    ".SH DATABASES\n"
    ".TP\n.B tiderace db migrate\nURL DIR\n.br\n"
    "Run the numbered files of SQL in the folder that the database has not seen yet, each once\n"
    "and under a lock.\n"
    ".TP\n.B tiderace db status\nURL DIR\n.br\n"
    "List the files with their states, and change nothing. The status is 1 where a file has\n"
    "changed, is missing or was half done.\n"
    ".PP\n"
    "The URL is sqlite:FILE, postgres://USER@HOST/NAME or mariadb://USER@HOST/NAME; - takes it\n"
    "from the environment, so that its password is not seen by ps.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nIt ended on request.\n"
    ".TP\n.B 1\nThe machine refused: the folder is absent, the port is in use or privileged; or a\n"
    "configuration file has errors, also where tiderace reload found the server refusing it.\n"
    ".TP\n.B 2\nThe command line is wrong, a configuration file cannot be read, or no server has\n"
    "the admin socket of tiderace reload, tiderace status and tiderace top.\n"
    ".TP\n.B 3\ntiderace import left something out: a comment says what.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B DATABASE_URL\nThe database of tiderace db, where its URL is given as -.\n"
    ".TP\n.B NO_COLOR\nWhen set, the text printed at start has no colours.\n"
    ".TP\n.B XDG_DATA_HOME\nWhere \\-\\-tls\\-self\\-signed keeps what it made, in the folder\n"
    "tiderace; $HOME/.local/share without it.\n"
    ".SH SECURITY\n"
    "A password given with \\-\\-basic\\-auth or \\-\\-path\\-auth can be read by other users of "
    "the\n"
    "machine while the server runs (ps shows command lines). A file with hashed passwords is the\n"
    "better way; htpasswd \\-nB USER writes such a line.\n"
    ".PP\n"
    "\\-\\-path\\-auth, \\-\\-path\\-rate, \\-\\-path\\-header, \\-\\-path\\-cors and "
    "\\-\\-path\\-error\\-page hold for the paths\n"
    "that clients request, not for files: a link beneath another path, or the sibling\n"
    "report.txt.gz of a path /report.txt, leads around them. Protect folders. Of several paths "
    "the\n"
    "longest counts, and takes the place of the site\\(aqs own rule; off ends it.\n"
    ".SH EXAMPLES\n"
    ".TP\n.B tiderace serve\nThis folder at http://localhost:8080, for this machine only.\n"
    ".TP\n.B tiderace serve site \\-\\-listen :80 \\-\\-access\\-log /var/log/tiderace.log\n"
    "A site for everybody, with its requests written down.\n"
    ".TP\n.B tiderace serve dist \\-\\-spa \\-\\-cache\\-control "
    "\\(aq/assets/*=max\\-age=31536000\\(aq\n"
    "A single\\-page application whose assets have hashed names.\n"
    ".TP\n.B tiderace serve \\-\\-tls\\-self\\-signed\n"
    "This folder at https://localhost:8443; tiderace trust says how to make browsers trust it.\n"
    ".TP\n.B tiderace serve site \\-\\-listen :443 \\-\\-tls cert.pem,key.pem "
    "\\-\\-https\\-redirect :80\n"
    "A site over https, and plain requests led there.\n"
    ".TP\n.B tiderace db migrate sqlite:app.db migrations\n"
    "The tables of a database, made or brought up to date.\n"
    ".TP\n.B tiderace new boats\n"
    "A service in C++, in the folder boats: with a page, a test, CMake, an image and a service of "
    "systemd.\n";

}  // namespace

std::string roff_text(std::string_view text) {
    std::string roff;
    for (const char c : text) {
        const bool begins_line = roff.empty() || roff.back() == '\n';
        // At the start of a line they begin a request of roff.
        if (begins_line && (c == '.' || c == '\'')) roff += "\\&";
        if (c == '-') {
            // A bare '-' may be typeset as a hyphen, which a shell does not take for one.
            roff += "\\-";
        } else if (c == '\\') {
            roff += "\\e";
        } else if (c == '\'') {
            roff += "\\(aq";
        } else {
            roff += c;
        }
    }
    return roff;
}

std::string man_page() {
    std::string page =
        ".TH TIDERACE 1 \"\" \"tiderace " + std::string(version()) + "\" \"User Commands\"\n";
    page +=
        ".SH NAME\ntiderace \\- serves a folder over HTTP and HTTPS\n"
        ".SH SYNOPSIS\n.B tiderace serve\n[DIR] [flags]\n.br\n.B tiderace\nCOMMAND [flags]\n"
        ".SH DESCRIPTION\n"
        "Serves the files beneath a folder over HTTP/1.1 and HTTP/2. With no flags it serves\n"
        "the current folder to this machine only, at http://localhost:8080; when that port is\n"
        "taken, at the next free one. With \\-\\-tls it serves over https, and the default port\n"
        "is 8443. Hidden files, and links that lead out of the folder, are not served\n"
        "unless asked for.\n";
    add_commands(page);
    add_serve_flags(page);
    page += closing_sections;
    return page;
}

}  // namespace tiderace::server
