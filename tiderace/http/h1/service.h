// H1Service: shared by the HTTP/1 connections of one loop: the site, the limits, the rendered date,
// spare exchanges, counters. It makes an H1Connection for each new connection.
//
// Owner    The program; one per loop, outlives the loop's connections.
// Thread   The loop's.
// Limits   H1Options; spare_exchanges_max.
// Keywords: time-out, Date
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/core/event_loop.h"
#include "tiderace/http/h1/exchange.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/http/wire/host.h"
#include "tiderace/http/wire/request_head.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::http {

class H2Service;

struct H1Options : MessageOptions {
    wire::HeadLimits head = {};
    std::uint32_t requests_max = 0;  // per connection; 0: no limit
};

struct H1Counters {
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;  // by the parser or the framing
    std::uint64_t timed_out = 0;
};

class H1Service final : public net::SessionFactory, private core::TurnEnd {
  public:
    // As many requests may wait for a database at a time and cost no allocation of theirs: 128 KiB.
    static constexpr std::size_t spare_exchanges_max = 128;

    H1Service(core::EventLoop& loop, SiteLoop& site, H1Options options);
    ~H1Service();

    net::Session& make_session(net::Connection& connection) override;

    // Receives connections that begin with the preface of HTTP/2, or agreed on it by ALPN.
    void set_http2(H2Service& service) { http2_ = &service; }
    void forget_http2() { http2_ = nullptr; }
    H2Service* http2() const { return http2_; }

    core::EventLoop& loop() { return *loop_; }
    SiteLoop& site() { return *site_; }
    const H1Options& options() const { return options_; }
    // Holds for requests and deadlines that begin from now on.
    void change(H1Options&& options) noexcept {
        options_ = std::move(options);
        standing_second_ = -1;
    }
    H1Counters& counters() { return counters_; }

    // "Server: …\r\nDate: …\r\n", rendered once a second.
    ByteView standing_fields();

    RequestBuffers& buffers() { return buffers_; }
    wire::HostMemo& hosts() { return hosts_; }
    // A spare exchange, or a new one. Given back when the request was answered.
    core::Ref<H1Exchange> take_exchange();
    void give_back(core::Ref<H1Exchange> exchange);

  private:
    void on_turn_end() override;
    void keep(core::Ref<H1Exchange> exchange);

    core::EventLoop* loop_;
    SiteLoop* site_;
    H1Options options_;
    H1Counters counters_;
    H2Service* http2_ = nullptr;
    RequestBuffers buffers_;
    wire::HostMemo hosts_;
    std::vector<core::Ref<H1Exchange>> spare_;
    std::vector<core::Ref<H1Exchange>> held_;  // given back in this turn by one of their owners
    std::string standing_fields_;
    UnixSeconds standing_second_ = -1;
};

}  // namespace tiderace::http
