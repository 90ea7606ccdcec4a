// Internal. Locals: what the tasks of one loop share: a resolver, a pool of connections. One of
// each type.
//
// Owner    The Runner. They end with it, after all that was spawned, the last one made first.
// Thread   The loop's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tiderace/base/language.h"

namespace tiderace::task {

class Runner;

class Locals final {
  public:
    Locals() = default;
    Locals(const Locals&) = delete;
    Locals& operator=(const Locals&) = delete;
    ~Locals() { end_all(); }

    // The T of this runner, made as T(runner) at the first call. Its constructor may ask
    // for others, which then outlive it.
    template <typename T>
    T& get(Runner& runner) {
        static constexpr char identity = 0;
        for (const auto& each : all_) {
            if (each->identity == &identity) return static_cast<Kept<T>&>(*each).value;
        }
        auto made = std::make_unique<Kept<T>>(&identity, runner);
        T& value = made->value;
        all_.push_back(std::move(made));
        return value;
    }

    void end_all() {
        while (!all_.empty()) {
            const std::unique_ptr<Any> last = std::move(all_.back());  // not found while it ends
            all_.pop_back();
        }
    }

  private:
    struct Any {
        explicit Any(const void* type) : identity(type) {}
        virtual ~Any() = default;
        const void* identity;
    };
    template <typename T>
    struct Kept final : Any {
        Kept(const void* type, Runner& runner) : Any(type), value(runner) {}
        T value;
    };

    std::vector<std::unique_ptr<Any>> all_;
};

}  // namespace tiderace::task
