#include "tiderace/http/app/app.h"

namespace tiderace::http {

App& App::add(wire::Method method, std::string pattern, std::size_t parameters,
              std::unique_ptr<app::Endpoint> endpoint) {
    if (!fault_.empty()) return *this;
    const auto number = static_cast<std::uint32_t>(routes_.size());
    if (const auto added = router_.add(method, pattern, number); !added) {
        fault_ = added.error();
    } else if (route::count_parameters(pattern) != parameters) {
        fault_ = "route " + pattern + ": its handler takes " + std::to_string(parameters) +
                 " parameters of the path";
    }
    routes_.push_back({std::move(pattern), std::move(endpoint)});
    return *this;
}

}  // namespace tiderace::http
