#include "tiderace/core/contain.h"

#include <exception>
#include <new>

namespace tiderace::core {

void log_exception(log::Logger* log, std::string_view scope, std::string_view thrower) noexcept {
    if (log == nullptr) return;
    const auto log_line = [&](log::Often kind, std::string_view what) {
        const auto left_out = log->may_log(kind);
        if (!left_out) return;
        constexpr ByteView text = "an exception was caught; its work is dropped";
        const log::Field by = log::field("by", thrower);
        // A handler that throws for each request must not fill the disk with its lines.
        if (*left_out > 0) {
            log->error(scope, text, by, log::field("what", what),
                       log::field("more_before", *left_out));
        } else {
            log->error(scope, text, by, log::field("what", what));
        }
    };
    // The caller is inside a catch: thrown again, the exception shows its type.
    try {
        throw;
    } catch (const std::bad_alloc& error) {
        log_line(log::Often::out_of_memory, error.what());
    } catch (const std::exception& error) {
        log_line(log::Often::exception, error.what());
    } catch (...) {
        log_line(log::Often::exception, "not a std::exception");
    }
}

}  // namespace tiderace::core
