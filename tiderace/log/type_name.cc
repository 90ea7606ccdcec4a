#include "tiderace/log/type_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

namespace tiderace::log {
namespace {

struct Free {
    void operator()(char* block) const { std::free(block); }
};

}  // namespace

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, Free> made(abi::__cxa_demangle(name, nullptr, nullptr, &status));
    return status == 0 && made != nullptr ? made.get() : name;
}

std::string current_exception_type() {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    return type != nullptr ? demangled(type->name()) : "none";
}

}  // namespace tiderace::log
