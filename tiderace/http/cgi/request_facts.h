// RequestTexts: the facts of a Request that CGI and FastCGI programs receive.
//
// Owner    The caller, for the length of a call: the facts look into it and into the request.
// Thread   The loop's.
#pragma once

#include <array>
#include <string>

#include "tiderace/http/request.h"
#include "tiderace/http/wire/cgi/meta_variables.h"

namespace tiderace::http::cgi {

struct RequestTexts {
    // `authenticated`: the server has checked the password, so that the name is true.
    RequestTexts(const Request& request, bool authenticated);
    RequestTexts(const RequestTexts&) = delete;
    RequestTexts& operator=(const RequestTexts&) = delete;

    wire::cgi::RequestFacts facts;

  private:
    [[gnu::cold]] void join_request_uri(const Request& request);
    [[gnu::cold]] void take_user(const Request& request);

    std::string request_uri_;
    std::string user_;
    std::array<char, 64> address_;
};

}  // namespace tiderace::http::cgi
