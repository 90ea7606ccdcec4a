// Conditional requests (RFC 9110 section 13): whether to go on, answer 304 or answer 412.
//
// Thread   Any; no state, no clock: the caller passes the time.
// Errors   A condition that is not well-formed is no condition, except If-Match: what cannot be
//          read matches nothing, so that nothing is changed by mistake.
// Memory   None.
// Keywords: 304, 412, If-None-Match, If-Modified-Since, If-Match, If-Range
#pragma once

#include <cstdint>
#include <optional>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/entity_tag.h"

namespace tiderace::http::wire {

// The values of the request's fields; "" for one that is not there (or is empty, which says
// nothing).
struct Conditions {
    ByteView if_match;
    ByteView if_none_match;
    ByteView if_modified_since;
    ByteView if_unmodified_since;

    bool any() const {
        return !if_match.empty() || !if_none_match.empty() || !if_modified_since.empty() ||
               !if_unmodified_since.empty();
    }
};

// What is known of the representation that an unconditional request would get.
struct Validators {
    std::optional<EntityTag> tag;
    std::optional<UnixSeconds> last_modified;
    UnixSeconds now = 0;  // for dates with two digits of year
};

enum class Precondition : std::uint8_t {
    proceed,
    not_modified,  // 304; GET and HEAD only
    failed,        // 412
};

// In the order of section 13.2.2. For a target that exists: where there is none the answer is 404,
// whatever the conditions say.
Precondition evaluate(const Conditions& conditions, const Validators& validators,
                      bool is_get_or_head);

// Whether a Range goes with this If-Range: the tag matches strongly, or the date is exactly the
// last modification. A false one is answered by the whole.
bool if_range_matches(ByteView if_range, const Validators& validators);

}  // namespace tiderace::http::wire
