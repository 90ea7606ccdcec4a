// Echo: what comes in goes out, in place of HTTP. The lab puts it on every engine, to see what a
// server costs below its protocol.
//
// Thread   Its loop's.
// Limits   The connection's queue: a client that sends without reading is closed.
#pragma once

#include "tiderace/net/connection.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::server {

class Echo final : public net::SessionFactory, private net::Session {
    net::Session& make_session(net::Connection&) override { return *this; }
    std::size_t on_data(net::Connection& connection, ByteView data) override {
        connection.write(data);
        return data.size();
    }
    void on_close(net::Connection&, net::CloseReason) override {}
};

}  // namespace tiderace::server
