// EchoSessions: the smallest protocol: what comes in goes out. It counts what must balance.
//
// Owner    The test, for longer than the server. Each session deletes itself in on_close.
#pragma once

#include <cstdint>
#include <map>

#include "tiderace/net/tcp_server.h"

namespace tiderace::testing {

class EchoSessions final : public net::SessionFactory {
  public:
    std::uint64_t opened = 0;
    std::uint64_t closed = 0;
    std::uint64_t bytes = 0;
    std::map<net::CloseReason, std::uint64_t> reasons;

    net::Session& make_session(net::Connection&) override {
        ++opened;
        return *new Echo(*this);
    }

  private:
    class Echo final : public net::Session {
      public:
        explicit Echo(EchoSessions& all) : all_(&all) {}

        std::size_t on_data(net::Connection& connection, ByteView data) override {
            all_->bytes += data.size();
            connection.write(data);
            return data.size();
        }
        void on_close(net::Connection&, net::CloseReason reason) override {
            ++all_->closed;
            ++all_->reasons[reason];
            delete this;
        }

      private:
        EchoSessions* all_;
    };
};

}  // namespace tiderace::testing
