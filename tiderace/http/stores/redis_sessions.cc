#include "tiderace/http/stores/redis_sessions.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "tiderace/db/redis/script.h"
#include "tiderace/task/context.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {
namespace {

using db::redis::Keys;
using db::redis::Script;

// Scripts, because each is a look and a writing in one step. ARGV: the new end as text, the
// milliseconds until then, and texts.
const Script replace_script(
    "local found = redis.call('GET', KEYS[1])\n"
    "if not found then return 0 end\n"
    "local space = string.find(found, ' ', 1, true)\n"
    "if not space or string.sub(found, space + 1) ~= ARGV[3] then return 1 end\n"
    "redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[4], 'PX', ARGV[2])\n"
    "return 2");
const Script prolong_script(
    "local found = redis.call('GET', KEYS[1])\n"
    "if not found then return 0 end\n"
    "local space = string.find(found, ' ', 1, true)\n"
    "if not space then return 0 end\n"
    "redis.call('SET', KEYS[1], ARGV[1] .. string.sub(found, space), 'PX', ARGV[2])\n"
    "return 1");

std::optional<SessionStore::Found> read(std::string_view text) {
    SessionStore::Found found;
    const char* const end = text.data() + text.size();
    const auto [at, fault] = std::from_chars(text.data(), end, found.expires);
    if (fault != std::errc() || at == end || *at != ' ') return std::nullopt;
    found.text.assign(at + 1, end);
    return found;
}

// Redis rejects a key that expires at once, and one that expires after its calendar.
std::int64_t milliseconds_left(UnixSeconds expires) {
    constexpr UnixSeconds seconds_max = 100LL * 365 * 24 * 60 * 60;
    const UnixSeconds now = task::Context::here().runner->loop().unix_now();
    return std::clamp<UnixSeconds>(expires - now, 0, seconds_max) * 1'000 + 1;
}

}  // namespace

task::Task<std::optional<SessionStore::Found>> RedisSessions::load(std::string key,
                                                                   UnixSeconds now) {
    const std::string name = prefix_ + key;
    const auto text = co_await redis_.get(name);
    if (!text) co_return std::nullopt;
    auto found = read(*text);
    // The key expires by Redis's clock and the session by ours, so the end is compared here, too.
    if (found && found->expires <= now) found.reset();
    co_return found;
}

task::Task<> RedisSessions::save(std::string key, std::string data, UnixSeconds expires) {
    const std::string name = prefix_ + key;
    const std::string text = std::to_string(expires) + " " + data;
    const std::int64_t left = milliseconds_left(expires);
    co_await redis_.command<void>("SET", name, text, "PX", left);
}

task::Task<SessionStore::Replaced> RedisSessions::replace(std::string key, std::string before,
                                                          std::string data, UnixSeconds expires) {
    const Keys keys(prefix_ + key);
    const std::string end = std::to_string(expires);
    const std::int64_t left = milliseconds_left(expires);
    const auto did =
        co_await replace_script.run<std::int64_t>(redis_, keys, end, left, before, data);
    co_return did == 2 ? Replaced::done : did == 1 ? Replaced::changed : Replaced::gone;
}

task::Task<bool> RedisSessions::prolong(std::string key, UnixSeconds expires) {
    const Keys keys(prefix_ + key);
    const std::string end = std::to_string(expires);
    const std::int64_t left = milliseconds_left(expires);
    const auto did = co_await prolong_script.run<std::int64_t>(redis_, keys, end, left);
    co_return did == 1;
}

task::Task<std::optional<std::string>> RedisSessions::take(std::string key) {
    const std::string name = prefix_ + key;
    const auto text = co_await redis_.command<std::optional<std::string>>("GETDEL", name);
    if (!text) co_return std::nullopt;
    auto found = read(*text);
    if (!found) co_return std::nullopt;
    co_return std::move(found->text);
}

}  // namespace tiderace::http
