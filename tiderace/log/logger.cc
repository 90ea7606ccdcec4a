#include "tiderace/log/logger.h"

namespace tiderace::log {

void put_record(Ring& ring, const Record& record, Format format) {
    char* room = ring.reserve(record_bytes_max);
    if (room == nullptr) return;
    ring.commit(render(record, format, std::span<char, record_bytes_max>(room, record_bytes_max)));
}

}  // namespace tiderace::log
