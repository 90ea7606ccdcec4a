#include "tiderace/db/redis/own_connection.h"

#include "tiderace/task/within.h"

namespace tiderace::db::redis {

task::Task<> OwnConnection::open(Instant deadline) {
    link_ = co_await open_link(settings_->place, address_, settings_->options, deadline);
}

task::Task<bool> OwnConnection::recover() {
    // The reply to a command whose task was cancelled may take for ever; what it takes from a list
    // while we wait for it would be lost.
    if (broken() || in_multi_ || link_->unanswered() > 0) co_return false;
    // A task that ended between the reply to its blocking command and its next step has left the
    // patience for that (Client::ask_blocking).
    link_->set_patience(settings_->options.command_timeout);
    // A watched key would make the next task's EXEC fail.
    const Reply reply = co_await ask(*link_, make_command("UNWATCH"));
    watching_ = false;
    co_return !reply.view().is_error();
}

task::Task<bool> OwnConnection::answers(Instant deadline) {
    try {
        const Duration left = deadline - task::Context::here().runner->loop().now();
        const auto reply = co_await task::within(left, ask(*link_, make_command("PING")));
        co_return reply && !reply->view().is_error();
    } catch (const Error&) {
        co_return false;
    }
}

}  // namespace tiderace::db::redis
