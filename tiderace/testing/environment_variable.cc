#include "tiderace/testing/environment_variable.h"

#include <cstdlib>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::testing {
namespace {

void set(const std::string& name, const std::optional<std::string>& value) {
    // The only two calls that change the environment, in tests of one thread.
    // NOLINTBEGIN(concurrency-mt-unsafe)
    const int outcome =
        value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    // NOLINTEND(concurrency-mt-unsafe)
    TR_CHECK(outcome == 0, "no such name is possible");
}

}  // namespace

EnvironmentVariable::EnvironmentVariable(std::string name, const std::optional<std::string>& value)
    : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    set(name_, value);
}

EnvironmentVariable::~EnvironmentVariable() {
    set(name_, before_);
}

}  // namespace tiderace::testing
