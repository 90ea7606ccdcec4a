// Compiles only with C++23, and only without the warnings that Tiderace asks of itself.
#include <cstdio>
#include <expected>

#include "tiderace/base/result.h"
#include "tiderace/log/logger.h"

int main() {
    int nobody_needs_this;
    const tiderace::Result<int> answer = 42;
    std::printf("%d %s\n", *answer, tiderace::log::to_string(tiderace::log::Level::info).data());
}
