#include "tiderace/log/logger.h"

namespace tiderace::log {

void put_record(Ring& ring, const Record& record, Format format) {
    // Room for the longest line, because its length is known only when it is written; commit()
    // gives the rest back.
    char* room = ring.reserve(record_bytes_max);
    if (room == nullptr) return;  // counted by the ring
    ring.commit(render(record, format, std::span<char, record_bytes_max>(room, record_bytes_max)));
}

}  // namespace tiderace::log
