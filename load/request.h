// LoadRequest: the request, rendered once, in the forms that each version of HTTP sends.
//
// Thread   Plain data: made before the workers start, read-only after.
// Memory   The body once, and a batch of at most batch_bytes_max more.
#pragma once

#include <string>

#include "load/options.h"
#include "load/target.h"

namespace tiderace::load {

struct LoadRequest {
    // So much is copied for each send; longer bodies are sent from where they are.
    static constexpr std::size_t batch_bytes_max = 256 * 1024;

    bool is_head = false;
    bool has_body = false;
    std::string body;
    // HTTP/1: one head, and as many whole requests as a connection may have under way, if they are
    // batch_bytes_max at most; otherwise "".
    std::string head;
    std::string batch;
    std::size_t bytes = 0;  // of one request, with its body
    // HTTP/2, field blocks: the first one of a connection puts its fields into the server's table,
    // all others name them; `plain` works without a table, for servers that have none.
    std::string block_first;
    std::string block_again;
    std::string block_plain;
};

LoadRequest render_request(const LoadTarget& target, const LoadOptions& options);

}  // namespace tiderace::load
