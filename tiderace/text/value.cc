#include "tiderace/text/value.h"

#include <type_traits>

namespace tiderace::text {

Ref Value::ref() const {
    return std::visit(
        [](const auto& held) -> Ref {
            using T = std::remove_cvref_t<decltype(held)>;
            if constexpr (std::same_as<T, std::monostate>) {
                return nothing;
            } else if constexpr (std::same_as<T, Ref>) {
                return held;
            } else if constexpr (requires { *held; }) {
                return held ? ref_to(*held) : nothing;
            } else {
                return ref_to(held);
            }
        },
        held_);
}

}  // namespace tiderace::text
