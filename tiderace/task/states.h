// LoopStates: the objects that handlers take by type, as an App's state() and share() say them.
// States: the states of one loop.
//
//   tcp::serve(":7000", session, {.states = LoopStates().state<Topics>(topics()).share(settings)})
//
// Owner    LoopStates: the options of a server. States: its loop; what is shared outlives them.
// Thread   LoopStates: the one that starts the server. States: the loop's.
// Keywords: dependency injection, global, per-thread object
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/base/shared_function.h"

namespace tiderace::core {
class EventLoop;
}

namespace tiderace::task {

// One address for each type, the same in all files.
template <typename S>
inline constexpr char state_key_of = 0;
template <typename S>
inline constexpr const void* state_key = &state_key_of<S>;

class States {
  public:
    struct Entry {
        const void* key = nullptr;
        void* object = nullptr;
        bool shared = false;  // between loops: constant
    };
    void add(Entry entry) { entries_.push_back(entry); }
    // nullptr: there is none, or it is shared and asked for as one's own.
    void* find(const void* key, bool constant) const {
        for (const Entry& entry : entries_) {
            if (entry.key == key && (constant || !entry.shared)) return entry.object;
        }
        return nullptr;
    }
    // nullptr: as above; `const S` finds a shared one, too.
    template <typename S>
    S* find() const {
        return static_cast<S*>(find(state_key<std::remove_const_t<S>>, std::is_const_v<S>));
    }
    // One of the loop's own, which is there.
    template <typename S>
    S& get() const {
        S* const found = find<S>();
        TR_CHECK(found != nullptr, "a state that the loop was given");
        return *found;
    }

  private:
    friend class LoopStates;

    std::vector<Entry> entries_;
    std::vector<std::shared_ptr<void>> owned_;
};

class LoopStates {
  public:
    // One for each loop, made when it starts: handlers take it as `S&`.
    template <typename S, typename F>
    LoopStates& state(F make) {
        constexpr bool makes = requires(const F& f, core::EventLoop& loop) {
            { f(loop) } -> std::convertible_to<std::shared_ptr<S>>;
        };
        static_assert(makes,
                      "a state is made by a function of core::EventLoop& that returns a"
                      " std::unique_ptr or std::shared_ptr of it, called as const");
        if constexpr (makes) {
            all_.push_back({state_key<S>,
                            [make = std::move(make)](core::EventLoop& loop) {
                                std::shared_ptr<S> made = make(loop);
                                return std::shared_ptr<void>(std::move(made));
                            },
                            nullptr});
        }
        return *this;
    }
    // One for all loops: handlers take it as `const S&`. It outlives the serving.
    template <typename S>
    LoopStates& share(const S& shared) {
        all_.push_back({state_key<S>, nullptr, const_cast<S*>(&shared)});
        return *this;
    }
    template <typename S>
        requires(!std::is_lvalue_reference_v<S>)
    LoopStates& share(S&&) {
        static_assert(std::is_lvalue_reference_v<S>, "share() keeps a reference: no temporary");
        return *this;
    }

    // Adds the states of a loop to its own.
    void make(core::EventLoop& loop, States& states) const;
    void take(LoopStates&& other);  // the states of another one, behind these
    bool has(const void* key, bool shared) const;

  private:
    struct Source {
        const void* key;
        shared_function<std::shared_ptr<void>(core::EventLoop&)> make;
        void* shared;
    };
    std::vector<Source> all_;
};

// The parameters of a function that takes states: `S&`, or `const S&` for a shared one, too.
template <typename... A>
struct StateArguments {
    static constexpr bool fits =
        ((std::is_lvalue_reference_v<A> && std::is_class_v<std::remove_cvref_t<A>>) && ...);

    // nullopt: one is missing.
    static std::optional<std::tuple<A...>> find([[maybe_unused]] const States& states) {
        const std::tuple found{states.find<std::remove_reference_t<A>>()...};
        return std::apply(
            [](auto*... each) -> std::optional<std::tuple<A...>> {
                if (((each == nullptr) || ...)) return std::nullopt;
                return std::tuple<A...>(*each...);
            },
            found);
    }
};

}  // namespace tiderace::task

namespace tiderace {

using task::LoopStates;

}  // namespace tiderace
