// Internal. ClientProtocol: what a client's connection speaks. ClientH1: one exchange after
// another. ClientH2: many at once.
//
//   ClientConnection (bytes, the end) -> ClientProtocol (messages) -> ClientExchange (the task's)
//
// Owner    Its ClientConnection, from the moment when the protocol is known.
// Thread   The loop's.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/http/client/client_exchange.h"
#include "tiderace/http/client/client_fault.h"

namespace tiderace::http {

class ClientConnection;

class ClientProtocol {
  public:
    virtual ~ClientProtocol() = default;

    // Sends the head of a request, when room() is not 0. nullptr: it cannot be sent, and the
    // exchange has failed.
    virtual ClientLink* begin(ClientExchange& exchange, const ClientHead& head) TR_ON_LOOP = 0;
    // How many exchanges may begin now.
    virtual std::size_t room() const = 0;
    virtual std::size_t exchanges() const = 0;
    // Several at once.
    virtual bool multiplexes() const = 0;
    // The server has not yet set how many.
    virtual bool may_grow() const { return false; }

    virtual std::size_t on_data(ByteView data) TR_ON_LOOP = 0;
    virtual void on_drained() TR_ON_LOOP = 0;
    virtual void on_peer_finished() TR_ON_LOOP = 0;
    virtual void on_deadline() TR_ON_LOOP = 0;
    // The connection ends: so do its exchanges. `why` begins with a verb's subject.
    virtual void on_closed(ClientFault::Kind kind, std::string_view why) TR_ON_LOOP = 0;
    // No exchange is under way: closes the connection then, unless one begins before.
    virtual void idle_until(Instant when) TR_ON_LOOP = 0;
    // The connection is to close, and is not busy. True: the protocol notifies the peer, and
    // closes it then.
    virtual bool say_end() TR_ON_LOOP { return false; }
};

std::unique_ptr<ClientProtocol> make_client_h1(ClientConnection& connection);
std::unique_ptr<ClientProtocol> make_client_h2(ClientConnection& connection);

}  // namespace tiderace::http
