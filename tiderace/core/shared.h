// Internal. Shared and Ref: an object with several owners on one loop, counted without atomics.
//
// For objects that outlive the call that made them but never leave their loop: a cached file's
// bytes, an open file that three answers are sending.
// Thread   One loop's. A Ref never crosses threads.
#pragma once

#include <cstdint>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::core {

class Shared {
  public:
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

  protected:
    Shared() = default;
    virtual ~Shared() = default;

  private:
    template <typename T>
    friend class Ref;

    std::uint32_t owners_ = 0;
};

template <typename T>
class Ref {
  public:
    Ref() = default;
    explicit Ref(T* object) : object_(object) {
        if (object_ != nullptr) ++counted().owners_;
    }
    Ref(const Ref& other) : Ref(other.object_) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    template <typename U>
        requires std::is_convertible_v<U*, T*>
    Ref(const Ref<U>& other) : Ref(other.get()) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_ != nullptr) release();
    }

    T* get() const { return object_; }
    bool only_owner() const { return object_ != nullptr && counted().owners_ == 1; }
    T& operator*() const { return *object_; }
    T* operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    Shared& counted() const { return *object_; }
    // Not inline, so that the destructor is: most references that are destroyed were moved from.
    [[gnu::noinline]] void release() {
        TR_CHECK(counted().owners_ > 0);
        if (--counted().owners_ == 0) delete &counted();
    }

    T* object_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> make_ref(Args&&... args) {
    return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace tiderace::core
