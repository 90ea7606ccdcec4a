// EnvironmentVariable: one of the process's own, set for a test and put back after it.
//
// Thread   A test's only one, while it is made and while it goes: the environment has no lock.
#pragma once

#include <optional>
#include <string>

namespace tiderace::testing {

class EnvironmentVariable {
  public:
    // No value: there is none of that name.
    EnvironmentVariable(std::string name, const std::optional<std::string>& value);
    ~EnvironmentVariable();
    EnvironmentVariable(const EnvironmentVariable&) = delete;
    EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

  private:
    std::string name_;
    std::optional<std::string> before_;
};

}  // namespace tiderace::testing
