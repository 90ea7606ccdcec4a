#include "tiderace/db/redis/place.h"

#include <algorithm>

#include "tiderace/base/ascii.h"
#include "tiderace/db/error.h"
#include "tiderace/db/url.h"

namespace tiderace::db::redis {
namespace {

[[noreturn]] void refuse(std::string_view what) {
    throw Error(Fault::configuration, "the URL of the server: " + std::string(what));
}

std::uint32_t database_of(std::string_view digits) {
    const auto number = parse_number<std::uint32_t>(digits);
    if (!number) refuse("the number of the database");
    return *number;
}

// With everything behind the '?': a path may hold each character that ends a part elsewhere.
void read_unix(Place& place, std::string_view text) {
    const std::string_view path = text.substr(0, text.find('?'));
    place.socket = unescaped(path);
    if (place.socket.empty()) refuse("no path; write unix:/run/redis/redis.sock");
    text.remove_prefix(std::min(path.size() + 1, text.size()));
    while (!text.empty()) {
        const std::string_view option = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(option.size() + 1, text.size()));
        const std::string_view name = option.substr(0, option.find('='));
        const std::string_view value = option.substr(std::min(name.size() + 1, option.size()));
        if (name == "db") {
            place.database = database_of(value);
        } else if (name == "user") {
            place.user = unescaped(value);
        } else if (name == "password") {
            place.password = unescaped(value);
        } else {
            refuse("after the ? are db=NUMBER, user=NAME and password=TEXT");
        }
    }
}

}  // namespace

Place Place::parse(std::string_view url) {
    Place place;
    const std::size_t colon = url.find(':');
    const std::string_view scheme = url.substr(0, colon);
    std::string_view rest = url.substr(std::min(scheme.size() + 1, url.size()));
    if (scheme == "unix") {
        read_unix(place, rest);
        return place;
    }
    if ((scheme != "redis" && scheme != "rediss" && scheme != "valkey" && scheme != "valkeys") ||
        !rest.starts_with("//")) {
        refuse("it begins with redis://, rediss:// or unix:");
    }
    // "rediss" and "valkeys", as "https" is to "http"; "redis" merely ends so.
    place.tls = scheme.ends_with("s") && scheme != "redis";
    rest.remove_prefix(2);
    const std::string_view front = rest.substr(0, rest.find('/'));
    const std::string_view name = rest.substr(std::min(front.size() + 1, rest.size()));
    if (!name.empty()) place.database = database_of(name);
    Authority authority = Authority::parse(front);
    if (authority.host.empty()) refuse("no host");
    place.user = std::move(authority.user);
    place.password = std::move(authority.password);
    place.host = std::move(authority.host);
    if (authority.port != 0) place.port = authority.port;
    return place;
}

std::string Place::address() const {
    if (!socket.empty()) return "unix:" + socket;
    // An IPv6 address, whose colons would run into the port's.
    const bool bare = host.find(':') == host.npos;
    return (bare ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::string Place::shown() const {
    std::string text = socket.empty() ? std::string(tls ? "rediss://" : "redis://") : "";
    if (socket.empty() && !user.empty()) text.append(user).append("@");
    // The user without the password, as Url::shown().
    text.append(address());
    if (database != 0) {
        text.append(socket.empty() ? "/" : "?db=").append(std::to_string(database));
    }
    return text;
}

}  // namespace tiderace::db::redis
