#include "tiderace/http/cgi/known_scripts.h"

namespace tiderace::http::cgi {

bool KnownScripts::has(const ProgramFolder& folder, ByteView path, Instant now) {
    const auto found = seen_.find(path);
    if (found != seen_.end() && now - found->second < remembered) return true;
    if (!folder.has_file(path)) {
        if (found != seen_.end()) seen_.erase(found);
        return false;
    }
    if (found != seen_.end()) {
        found->second = now;
        return true;
    }
    // Rare, because only files count: not worth an order in which they would go.
    if (seen_.size() == names_max) seen_.clear();
    seen_.emplace(path, now);
    return true;
}

}  // namespace tiderace::http::cgi
