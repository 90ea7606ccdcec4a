#include "tiderace/db/redis/transaction.h"

#include <utility>

#include "tiderace/db/redis/own_connection.h"
#include "tiderace/db/redis/pipeline.h"

namespace tiderace::db::redis {
namespace {

// Replies of an EXEC; nullopt: it was not done.
std::optional<std::vector<Reply>> results_of(const std::vector<Reply>& replies) {
    for (const Reply& each : replies) {
        // A command that was refused while it was queued: EXEC then does none (EXECABORT).
        if (&each != &replies.back() && each.view().is_error()) throw error_of(each.view());
    }
    const resp::Reply all = replies.back().view();
    // A watched key has changed since (WATCH): the caller reads again and tries once more.
    if (all.is_null()) return std::nullopt;
    if (!all.is_aggregate()) refuse_reply(all, "the replies of a transaction");
    std::vector<Reply> results;
    for (const resp::Reply each : all) results.push_back(each.copy());
    return results;
}

}  // namespace

OwnConnection& Transaction::connection() const {
    if (loan_.get() == nullptr) {
        throw Error(Fault::other, "the loop that this transaction was begun on has ended");
    }
    return static_cast<OwnConnection&>(*loan_.get());
}

void Transaction::queue(Command command) {
    check_shared(command);
    queued_.push_back(std::move(command));
}

task::Task<Reply> Transaction::ask_now(Command command) {
    check_shared(command);
    Reply reply = co_await ask(connection().link(), std::move(command));
    if (reply.view().is_error()) throw error_of(reply.view());
    co_return reply;
}

task::Task<> Transaction::start_watch(Command command) {
    OwnConnection& own = connection();
    // Before the answer: a connection whose WATCH may have arrived must not be lent out as clean.
    own.set_watching(true);
    const Reply reply = co_await ask(own.link(), std::move(command));
    if (reply.view().is_error()) throw error_of(reply.view());
}

// MULTI, and its answer.
task::Task<> Transaction::begin() {
    OwnConnection& own = connection();
    own.set_in_multi(true);
    std::optional<Error> failure;
    try {
        const Reply begun = co_await ask(own.link(), make_command("MULTI"));
        if (!begun.view().is_error()) co_return;
        own.set_in_multi(false);
        failure = error_of(begun.view());
    } catch (const Error& error) {
        // Nothing of the program's was sent.
        const bool unknown = error.kind() == Fault::unknown_outcome;
        failure = unknown ? error.with_kind(Fault::connection_lost) : error;
    }
    throw *failure;
}

task::Task<std::optional<std::vector<Reply>>> Transaction::exec() {
    OwnConnection& own = connection();
    const std::vector<Command> commands = std::exchange(queued_, {});
    co_await begin();
    Pipeline all(own.link());
    for (const Command& each : commands) all.add(each);
    all.add(make_command("EXEC"));
    const std::vector<Reply> replies = co_await all.run();
    const resp::Reply last = replies.back().view();
    // Any other error leaves it open.
    if (!last.is_error() || last.text().starts_with("EXECABORT")) {
        own.set_in_multi(false);
        own.set_watching(false);
    }
    co_return results_of(replies);
}

}  // namespace tiderace::db::redis
