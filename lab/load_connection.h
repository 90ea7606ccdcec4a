// LoadConnection: one client of the load: connects, asks, judges every answer, connects again.
//
//   waiting --slot free--> connecting --> open --answer, error, end--> waiting …
//
// Owner    A LoadWorker, for the whole run; it owns its net::Connection.
// Thread   The worker's loop.
// Errors   Everything the server does wrong is counted in the worker's tally, once per request.
// Memory   About 300 bytes, 200 more while open, 8 for each request that may be under way.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lab/load_tally.h"
#include "lab/outgoing_socket.h"
#include "tiderace/http/wire/response_reader.h"
#include "tiderace/net/connection.h"

namespace tiderace::lab {

class LoadWorker;

class LoadConnection final : private net::Session,
                             private net::Connection::Owner,
                             private OutgoingSocket::Opener,
                             private core::Timer,
                             private core::TurnEnd {
  public:
    LoadConnection(LoadWorker& worker, std::uint64_t number);

    // Connects, if it is not connected or connecting.
    void start();
    // Sends up to `most` requests that are due and that the pipeline has room for.
    void send(std::size_t most);
    bool has_room() const { return connection_ && !ending_ && under_way_ < depth_ && !thinking_; }
    // Gives up what takes longer than the timeout.
    void check_timeout(Instant now);
    // Closes; nothing is counted as an error from here on.
    void end();

    bool connected() const { return connection_.has_value(); }
    bool is_idle_listed = false;  // the worker's mark: in its list of those with room
    std::uint64_t answers() const { return answers_; }

  private:
    // net::Session
    std::size_t on_data(net::Connection&, ByteView data) override;
    void on_peer_finished(net::Connection&) override;
    void on_close(net::Connection&, net::CloseReason reason) override;
    // net::Connection::Owner
    core::EventLoop& loop() override;
    const net::ConnectionLimits& limits() const override;
    void release(net::Connection&, net::CloseReason) override;

    void on_opened(int error) override;
    void on_turn_end() override;  // what comes of on_opened
    void on_expired() override;   // the next try, the next request, or the next read

    void answered(Instant now);
    LoadError judge() const;
    void fail_all(LoadError error);
    void finish_after_answers(Instant now, std::size_t count);
    void failed_to_open(int error);
    void try_again_later();

    LoadWorker* worker_;
    std::unique_ptr<OutgoingSocket> socket_;  // while it connects
    std::optional<net::Connection> connection_;
    http::wire::ResponseReader reader_;
    std::vector<Instant> intended_;  // a ring of depth_: of the requests under way, oldest first
    std::uint32_t first_ = 0;
    std::uint32_t under_way_ = 0;
    std::uint32_t depth_;
    std::uint32_t hash_ = 0;
    std::uint64_t length_ = 0;
    std::uint64_t answers_ = 0;
    std::uint64_t number_;
    Instant since_{};  // of the last progress
    Duration retry_ = Duration::zero();
    int open_error_ = 0;
    bool slow_ = false;
    bool in_answer_ = false;  // its head is read
    bool ending_ = false;     // no more requests on this connection
    bool ended_ = false;      // the run is over
    bool thinking_ = false;
    bool answered_once_ = false;  // on this connection
};

}  // namespace tiderace::lab
