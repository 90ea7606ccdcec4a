#include "tiderace/task/scope.h"

#include <utility>

namespace tiderace::task {

class Scope::Child final : public Root {
  public:
    Child(Scope& scope, std::size_t index) : scope_(&scope), index_(index) {}

  private:
    friend class Scope;

    void on_done(std::exception_ptr failure) override {
        if (scope_ != nullptr) scope_->child_done(*this, std::move(failure));
    }

    Scope* scope_;  // nullptr: cancelled
    std::size_t index_;
};

Scope::Scope() : Scope(*Context::here().runner, Context::here().deadline) {}

Scope::Scope(Runner& runner, Instant deadline) : runner_(&runner), deadline_(deadline) {}

Scope::~Scope() {
    cancel();
    if (failure_) log_failure(runner_->loop().log(), failure_);
}

void Scope::spawn(Task<> task) {
    if (failure_) return;  // the others are cancelled already; the task ends unrun
    children_.push_back(std::make_unique<Child>(*this, children_.size()));
    children_.back()->start(*runner_, std::move(task), deadline_);
}

std::unique_ptr<Scope::Child> Scope::take(std::size_t index) {
    // The last one takes its place: removing one costs the same however many there are.
    std::swap(children_[index], children_.back());
    children_[index]->index_ = index;
    std::unique_ptr<Child> child = std::move(children_.back());
    children_.pop_back();
    return child;
}

void Scope::cancel() {
    while (!children_.empty()) {
        std::unique_ptr<Child> child = take(children_.size() - 1);
        // It may outlive the scope (below), so it must not find its way back.
        child->scope_ = nullptr;
        // One that is on the stack is what cancels us: its frame ends when it next waits.
        if (child->on_stack()) {
            runner_->destroy_later(std::move(child));
        }
    }
    if (joining_ != nullptr) joining_->wake();
}

void Scope::child_done(Child& child, std::exception_ptr failure) {
    const std::unique_ptr<Child> ended = take(child.index_);
    if (failure && !failure_) {
        // The first failure counts: cancelling the others may make them fail as well.
        failure_ = std::move(failure);
        return cancel();
    }
    if (children_.empty() && joining_ != nullptr) joining_->wake();
}

void Scope::Joined::await_suspend(std::coroutine_handle<> handle) {
    TR_CHECK(scope_->joining_ == nullptr, "a scope is joined by one coroutine at a time");
    waiter_.suspend(handle);
    scope_->joining_ = &waiter_;
    waiting_ = true;
}

void Scope::Joined::await_resume() {
    if (std::exchange(waiting_, false)) scope_->joining_ = nullptr;
    if (scope_->failure_) std::rethrow_exception(std::exchange(scope_->failure_, nullptr));
}

}  // namespace tiderace::task
