// LoadTls: the client's side of TLS for the connections of one loop of the load.
//
// Owner    A LoadWorker.
// Thread   Its loop's.
// Errors   create(): the file of CAs, or a program without TLS. Handshakes that fail: counters().
#pragma once

#include <memory>
#include <string>

#include "load/options.h"
#include "load/target.h"
#include "tiderace/tls/client_context.h"

namespace tiderace::load {

class LoadTls final : public net::TransportLayer {
  public:
    static Result<std::unique_ptr<LoadTls>> create(core::EventLoop& loop,
                                                   const LoadOptions& options,
                                                   const LoadTarget& target);

    std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below) override {
        return context_->wrap(std::move(below), name_);
    }
    const tls::HandshakeCounters& counters() const { return context_->counters(); }

  private:
    LoadTls(std::unique_ptr<tls::ClientContext> context, std::string name)
        : context_(std::move(context)), name_(std::move(name)) {}

    std::unique_ptr<tls::ClientContext> context_;
    std::string name_;
};

}  // namespace tiderace::load
