#include "tiderace/tls/client_hello.h"

#include <algorithm>

#include "tiderace/tls/records.h"

namespace tiderace::tls {
namespace {

constexpr unsigned char hello = 1;  // RFC 8446, 4
constexpr unsigned char cipher_change = 20, handshake = 22, application_data = 23;

// The next bytes of a field of fixed length. True: it is complete.
template <std::size_t Size>
bool fill(std::array<unsigned char, Size>& field, std::uint8_t& have, ByteView& rest) {
    const std::size_t taken = std::min(Size - have, rest.size());
    for (std::size_t i = 0; i < taken; ++i) field[have++] = static_cast<unsigned char>(rest[i]);
    rest.remove_prefix(taken);
    return have == Size;
}

}  // namespace

ClientHelloScan::Taken ClientHelloScan::take(ByteView bytes) {
    ByteView rest = bytes;
    Found found = Found::part;
    while (found == Found::part && !rest.empty()) {
        if (header_bytes_ < header_.size()) {
            if (fill(header_, header_bytes_, rest)) found = begin_record();
        } else {
            const ByteView payload = rest.substr(0, record_bytes_left_);
            rest.remove_prefix(payload.size());
            record_bytes_left_ -= static_cast<std::uint16_t>(payload.size());
            if (!is_skipped_) found = take_payload(payload);
        }
        if (header_bytes_ == header_.size() && record_bytes_left_ == 0) header_bytes_ = 0;
    }
    return {found, bytes.size() - rest.size()};
}

ClientHelloScan::Found ClientHelloScan::begin_record() {
    const std::size_t bytes = static_cast<std::size_t>(header_[3]) << 8U | header_[4];
    if (bytes > Records::payload_bytes_max) return Found::other;
    record_bytes_left_ = static_cast<std::uint16_t>(bytes);
    // Before its second hello a client may send the cipher change that middleboxes expect, and
    // early data that it hoped we would take (RFC 8446, D.4 and 4.2.10).
    is_skipped_ = turn_ == Turn::after_retry && head_bytes_ == 0 &&
                  (header_[0] == cipher_change || header_[0] == application_data);
    return is_skipped_ || header_[0] == handshake ? Found::part : Found::other;
}

ClientHelloScan::Found ClientHelloScan::take_payload(ByteView payload) {
    if (head_bytes_ < head_.size()) {
        const bool is_complete = fill(head_, head_bytes_, payload);
        if (head_[0] != hello) return Found::other;
        if (!is_complete) return Found::part;
        const std::size_t bytes = static_cast<std::size_t>(head_[1]) << 16U |
                                  static_cast<std::size_t>(head_[2]) << 8U | head_[3];
        if (bytes > hello_bytes_max) return Found::refused;
        message_bytes_left_ = static_cast<std::uint16_t>(bytes);
    }
    if (payload.size() < message_bytes_left_) {
        message_bytes_left_ -= static_cast<std::uint16_t>(payload.size());
        return Found::part;
    }
    // A client waits for our answer. OpenSSL would take what is behind the hello in its record with
    // it: also a second hello, which nothing has scanned.
    const bool has_more = payload.size() > message_bytes_left_ || record_bytes_left_ > 0;
    return has_more ? Found::refused : Found::whole;
}

HandshakeInput::Due HandshakeInput::add(ByteView bytes) {
    bytes_ += bytes;
    return look();
}

HandshakeInput::Due HandshakeInput::take(std::size_t bytes, bool retries) {
    bytes_.erase(0, bytes);
    ready_bytes_ -= bytes;
    // Where nothing was held back, OpenSSL has taken all, and waits for more.
    if (!has_hello_) return Due::nothing;
    has_hello_ = false;
    hello_.reset();
    if (retries) hello_.emplace(ClientHelloScan::Turn::after_retry);
    return bytes_.empty() ? Due::nothing : look();
}

HandshakeInput::Due HandshakeInput::look() {
    if (has_hello_) return Due::step;
    if (!hello_) {
        ready_bytes_ = bytes_.size();
        return Due::step;
    }
    const ClientHelloScan::Taken taken = hello_->take(ByteView(bytes_).substr(ready_bytes_));
    ready_bytes_ += taken.used;
    switch (taken.found) {
        case ClientHelloScan::Found::part:
            return Due::nothing;
        case ClientHelloScan::Found::refused:
            return Due::refusal;
        case ClientHelloScan::Found::whole:
            has_hello_ = true;
            return Due::step;
        case ClientHelloScan::Found::other:
            break;
    }
    hello_.reset();
    ready_bytes_ = bytes_.size();
    return Due::step;
}

}  // namespace tiderace::tls
