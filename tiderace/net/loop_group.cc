#include "tiderace/net/loop_group.h"

#include <string>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/thread_name.h"

namespace tiderace::net {

Result<std::unique_ptr<LoopGroup>> LoopGroup::create(std::size_t loops,
                                                     const core::LoopOptions& options) {
    TR_CHECK(loops > 0);
    std::vector<std::unique_ptr<core::EventLoop>> made;
    for (std::size_t i = 0; i < loops; ++i) {
        auto loop = core::EventLoop::create(options);
        if (!loop) return fail(loop.error());
        made.push_back(std::move(*loop));
    }
    return std::unique_ptr<LoopGroup>(new LoopGroup(std::move(made)));
}

LoopGroup::~LoopGroup() {
    TR_CHECK(threads_.empty(), "run() has not returned");
}

void LoopGroup::run() {
    for (std::size_t i = 1; i < loops_.size(); ++i) {
        threads_.emplace_back([this, i] {
            name_this_thread("loop " + std::to_string(i));
            loops_[i]->run();
        });
    }
    loops_[0]->run();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

std::unique_ptr<Intake> LoopGroup::make_intake(std::vector<Intake::Target>, const IntakeOptions&) {
    return nullptr;
}

void LoopGroup::stop() {
    for (auto& loop : loops_) loop->request_stop();
}

}  // namespace tiderace::net
