// H2Service: shared by the HTTP/2 connections of one loop: the site, the limits, the rendered date,
// spare exchanges, the memory for decoding field blocks, counters.
//
// H1Service hands it the connections that begin with HTTP/2's preface (H1Service::set_http2).
//
// Owner    The program; one per loop, outlives the loop's connections.
// Thread   The loop's.
// Limits   H2Options.
// Memory   The decoding room (about 70 KiB, from the first connection on), and at most
//          spare_exchanges_max exchanges.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/loop_count.h"
#include "tiderace/base/slot_map.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/h2/exchange.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/http/wire/h2/budget.h"
#include "tiderace/http/wire/h2/request.h"
#include "tiderace/http/wire/host.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::http {

struct H2Options : MessageOptions {
    wire::H2RequestLimits head = {};
    wire::H2BudgetLimits budget = {};
    std::uint32_t streams_max = 128;  // open at once; more are refused
    // for heads of open requests; above: more are refused
    std::size_t heads_bytes_max = 1_MiB;
    std::uint32_t stream_window_bytes = 128_KiB;  // of a body not yet used by its handler
    std::uint32_t window_bytes = 512_KiB;         // of all bodies of a connection
    // A stream's window lets something through at least this often.
    Duration write_timeout = net::ConnectionLimits{}.write;
    std::uint64_t send_bytes_per_second_min = 0;  // as net::ConnectionLimits has it
    net::ConnectionLimits tunnel = {};            // of a stream that became a connection
};

struct H2Counters {
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;  // that reached a handler
    LoopCount streams_open;
    std::uint64_t refused = 0;  // by the parser or a limit
    std::uint64_t timed_out = 0;
    std::uint64_t resets_sent = 0;  // RST_STREAM, for any reason
    std::uint64_t resets_received = 0;
    std::uint64_t faults = 0;  // connections ended by GOAWAY with an error
    LoopCount calmed;          // of these, with ENHANCE_YOUR_CALM: over a limit or the budget
};

class H2Service final : public net::SessionFactory, private net::Connection::Owner {
  public:
    static constexpr std::size_t spare_exchanges_max = 32;

    H2Service(core::EventLoop& loop, SiteLoop& site, H2Options options);
    ~H2Service();

    net::Session& make_session(net::Connection& connection) override;

    core::EventLoop& loop() override { return *loop_; }
    SiteLoop& site() { return *site_; }
    const H2Options& options() const { return options_; }
    // Holds for connections, streams and deadlines that begin from now on.
    void change(H2Options&& options) noexcept {
        options_ = std::move(options);
        standing_second_ = -1;
    }
    H2Counters& counters() { return counters_; }

    // Server and Date as a piece of a field block, rendered once a second.
    ByteView standing_fields();
    // Memory for a decoded field block; the next block overwrites it.
    std::span<char> arena(const wire::HpackDecoder& decoder);
    // Its content is no longer read. No-op in most builds.
    void forget_arena();
    RequestBuffers& buffers() { return buffers_; }
    wire::HostMemo& hosts() { return hosts_; }

    // For trailers; used for one block after the other.
    wire::RequestHead& trailers() { return trailers_; }

    core::Ref<H2Exchange> take_exchange();
    void give_back(core::Ref<H2Exchange> exchange);

    // A stream that becomes a connection (RFC 8441).
    net::Connection& make_tunnel(std::unique_ptr<net::Transport> transport,
                                 const core::Address& peer);

  private:
    const net::ConnectionLimits& limits() const override { return options_.tunnel; }
    void release(net::Connection& connection, net::CloseReason reason) override;

    core::EventLoop* loop_;
    SiteLoop* site_;
    H2Options options_;
    H2Counters counters_;
    std::vector<core::Ref<H2Exchange>> spare_;
    std::vector<char> arena_;
    RequestBuffers buffers_;
    wire::HostMemo hosts_;
    wire::RequestHead trailers_;
    SlotMap<net::Connection> tunnels_;
    std::string standing_fields_;
    UnixSeconds standing_second_ = -1;
};

}  // namespace tiderace::http
