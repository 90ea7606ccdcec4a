#include "tiderace/core/contain.h"

#include <exception>

namespace tiderace::core {

void log_exception(log::Logger* log, std::string_view scope, std::string_view thrower) noexcept {
    if (log == nullptr) return;
    const auto say = [&](std::string_view what) {
        log->error(scope, "an exception was caught; what it interrupted is given up",
                   log::field("by", thrower), log::field("what", what));
    };
    try {
        throw;
    } catch (const std::exception& error) {
        say(error.what());
    } catch (...) {
        say("not a std::exception");
    }
}

}  // namespace tiderace::core
