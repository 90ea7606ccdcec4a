#include "tiderace/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tiderace {

void check_failed(const char* condition, const char* file, int line, const char* why) noexcept {
    // stderr and not the log: the log's own threads may be what broke.
    std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, condition,
                 *why == '\0' ? "" : ": ", why);
    std::abort();
}

}  // namespace tiderace
