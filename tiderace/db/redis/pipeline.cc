#include "tiderace/db/redis/pipeline.h"

#include "tiderace/db/redis/hub.h"

namespace tiderace::db::redis {

void check_shared(const Command& command) {
    if (command.use == Use::shared) return;
    throw Error(Fault::parameters,
                command.use == Use::blocking
                    ? "a command that blocks would hold up all others: use blocking()"
                    : "this command changes the connection, which others use: see transaction() "
                      "and subscribe(), or the URL");
}

void Pipeline::add(Command command) {
    // On a connection of its own (EXEC's) it may do anything.
    if (link_ == nullptr) check_shared(command);
    parts_.push_back(std::make_unique<Part>(*this, std::move(command)));
}

Pipeline::Run Pipeline::run() {
    return Run(*this);
}

void Pipeline::one_ended() {
    if (--left_ == 0 && waiter_ != nullptr) waiter_->wake();
}

void Pipeline::submit(Part& part) {
    if (link_ == nullptr) {
        return task::Context::here().runner->local<Hubs>().of(settings_).submit(part);
    }
    if (link_->broken()) return part.fail(link_->failure());
    link_->send(part);
}

void Pipeline::Run::await_suspend(std::coroutine_handle<> handle) {
    waiter_.suspend(handle);
    Pipeline& pipeline = *pipeline_;
    // All before the first is sent: one that fails at once counts down before the next is sent.
    pipeline.left_ = pipeline.parts_.size();
    pipeline.waiter_ = &waiter_;
    for (const auto& part : pipeline.parts_) {
        part->all_ = &pipeline;  // it may have been moved
        pipeline.submit(*part);
    }
}

std::vector<Reply> Pipeline::Run::await_resume() {
    pipeline_->waiter_ = nullptr;
    std::vector<Reply> replies;
    replies.reserve(pipeline_->parts_.size());
    for (const auto& part : pipeline_->parts_) {
        // The first one's, after all have an outcome.
        if (part->failure) throw *part->failure;
        replies.push_back(std::move(part->reply));
    }
    pipeline_->parts_.clear();
    return replies;
}

}  // namespace tiderace::db::redis
