// The fields of tus 1.0 (https://tus.io/protocols/resumable-upload), the protocol of resumable
// uploads that clients for browsers, phones and shells speak.
//
// Thread   Any: pure functions.
// Errors   A Problem with status 400 that names the field.
#pragma once

#include <tiderace/app.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "examples/files/checksum.h"

namespace tus {

// Upload-Offset, Upload-Length: digits alone.
std::uint64_t number(const tiderace::http::Request& request, std::string_view field);

// A value of Upload-Metadata ("filename aGFyYm91ci5qcGc=,filetype aW1hZ2UvanBlZw=="), decoded.
std::optional<std::string> metadata(std::string_view value, std::string_view key);

// Read from Upload-Checksum ("sha1 <base64>" or "sha256 <base64>"); none: there is no such field.
inline constexpr std::string_view checksum_algorithms = "sha1,sha256";
std::optional<Checksum> checksum(const tiderace::http::Request& request);

// "Mon, 23 Nov 2026 08:00:00 GMT"
std::string http_date(tiderace::UnixSeconds when);

}  // namespace tus
