// StreamBio: the input and output of an SSL: a view of received bytes, and a send queue. No buffer
// of its own.
//
// Owner    The SSL owns the BIO; the SSL's owner owns the StreamBio and sets it up before each
//          call.
// Thread   The loop's.
#pragma once

#include "tiderace/base/bytes.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::tls {

struct StreamBio {
    ByteView in;  // shrinks as it is read
    core::SendQueue* out = nullptr;
    core::BlockPool* pool = nullptr;
    std::uint32_t writes = 0;  // number of writes
};

// Makes the shared method table, before the first connection. False: there is no memory for it.
bool prepare_stream_bio();
// Reads and writes `stream`, which outlives it. nullptr: out of memory.
BIO* make_stream_bio(StreamBio& stream);

}  // namespace tiderace::tls
