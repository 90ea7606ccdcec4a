// AskedRequest: the request that `tiderace explain` is asked about, read as one that a client sends
// (HTTP/1.1, with Host from the URL unless a field says it).
//
// Thread   One.
// Errors   A sentence.
#pragma once

#include <string>
#include <string_view>

#include "server/command_line/command_words.h"
#include "tiderace/core/address.h"
#include "tiderace/http/request.h"

namespace tiderace::server::config {

class AskedRequest {
  public:
    AskedRequest() = default;
    AskedRequest(const AskedRequest&) = delete;
    AskedRequest& operator=(const AskedRequest&) = delete;

    // With the flags of the command. What is wrong; "": nothing.
    std::string read(std::string_view url, const CommandWords& words);
    // Lives as long as this.
    const http::Request& request() const { return request_; }

  private:
    std::string parse();

    std::string text_;  // of the head, to which the request's views lead
    std::string path_;
    http::wire::RequestHead head_;
    core::Address peer_ = core::Address::loopback(0);
    http::Request request_;
};

}  // namespace tiderace::server::config
