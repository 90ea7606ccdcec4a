// RecordedExchange: a request without a connection, and a record of its answer, for tests of
// handlers, rules and filters.
//
//   RecordedExchange exchange(loop, "GET", "/a.css?v=1", {{"Accept-Encoding", "br"}});
//   site.serve(exchange);
//   EXPECT_EQ(exchange.status(), 200);
//
// The body is taken as a slow connection would take it: sources are pulled in small pieces and only
// when all before was taken, file ranges are read through the loop's kernel when finish() is
// called.
//
// Owner    The test; on the stack, or by make_ref where it is deferred.
// Thread   The loop's.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/core/address.h"
#include "tiderace/http/stages.h"

namespace tiderace::testing {

class RecordedExchange final : public http::Exchange {
  public:
    using Fields = std::vector<std::pair<std::string, std::string>>;

    // `target` is a canonical path, with a query or without.
    RecordedExchange(core::EventLoop& loop, std::string_view method, std::string_view target,
                     Fields fields = {});
    ~RecordedExchange() override;

    core::EventLoop& loop() override { return *loop_; }
    bool has_body() const override { return has_body_; }
    void pin() override {}
    void set_body_reading(bool reads) override { reads_body_ = reads; }
    void body_ready() override { waiting_ = false; }
    bool upgrade(http::Response&, unique_function<net::Session&(net::Connection&)>) override {
        return false;
    }
    // What the request asked for, where it is not "localhost"; what it was, before it was made
    // canonical. All outlive the exchange.
    void set_authority(ByteView authority) { request_.authority = authority; }
    void set_raw_path(ByteView raw_path) { request_.raw_path = raw_path; }
    void set_connection(SlotId connection) { request_.connection = connection; }
    void set_security(const net::TransportSecurity& security) {
        request_.security = &security;
        request_.secure = true;
    }
    // Its answer goes through this filter, which outlives it.
    void filter_with(http::ResponseFilter& filter);
    // Without it a test ends the body by end_body().
    void set_bodiless() { has_body_ = false; }
    // The peer goes away.
    void hang_up() { abandon(); }

    // Takes the rest of the body, if there is one. False: it was broken off, as it is when a source
    // has nothing so many times in a row.
    static constexpr std::size_t empty_pulls_max = 1'000;
    bool finish();

    // Answered, and all of the body was taken.
    bool complete() const { return responded_ && !source_ && queue_.empty(); }
    // Gives its body to a receiver that asked for it.
    bool give(ByteView bytes) { return give_body(bytes); }
    bool reads_body() const { return reads_body_; }
    using Exchange::give_trailer;
    void end_body() { end_receiver(); }

    int status() const { return status_; }
    // The value of the first field of that name, "" if there is none.
    std::string header(std::string_view name) const;
    bool has(std::string_view name) const;
    std::size_t count(std::string_view name) const;
    const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }
    // The value of Content-Length; -1 where it is not known beforehand.
    std::int64_t content_length() const { return content_length_; }
    // Calls finish() first.
    const std::string& body();
    bool broken() const { return broken_; }
    // The most that a source had in its queue at one time.
    std::size_t queue_bytes_most() const { return queue_bytes_most_; }

  private:
    void send(http::Response& response) override;
    void break_off() override { broken_ = broken_ || !complete(); }
    void break_connection() override { broken_ = true; }
    void start_body() override {}
    bool drain(core::SendQueue& queue);

    struct Filtered;

    core::EventLoop* loop_;
    std::unique_ptr<Filtered> filtered_;
    std::string method_text_, target_, path_;
    Fields request_fields_;
    std::unique_ptr<http::wire::RequestHead> head_;
    core::Address peer_;

    int status_ = 0;
    Fields fields_;
    std::int64_t content_length_ = 0;
    bool has_body_ = true;  // the request
    bool no_body_ = false;  // the answer
    bool broken_ = false;
    bool reads_body_ = true;
    bool waiting_ = false;
    core::SendQueue queue_;
    std::unique_ptr<http::BodySource> source_;
    std::string body_;
    std::size_t queue_bytes_most_ = 0;
};

}  // namespace tiderace::testing
