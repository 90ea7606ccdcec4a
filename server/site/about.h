// About: the JSON document at /.well-known/tiderace.json that describes the server. Served only
// with --about.
//
//   {"version":"0.1.0","engine":"epoll","loops":2,"tls":"TLSv1.3","cipher":"TLS_AES_…"}
//
// tls and cipher describe the connection of the request, and are absent for plain HTTP.
//
// Owner    A Worker. Thread: its loop's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tiderace/http/handler.h"

namespace tiderace::server {

class About final : public http::Handler {
  public:
    static constexpr std::string_view path = "/.well-known/tiderace.json";

    About(std::string_view engine, std::size_t loops);

    void handle(http::Exchange& exchange) override;

  private:
    std::string json_;  // all but what differs by connection, and the closing brace
};

}  // namespace tiderace::server
