// Checksum: what a piece of an upload must hash to (Upload-Checksum): SHA-1, which tus requires of
// every server, or SHA-256. ChecksumHash: the hash of the bytes as they come.
//
// Thread   One at a time.
#pragma once

#include <tiderace/base/sha1.h>
#include <tiderace/http/wire/sha256.h>

#include <string_view>
#include <variant>

using Checksum = std::variant<tiderace::Sha1, tiderace::http::wire::Sha256>;

class ChecksumHash {
  public:
    // Hashes as `expected` was made.
    explicit ChecksumHash(const Checksum& expected) : expected_(expected) {
        if (std::holds_alternative<tiderace::http::wire::Sha256>(expected)) {
            message_.emplace<tiderace::http::wire::Sha256Message>();
        }
    }

    void add(std::string_view bytes) {
        std::visit([&](auto& message) { message.add(bytes); }, message_);
    }
    // All of it came: whether it is what was expected. Nothing may be called afterwards.
    bool matches() {
        return std::visit([](auto& message) { return Checksum(message.end()); }, message_) ==
               expected_;
    }

  private:
    Checksum expected_;
    std::variant<tiderace::Sha1Message, tiderace::http::wire::Sha256Message> message_;
};
