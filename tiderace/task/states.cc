#include "tiderace/task/states.h"

#include <algorithm>
#include <iterator>

namespace tiderace::task {

void LoopStates::make(core::EventLoop& loop, States& states) const {
    for (const Source& source : all_) {
        if (source.shared != nullptr) {
            states.add({source.key, source.shared, true});
            continue;
        }
        states.owned_.push_back(source.make(loop));
        states.add({source.key, states.owned_.back().get(), false});
    }
}

void LoopStates::take(LoopStates&& other) {
    std::ranges::move(other.all_, std::back_inserter(all_));
}

bool LoopStates::has(const void* key, bool shared) const {
    return std::ranges::any_of(all_, [&](const Source& source) {
        return source.key == key && (source.shared != nullptr) == shared;
    });
}

}  // namespace tiderace::task
