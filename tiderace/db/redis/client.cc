#include "tiderace/db/redis/client.h"

#include <algorithm>
#include <chrono>

#include "tiderace/base/moment.h"
#include "tiderace/db/redis/own_connection.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db::redis {
namespace {

std::string milliseconds(Duration duration) {
    // Rounded up: at 0 milliseconds SET is refused, and PEXPIRE removes the key.
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

bool was_done(resp::Reply reply) {
    return !reply.is_null();
}

task::Task<Loan> borrow(const std::shared_ptr<const Settings>& settings, std::string_view key) {
    task::Runner& runner = *task::Context::here().runner;
    Hub& hub = runner.local<Hubs>().of(settings);
    const Instant until = std::min(
        moment_after(runner.loop().now(), settings->options.waiting_timeout), task::deadline());
    return hub.node_of(key).own().take(until);
}

}  // namespace

Client::Client(Place place, const Options& options)
    : settings_(std::make_shared<const Settings>(Settings{std::move(place), options})) {}

Pending<std::optional<std::string>> Client::get(std::string_view key) const {
    return {settings_, make_command("GET", key)};
}

Pending<bool> Client::set(std::string_view key, std::string_view value, SetOptions options) const {
    std::vector<std::string_view> words = {"SET", key, value};
    const std::string expires = milliseconds(options.expires);
    if (options.expires > Duration::zero()) words.insert(words.end(), {"PX", expires});
    if (options.only_if == SetOptions::If::absent) words.push_back("NX");
    if (options.only_if == SetOptions::If::present) words.push_back("XX");
    return {settings_, make_command(Arguments(words)), was_done};
}

Pending<bool> Client::remove(std::string_view key) const {
    return {settings_, make_command("DEL", key)};
}

Pending<bool> Client::exists(std::string_view key) const {
    return {settings_, make_command("EXISTS", key)};
}

Pending<bool> Client::expire(std::string_view key, Duration after) const {
    return {settings_, make_command("PEXPIRE", key, milliseconds(after))};
}

Pending<std::int64_t> Client::increment(std::string_view key, std::int64_t by) const {
    return {settings_, make_command("INCRBY", key, std::to_string(by))};
}

Pending<std::int64_t> Client::publish(std::string_view channel, std::string_view message) const {
    return {settings_, make_command("PUBLISH", channel, message)};
}

Pending<void> Client::ping() const {
    return {settings_, make_command("PING")};
}

task::Task<Transaction> Client::transaction(std::string key) const {
    return
        [](std::shared_ptr<const Settings> settings, std::string about) -> task::Task<Transaction> {
            co_return Transaction(co_await borrow(settings, about));
        }(settings_, std::move(key));
}

task::Task<Reply> Client::ask_blocking(std::shared_ptr<const Settings> settings, Duration wait,
                                       Command command) {
    // It goes back to the reserve afterwards, so it must not stay in MULTI, or in another database.
    if (command.use == Use::connection) check_shared(command);
    const std::string key(command.key());
    const Loan loan = co_await borrow(settings, key);
    Link& link = static_cast<OwnConnection&>(*loan.get()).link();
    const Duration usual = settings->options.command_timeout;
    // The server answers only when it has waited; after that it has the usual time.
    link.set_patience(wait < Duration::max() - usual ? wait + usual : Duration::max());
    Reply reply = co_await ask(link, std::move(command));
    link.set_patience(usual);
    co_return reply;
}

Hub::Counters Client::counters() const {
    return task::Context::here().runner->local<Hubs>().of(settings_).counters();
}

Client open(std::string_view url, const Options& options) {
    Place place = Place::parse(url);
    // Refused, and not sent in clear: the URL promises TLS, and the first command has the password.
    if (place.tls && options.security == nullptr) {
        throw Error(Fault::configuration,
                    "rediss:// needs Options::security, such as a tcp::ClientTls");
    }
    return {std::move(place), options};
}

}  // namespace tiderace::db::redis
