#include "tiderace/testing/engine.h"

#include <algorithm>
#include <sstream>

#include "tiderace/core/backend/kqueue.h"
#include "tiderace/core/backend/readiness.h"
#include "tiderace/testing/fake/stand_in_queue.h"

namespace tiderace::testing {

std::vector<std::string> engine_names() {
    std::istringstream engines{std::string(core::engine_names())};
    std::vector<std::string> names;
    for (std::string name; engines >> name;) names.push_back(name);
    if (std::ranges::find(names, "io_uring") != names.end())
        names.emplace_back("io_uring-together");
    if (is_stand_in("kqueue")) names.emplace_back("kqueue");
    return names;
}

bool is_io_uring(std::string_view name) {
    return name == "io_uring" || name == "io_uring-together";
}

bool is_stand_in(std::string_view name) {
    return name == "kqueue" && !core::engine_names().contains(name);
}

Result<std::unique_ptr<core::Backend>> make_engine(std::string_view name,
                                                   const core::BackendOptions& options) {
    if (name == "io_uring-together") {
        core::BackendOptions together = options;
        together.sends_together_min = 0;
        return core::make_backend("io_uring", together);
    }
    if (!is_stand_in(name)) return core::make_backend(name, options);
    return std::make_unique<core::ReadinessBackend>(
        "kqueue", core::make_kqueue_poller(std::make_unique<PolledQueue>()), options);
}

}  // namespace tiderace::testing
