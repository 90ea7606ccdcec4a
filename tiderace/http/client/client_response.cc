#include "tiderace/http/client/client_response.h"

namespace tiderace::http {

void ClientResponse::throw_unreadable(const std::string& why) const {
    // The start of a body usually has the server's reason. The rest may be megabytes of HTML, and
    // this text ends up in logs.
    constexpr std::size_t cited_bytes_max = 200;
    std::string text = "answer " + std::to_string(status) + ": " + why + "; its body";
    text += body.size() > cited_bytes_max ? " begins: " : ": ";
    throw std::runtime_error(text.append(body, 0, cited_bytes_max));
}

}  // namespace tiderace::http
