#include "tiderace/http/app/observe/logger.h"

#include <algorithm>

#include "tiderace/http/site_loop.h"

namespace tiderace::http {

Logger::Logger(Exchange& exchange)
    : to_(exchange.loop().log()), method_(exchange.request().method_name()) {
    const ByteView id = exchange.request().id();
    std::ranges::copy(id, id_.begin());
    id_bytes_ = static_cast<std::uint8_t>(id.size());
    if (exchange.matched() == nullptr) return;
    tree_ = exchange.tree();
    route_ = exchange.matched()->pattern;
}

}  // namespace tiderace::http
