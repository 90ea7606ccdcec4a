// Internal. ClientResponse: a server's answer to a request: status, headers, body.
//
//   if (answer.status == 200) use(answer.json<User>());
//
// Thread   One at a time.
// Errors   json() throws std::runtime_error, which names the fault and begins to cite the body;
//          read_json() returns it.
// Memory   All of the body.
#pragma once

#include <expected>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tiderace/http/client/headers.h"
#include "tiderace/http/wire/method.h"
#include "tiderace/json.h"

namespace tiderace::http {

struct ClientResponse {
    int status = 0;
    HttpVersion version = HttpVersion::http_1_1;
    Headers headers;
    std::string body;
    Headers trailers;  // those behind the body: HTTP/2, and chunked ones of HTTP/1.1

    bool ok() const { return status >= 200 && status < 300; }
    const std::string& text() const { return body; }
    // The value of the first header with this name, in any case; "" without one.
    std::string_view header(std::string_view name) const { return headers.find(name); }

    template <typename T>
    std::expected<T, json::Error> read_json(const json::Options& options = {}) const {
        return json::read<T>(body, options);
    }
    template <typename T>
    T json() const {
        // Its size had its limit when it was read.
        auto value = read_json<T>({.size_bytes_max = body.size()});
        if (!value) throw_unreadable(value.error().message());
        return std::move(*value);
    }

  private:
    [[noreturn]] void throw_unreadable(const std::string& why) const;
};

}  // namespace tiderace::http
