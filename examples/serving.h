// What a small program that serves needs besides its protocol: to end with a sentence, to listen on
// every loop of a group, to stop on SIGINT and SIGTERM.
//
// Thread   The main one, before and after the loops run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/address.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/signals.h"
#include "tiderace/net/loop_group.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::examples {

// Says "program: sentence" and ends with status 1.
[[noreturn]] void die(const std::string& sentence);

template <typename T>
T take(Result<T> result) {
    if (!result) die(result.error().message());
    return std::move(*result);
}

// 1 to 64 loops, or it dies.
std::size_t parse_threads(std::string_view text);

// One listener for each server; the kernel spreads connections over them. Returns where they are:
// port 0 lets the kernel choose. `layers`, one for each server, are what connections go through.
core::Address listen(const std::vector<net::TcpServer*>& servers, const std::string& where,
                     const std::vector<net::TransportLayer*>& layers = {});

// Made on the main thread before anything else starts one.
core::Signals prepare_process();

class StopOnSignal final : private core::IoObserver {
  public:
    StopOnSignal(net::LoopGroup& group, core::Signals signals);
    ~StopOnSignal();

  private:
    void on_ready(bool readable, bool writable) override;

    net::LoopGroup* group_;
    core::Signals signals_;
    core::IoHandle handle_;
};

}  // namespace tiderace::examples
