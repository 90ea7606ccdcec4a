#include "tiderace/http/wire/cache_control.h"

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {

bool forbids_transform(ByteView cache_control) {
    for (ListReader list(cache_control); list.next();) {
        if (equals_ignoring_case(list.element(), "no-transform")) return true;
    }
    return false;
}

}  // namespace tiderace::http::wire
