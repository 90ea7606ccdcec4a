// Internal. Interest: the directions in which a descriptor is watched, or was found ready.
#pragma once

#include "tiderace/base/language.h"

namespace tiderace::core {

struct Interest {
    bool readable = false;
    bool writable = false;

    bool operator==(const Interest&) const = default;
    bool any() const { return readable || writable; }
};

}  // namespace tiderace::core
