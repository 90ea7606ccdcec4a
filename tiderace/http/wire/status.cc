#include "tiderace/http/wire/status.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tiderace::http::wire {
namespace {

constexpr std::size_t code_at = std::string_view("HTTP/1.1 ").size();
constexpr std::size_t reason_at = code_at + std::string_view("200 ").size();
constexpr int first_status = 100;
constexpr int statuses_max = 500;

constexpr auto lines = std::to_array<std::string_view>({
    "",  // index 0: not registered
    "HTTP/1.1 100 Continue\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n",
    "HTTP/1.1 102 Processing\r\n",
    "HTTP/1.1 103 Early Hints\r\n",
    "HTTP/1.1 104 Upload Resumption Supported\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 201 Created\r\n",
    "HTTP/1.1 202 Accepted\r\n",
    "HTTP/1.1 203 Non-Authoritative Information\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 205 Reset Content\r\n",
    "HTTP/1.1 206 Partial Content\r\n",
    "HTTP/1.1 207 Multi-Status\r\n",
    "HTTP/1.1 208 Already Reported\r\n",
    "HTTP/1.1 226 IM Used\r\n",
    "HTTP/1.1 300 Multiple Choices\r\n",
    "HTTP/1.1 301 Moved Permanently\r\n",
    "HTTP/1.1 302 Found\r\n",
    "HTTP/1.1 303 See Other\r\n",
    "HTTP/1.1 304 Not Modified\r\n",
    "HTTP/1.1 305 Use Proxy\r\n",
    "HTTP/1.1 307 Temporary Redirect\r\n",
    "HTTP/1.1 308 Permanent Redirect\r\n",
    "HTTP/1.1 400 Bad Request\r\n",
    "HTTP/1.1 401 Unauthorized\r\n",
    "HTTP/1.1 402 Payment Required\r\n",
    "HTTP/1.1 403 Forbidden\r\n",
    "HTTP/1.1 404 Not Found\r\n",
    "HTTP/1.1 405 Method Not Allowed\r\n",
    "HTTP/1.1 406 Not Acceptable\r\n",
    "HTTP/1.1 407 Proxy Authentication Required\r\n",
    "HTTP/1.1 408 Request Timeout\r\n",
    "HTTP/1.1 409 Conflict\r\n",
    "HTTP/1.1 410 Gone\r\n",
    "HTTP/1.1 411 Length Required\r\n",
    "HTTP/1.1 412 Precondition Failed\r\n",
    "HTTP/1.1 413 Content Too Large\r\n",
    "HTTP/1.1 414 URI Too Long\r\n",
    "HTTP/1.1 415 Unsupported Media Type\r\n",
    "HTTP/1.1 416 Range Not Satisfiable\r\n",
    "HTTP/1.1 417 Expectation Failed\r\n",
    "HTTP/1.1 421 Misdirected Request\r\n",
    "HTTP/1.1 422 Unprocessable Content\r\n",
    "HTTP/1.1 423 Locked\r\n",
    "HTTP/1.1 424 Failed Dependency\r\n",
    "HTTP/1.1 425 Too Early\r\n",
    "HTTP/1.1 426 Upgrade Required\r\n",
    "HTTP/1.1 428 Precondition Required\r\n",
    "HTTP/1.1 429 Too Many Requests\r\n",
    "HTTP/1.1 431 Request Header Fields Too Large\r\n",
    "HTTP/1.1 451 Unavailable For Legal Reasons\r\n",
    "HTTP/1.1 500 Internal Server Error\r\n",
    "HTTP/1.1 501 Not Implemented\r\n",
    "HTTP/1.1 502 Bad Gateway\r\n",
    "HTTP/1.1 503 Service Unavailable\r\n",
    "HTTP/1.1 504 Gateway Timeout\r\n",
    "HTTP/1.1 505 HTTP Version Not Supported\r\n",
    "HTTP/1.1 506 Variant Also Negotiates\r\n",
    "HTTP/1.1 507 Insufficient Storage\r\n",
    "HTTP/1.1 508 Loop Detected\r\n",
    "HTTP/1.1 510 Not Extended\r\n",
    "HTTP/1.1 511 Network Authentication Required\r\n",
});

// From the code to its line, so that finding one is two loads.
constexpr std::array<std::uint8_t, statuses_max> make_index() {
    std::array<std::uint8_t, statuses_max> index{};
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const std::string_view line = lines[i];
        const int code = (line[code_at] - '0') * 100 + (line[code_at + 1] - '0') * 10 +
                         (line[code_at + 2] - '0');
        index[static_cast<std::size_t>(code - first_status)] = static_cast<std::uint8_t>(i);
    }
    return index;
}

constexpr std::array<std::uint8_t, statuses_max> index_of_line = make_index();

}  // namespace

std::string_view status_line(int status) {
    const unsigned offset = static_cast<unsigned>(status) - first_status;
    return offset < statuses_max ? lines[index_of_line[offset]] : lines[0];
}

std::string_view reason_phrase(int status) {
    const std::string_view line = status_line(status);
    if (line.empty()) return {};
    return line.substr(reason_at, line.size() - reason_at - std::string_view("\r\n").size());
}

}  // namespace tiderace::http::wire
