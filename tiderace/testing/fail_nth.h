// FailNth: counts the system calls that pass through it, and makes one of them fail.
//
//   fail_each([&](std::uint64_t nth) {          the operation with its 1st call failing, its 2nd, …
//       FakeWorld world;
//       world.kernel().fail(nth);
//       … run it, check what must hold …
//       return world.kernel().failed();         false: it ran through, and that ends it
//   });
//
// Thread   One.
// Errors   A call that fails is not made, except close, which frees the descriptor as the real one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/forwarding_kernel.h"

namespace tiderace::testing {

using Call = core::KernelCall;
std::string_view to_string(Call call);
// A fault this call is known for: an errno value that is not a mere "again".
int usual_error(Call call);

class FailNth final : public core::ForwardingKernel {
  public:
    using ForwardingKernel::ForwardingKernel;

    // The nth call from now (1: the next one), of any kind or of one, fails with `error`, an errno
    // value; 0 means the usual one. Takes the place of an earlier order.
    void fail(std::uint64_t nth, int error = 0, std::optional<Call> kind = std::nullopt);
    // Every call of this kind fails until `error` is 0 again.
    void fail_all(Call kind, int error) { always_[static_cast<std::size_t>(kind)] = error; }
    // Whether the nth call was reached, and which it was.
    bool failed() const { return failed_.has_value(); }
    std::optional<Call> failed_call() const { return failed_; }

    std::uint64_t calls(Call kind) const { return calls_[static_cast<std::size_t>(kind)]; }
    std::uint64_t calls() const;

  private:
    int before(Call kind) override;
    // 0, or the errno that this call fails with.
    int arrived(Call kind);

    std::array<std::uint64_t, static_cast<std::size_t>(Call::count_)> calls_{};
    std::array<int, static_cast<std::size_t>(Call::count_)> always_{};
    std::uint64_t countdown_ = 0;  // 0: nothing is to fail
    int error_ = 0;
    std::optional<Call> kind_;
    std::optional<Call> failed_;
};

// Runs operation(1), operation(2), … until one returns false: it did not reach its nth call.
// Returns how many calls the operation has.
template <typename Operation>
std::uint64_t fail_each(Operation&& operation, std::uint64_t calls_max = 10'000) {
    for (std::uint64_t nth = 1; nth <= calls_max; ++nth) {
        if (!operation(nth)) return nth - 1;
    }
    TR_CHECK(false, "the operation makes more calls each time");
    return calls_max;
}

}  // namespace tiderace::testing
