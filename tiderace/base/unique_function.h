// Internal. unique_function: a callable that is moved, never copied, with room for small ones
// inside.
//
// std::move_only_function, which libc++ lacks. Callables up to `inline_bytes` with a noexcept move
// live inside; larger ones take one allocation.
// Thread   One at a time.
// Errors   Calling an empty one aborts.
#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace {

template <typename Signature>
class unique_function;

template <typename R, typename... Args>
class unique_function<R(Args...)> {
  public:
    static constexpr std::size_t inline_bytes = 4 * sizeof(void*);

    unique_function() = default;
    unique_function(std::nullptr_t) {}

    template <typename F>
        requires(!std::same_as<std::remove_cvref_t<F>, unique_function> &&
                 !std::is_member_pointer_v<std::remove_cvref_t<F>> &&
                 std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
    unique_function(F&& callable) {
        using Callable = std::remove_cvref_t<F>;
        if constexpr (fits<Callable>()) {
            ::new (storage_) Callable(std::forward<F>(callable));
            operations_ = &inline_operations<Callable>;
        } else {
            ::new (storage_) Callable*(new Callable(std::forward<F>(callable)));
            operations_ = &heap_operations<Callable>;
        }
    }

    unique_function(unique_function&& other) noexcept { take(other); }
    unique_function& operator=(unique_function&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~unique_function() { reset(); }

    explicit operator bool() const { return operations_ != nullptr; }

    R operator()(Args... args) {
        TR_CHECK(operations_ != nullptr, "call of an empty unique_function");
        return operations_->call(storage_, std::forward<Args>(args)...);
    }

  private:
    struct Operations {
        R (*call)(void* storage, Args&&... args);
        void (*move_to)(void* from, void* to) noexcept;  // leaves `from` destroyed
        void (*destroy)(void* storage) noexcept;
    };

    template <typename F>
    static constexpr bool fits() {
        // Moving must not throw, because a vector of these moves them when it grows. On the heap
        // only the pointer moves.
        return sizeof(F) <= inline_bytes && alignof(F) <= alignof(void*) &&
               std::is_nothrow_move_constructible_v<F>;
    }
    // Not std::invoke_r: <functional> costs every file that includes this a tenth of a second.
    template <typename F>
    static R invoke(F& callable, Args&&... args) {
        if constexpr (std::is_void_v<R>) {
            static_cast<void>(callable(std::forward<Args>(args)...));
        } else {
            return callable(std::forward<Args>(args)...);
        }
    }
    template <typename F>
    static constexpr Operations inline_operations{
        [](void* storage, Args&&... args) -> R {
            return invoke(*static_cast<F*>(storage), std::forward<Args>(args)...);
        },
        [](void* from, void* to) noexcept {
            ::new (to) F(std::move(*static_cast<F*>(from)));
            static_cast<F*>(from)->~F();
        },
        [](void* storage) noexcept { static_cast<F*>(storage)->~F(); },
    };
    template <typename F>
    static constexpr Operations heap_operations{
        [](void* storage, Args&&... args) -> R {
            return invoke(**static_cast<F**>(storage), std::forward<Args>(args)...);
        },
        [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
        [](void* storage) noexcept { delete *static_cast<F**>(storage); },
    };

    void take(unique_function& other) noexcept {
        if (other.operations_ != nullptr) other.operations_->move_to(other.storage_, storage_);
        operations_ = std::exchange(other.operations_, nullptr);
    }
    void reset() noexcept {
        if (operations_ != nullptr) operations_->destroy(storage_);
        operations_ = nullptr;
    }

    alignas(void*) unsigned char storage_[inline_bytes];
    const Operations* operations_ = nullptr;
};

}  // namespace tiderace
