#include "tiderace/base/constant_time.h"

namespace tiderace {

bool equals_in_constant_time(ByteView expected, ByteView given) {
    // An empty expectation has no byte to compare with; one of its own keeps the loop the same.
    const ByteView source = expected.empty() ? ByteView("\0", 1) : expected;
    std::size_t difference = expected.size() ^ given.size();
    for (std::size_t i = 0; i < given.size(); ++i) {
        difference |= static_cast<unsigned char>(source[i % source.size()] ^ given[i]);
    }
    volatile std::size_t result = difference;  // keeps the loop from ending at the first difference
    return result == 0;
}

}  // namespace tiderace
