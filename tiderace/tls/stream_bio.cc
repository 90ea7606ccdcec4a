#include "tiderace/tls/stream_bio.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tiderace::tls {
namespace {

StreamBio& stream_of(BIO* bio) {
    return *static_cast<StreamBio*>(BIO_get_data(bio));
}

int read_some(BIO* bio, char* to, int wanted) {
    StreamBio& stream = stream_of(bio);
    BIO_clear_retry_flags(bio);
    if (stream.in.empty()) {
        // More may come: OpenSSL reports WANT_READ instead of an end.
        BIO_set_retry_read(bio);
        return -1;
    }
    const std::size_t bytes = std::min(stream.in.size(), static_cast<std::size_t>(wanted));
    std::memcpy(to, stream.in.data(), bytes);
    stream.in.remove_prefix(bytes);
    return static_cast<int>(bytes);
}

// Accepts every write; the caller of SSL bounds its size.
int write_all(BIO* bio, const char* from, int bytes) {
    StreamBio& stream = stream_of(bio);
    BIO_clear_retry_flags(bio);
    ++stream.writes;
    // No exception crosses OpenSSL's frames: the SSL fails instead.
    try {
        stream.out->append(*stream.pool, {from, static_cast<std::size_t>(bytes)});
    } catch (const std::bad_alloc&) {
        return -1;
    }
    return bytes;
}

long control(BIO*, int command, long, void*) {
    // OpenSSL flushes after each flight of the handshake and treats anything but 1 as a failure.
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int create(BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
}

// Made by the first caller; a static's initialization is thread-safe.
BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
        BIO_METHOD* fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tiderace");
        if (fresh == nullptr) return fresh;
        BIO_meth_set_read(fresh, read_some);
        BIO_meth_set_write(fresh, write_all);
        BIO_meth_set_ctrl(fresh, control);
        BIO_meth_set_create(fresh, create);
        return fresh;
    }();
    return made;
}

}  // namespace

bool prepare_stream_bio() {
    return method() != nullptr;
}

BIO* make_stream_bio(StreamBio& stream) {
    BIO* bio = BIO_new(method());
    if (bio != nullptr) BIO_set_data(bio, &stream);
    return bio;
}

}  // namespace tiderace::tls
