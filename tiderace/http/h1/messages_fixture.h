// Requests of the tests of HTTP/1 to an H1Stage with its usual paths, and their answers.
//
// Thread   Any: constants and pure functions.
#pragma once

#include <string>

namespace tiderace::http {

// `fields`: whole lines.
inline std::string get(const std::string& target, const std::string& fields = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
inline std::string ok(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline const std::string get_hello = get("/hello");
inline const std::string hello = ok("hello\n");
inline const std::string hello_close =
    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";

}  // namespace tiderace::http
