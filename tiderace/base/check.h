// Internal. Always-on checks. A failed check is a bug of ours: it prints where and what, and
// aborts.
//
// Thread   Any.
// Errors   Never use these for a peer's or the machine's fault: those are values (result.h, enums).
// Keywords: assertion, invariant, abort
#pragma once

#include "tiderace/base/language.h"

namespace tiderace {

[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const char* why) noexcept;

}  // namespace tiderace

// TR_CHECK(x), TR_CHECK(x, "what the caller did wrong"). On in every build; costs one branch.
#define TR_CHECK(condition, ...)                       \
    (__builtin_expect(static_cast<bool>(condition), 1) \
         ? static_cast<void>(0)                        \
         : ::tiderace::check_failed(#condition, __FILE__, __LINE__, "" __VA_ARGS__))
