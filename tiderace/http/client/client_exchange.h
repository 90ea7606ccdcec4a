// ClientExchange: one request on its way, and what has come of its answer. The connection writes
// into it, tasks wait on its signals.
//
// Owner    A task of the client's user: its end gives the exchange up, and the connection with it.
// Thread   The loop's.
// Limits   buffer_bytes_high: above it the connection reads no more until the buffer was taken.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/http/client/client_fault.h"
#include "tiderace/http/client/content.h"
#include "tiderace/http/client/fields.h"
#include "tiderace/http/client/signal.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class ClientConnection;

class ClientExchange final : private task::Root {
  public:
    static constexpr std::size_t buffer_bytes_high = 128 * 1024;

    ClientExchange() = default;
    ~ClientExchange() override;

    // The request.
    std::string head;
    std::shared_ptr<const std::string> body;  // nullptr: none
    task::Generator<std::string> pieces;      // instead of `body`
    bool chunked = false;
    std::uint64_t piece_bytes_left = 0;  // of pieces that are not chunked
    bool to_head = false;

    // Sends it all on a connection that is free.
    void send(task::Runner& runner, ClientConnection& connection);

    // Called by the connection.
    void on_head(int status, ByteView lines);
    void on_data(ByteView bytes);
    void on_end();
    void on_failed(ClientFault fault, bool touched);
    void on_writable() { writable_.wake_all(); }

    int status() const { return status_; }
    Fields& fields() { return fields_; }
    bool ended() const { return ended_; }
    const std::optional<ClientFault>& fault() const { return fault_; }
    bool over() const { return ended_ || fault_.has_value(); }
    // A byte of an answer has come.
    bool touched() const { return touched_; }
    std::string take_buffer();
    Signal::Wait changed() { return changed_.wait(); }

  private:
    task::Task<> upload();
    task::Task<bool> upload_piece(ByteView piece);
    void on_done(std::exception_ptr failure) override;
    void leave();

    ClientConnection* connection_ = nullptr;
    Signal changed_;
    Signal writable_;
    int status_ = 0;
    Fields fields_;
    std::string buffer_;
    std::optional<ClientFault> fault_;
    bool ended_ = false;
    bool touched_ = false;
};

}  // namespace tiderace::http
