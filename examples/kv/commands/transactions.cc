// MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//
//   WATCH -> watched -- one of the keys changes --> dirty
//   MULTI -> open: commands are queued -- one cannot be --> spoiled
//   EXEC  -> spoiled: EXECABORT;  dirty: null;  else all of them, as one step
//            afterwards, and after DISCARD: nothing is open, watched or dirty
#include "examples/kv/commands.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

void multi(Call& call) {
    if (call.client.in_transaction()) {
        return call.reply.error("ERR MULTI calls can not be nested");
    }
    call.client.transaction().open = true;
    call.reply.ok();
}

void end(Call& call) {
    call.server.unwatch(call.client);
    call.client.end_transaction();
}

void exec(Call& call) {
    if (!call.client.in_transaction()) return call.reply.error("ERR EXEC without MULTI");
    auto& transaction = call.client.transaction();
    if (transaction.spoiled) {
        end(call);
        return call.reply.error("EXECABORT Transaction discarded because of previous errors.");
    }
    // Since they were queued the memory may have been used up, or the log may have failed.
    unsigned flags = 0;
    for (const QueuedCommand& each : transaction.queue) flags |= each.command().flags;
    if (const auto refused = call.server.refusal(flags)) {
        end(call);
        return call.reply.error("EXECABORT Transaction discarded because of: " + *refused);
    }
    // A watched key that has expired counts as changed, also if nothing has read it since.
    for (const std::string& key : transaction.watched) static_cast<void>(call.keys.peek(key));
    if (transaction.dirty) {
        end(call);
        return call.reply.null_array();
    }
    // Its own changes must not make it fail.
    call.server.unwatch(call.client);
    // Taken out first, because a command of the queue may end the transaction, or begin another.
    std::vector<QueuedCommand> queue = std::move(transaction.queue);
    call.client.end_transaction();
    call.reply.array(queue.size());
    call.client.set_in_exec(true);
    // MULTI and EXEC in the log, so that a torn end never replays half of a transaction.
    call.server.begin_log_group();
    for (const QueuedCommand& each : queue) {
        call.server.run(each.command(), call.client, each.arguments(), {}, call.out);
    }
    call.server.end_log_group();
    call.client.set_in_exec(false);
}

void discard(Call& call) {
    if (!call.client.in_transaction()) return call.reply.error("ERR DISCARD without MULTI");
    end(call);
    call.reply.ok();
}

void watch(Call& call) {
    if (call.client.in_transaction()) {
        return call.reply.error("ERR WATCH inside MULTI is not allowed");
    }
    for (const ByteView key : call.args.from(1)) {
        static_cast<void>(call.keys.peek(key));  // an expired one is absent, not changed
        call.server.watch(key, call.client);
    }
    call.reply.ok();
}

void unwatch(Call& call) {
    call.server.unwatch(call.client);
    if (auto* transaction = call.client.any_transaction()) transaction->dirty = false;
    call.reply.ok();
}

}  // namespace

Commands transaction_commands() {
    static constexpr Command commands[] = {
        {"multi", multi, 1, flag::in_transaction},
        {"exec", exec, 1, flag::in_transaction},
        {"discard", discard, 1, flag::in_transaction},
        {"watch", watch, -2, flag::in_transaction, 1, -1, 1},
        {"unwatch", unwatch, 1, 0},
    };
    return commands;
}

}  // namespace kv
