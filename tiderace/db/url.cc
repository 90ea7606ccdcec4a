#include "tiderace/db/url.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/db/error.h"

namespace tiderace::db {
namespace {

[[noreturn]] void refuse(std::string_view what) {
    throw Error(Fault::configuration, "the URL of the database: " + std::string(what));
}

// Takes off the text before the first `mark`; nullopt where there is none.
std::optional<std::string_view> take_before(std::string_view& text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    if (at == text.npos) return std::nullopt;
    const std::string_view front = text.substr(0, at);
    text.remove_prefix(at + mark.size());
    return front;
}

std::uint16_t port_of(std::string_view digits) {
    const auto port = parse_number<std::uint16_t>(digits);
    if (!port || *port == 0) refuse("the port");
    return *port;
}

void read_options(Url& url, std::string_view text) {
    while (!text.empty()) {
        std::string_view value = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(value.size() + 1, text.size()));
        const auto name = take_before(value, "=");
        if (name == "socket") {
            url.socket = unescaped(value);
        } else if (name == "ca") {
            url.ca = unescaped(value);
        } else if (name == "tls" && (value == "require" || value == "verify" || value == "off")) {
            url.tls = value == "off" ? Tls::off : value == "verify" ? Tls::verify : Tls::require;
        } else {
            refuse("after the ? are socket=PATH, tls=off|require|verify and ca=FILE");
        }
    }
    // Otherwise the file would seem to protect, and would not.
    if (!url.ca.empty() && url.tls != Tls::verify) refuse("ca=FILE is for tls=verify");
}

}  // namespace

std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
        // No NUL: the client libraries take C strings.
        if (high < 0 || low < 0 || high + low == 0) {
            refuse("a % without two hexadecimal digits behind it");
        }
        out += static_cast<char>(high << 4 | low);
        i += 2;
    }
    return out;
}

Authority Authority::parse(std::string_view text) {
    Authority found;
    // The last one: a password may hold an '@' that was not escaped.
    if (const std::size_t at = text.rfind('@'); at != text.npos) {
        std::string_view account = text.substr(0, at);
        text.remove_prefix(at + 1);
        // The first one, because a password may hold a ':' and a user does not.
        const auto user = take_before(account, ":");
        found.user = unescaped(user ? *user : account);
        if (user) found.password = unescaped(account);
    }
    if (text.starts_with('[')) {
        text.remove_prefix(1);
        const auto host = take_before(text, "]");
        if (!host) refuse("a [ without its ]");
        found.host = *host;
        if (text.empty()) return found;
        if (text[0] != ':') refuse("what is behind the ]");
        found.port = port_of(text.substr(1));
        return found;
    }
    const auto host = take_before(text, ":");
    found.host = unescaped(host ? *host : text);
    if (host) found.port = port_of(text);
    return found;
}

Url Url::parse(std::string_view text) {
    Url url;
    const auto scheme = take_before(text, ":");
    if (scheme == "sqlite") {
        if (text.empty()) refuse("no file; say sqlite:PATH or sqlite::memory:");
        url.path = text;
        return url;
    }
    if (scheme == "postgres" || scheme == "postgresql") {
        url.dialect = Dialect::postgres;
        url.port = 5432;
    } else if (scheme == "mariadb" || scheme == "mysql") {
        url.dialect = Dialect::mariadb;
        url.port = 3306;
    } else {
        refuse("it begins with sqlite:, postgres:// or mariadb://");
    }
    if (!text.starts_with("//")) refuse("// is behind the first colon");
    text.remove_prefix(2);
    const auto front = take_before(text, "/");
    if (!front) refuse("no /name of a database is behind the host");
    const auto name = take_before(text, "?");
    url.name = unescaped(name ? *name : text);
    if (name) read_options(url, text);
    if (url.name.empty()) refuse("no /name of a database is behind the host");
    Authority authority = Authority::parse(*front);
    url.user = std::move(authority.user);
    url.password = std::move(authority.password);
    url.host = std::move(authority.host);
    if (authority.port != 0) url.port = authority.port;
    // Both would leave open which of them is meant.
    if (url.host.empty() == url.socket.empty()) refuse("either a host or ?socket=PATH");
    return url;
}

std::string Url::trust() const {
    if (tls != Tls::verify) return "tls=require asks for a server with TLS";
    return "tls=verify asks for a certificate that is valid for " + host +
           " and signed by an authority of " + (ca.empty() ? "the client library's" : ca);
}

std::string Url::shown() const {
    std::string text(name_of(dialect));
    if (dialect == Dialect::sqlite) return text.append(":").append(path);
    // Without the password: this ends in logs and messages.
    text.append("://").append(user).append(user.empty() ? "" : "@").append(host);
    if (socket.empty()) text.append(":").append(std::to_string(port));
    text.append("/").append(name);
    if (!socket.empty()) text.append("?socket=").append(socket);
    return text;
}

}  // namespace tiderace::db
