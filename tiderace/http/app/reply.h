// Reply: an answer that owns its texts. Problem: an answer that describes an error.
//
//   return Reply(201).header("Location", "/users/7").text("made\n");
//   return Problem{.status = 409, .detail = "the name is taken"};
//
// Handlers may return much else (http/app/results.h); each of it becomes one of these, or is
// written as it is.
//
// Owner    The handler, until it is returned.
// Thread   One loop's.
// Errors   A field name or value that no message may hold is dropped when the answer is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/wire/cookie.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

// A cookie for the client (RFC 6265bis), as strict as possible by default.
struct Cookie {
    std::string name;
    std::string value;
    std::string path = "/";
    std::string domain = "";               // "": this host alone
    std::optional<Duration> max_age = {};  // none: until the browser closes; zero: it is removed
    wire::SameSite same_site = wire::SameSite::lax;
    bool secure = true;     // false: sent over plain HTTP, too; browsers take localhost for secure
    bool http_only = true;  // scripts cannot read it
    bool partitioned = false;
};

class Reply {
  public:
    explicit Reply(int status = 200);
    Reply(Reply&& other) noexcept;
    Reply& operator=(Reply&& other) noexcept;
    ~Reply();

    int status() const { return status_; }
    Reply& set_status(int status) & {
        status_ = status;
        return *this;
    }
    // Adds a header.
    Reply&& header(std::string name, std::string value) &&;
    Reply& header(std::string name, std::string value) &;
    // Sets a cookie. One that no client would keep (wire::check_cookie) is left out, with a line
    // in the log.
    Reply&& cookie(const Cookie& cookie) &&;
    Reply& cookie(const Cookie& cookie) &;
    // The body and its type; the last one counts.
    Reply&& text(std::string body) &&;
    Reply&& html(std::string body) &&;
    Reply&& body(std::string type, std::string bytes) &&;
    // A body that is made while it is sent. As a handler's result of pieces alone
    // (http/app/stream.h): a client that reads slowly slows the generator down. It may take views
    // of the request that the handler was given, but none of the handler's own variables.
    Reply&& body(std::string type, task::Generator<std::string> pieces) &&;
    Reply&& body(std::string type, std::unique_ptr<BodySource> source) &&;

    // Answers. The reply is empty afterwards.
    void answer(Exchange& exchange, task::Runner& runner) &&;
    // The same for a reply whose body is no generator's: nothing runs one here.
    void send(Exchange& exchange) &&;
    // The same with a body that need not live longer.
    void send(Exchange& exchange, std::string_view type, std::string_view body) &&;
    // Gives an answer that is there its body, type and fields; the answer's status stays.
    void dress(Response& response, Exchange& exchange, task::Runner& runner) &&;

  private:
    void log_cookie_fault(log::Logger* log) const;
    void add_fields(Response& response) const;
    static void add_field(Response& response, ByteView name, ByteView value);
    // The source that pulls pieces_ from here on.
    void make_source(Exchange& exchange, task::Runner& runner);

    int status_;
    std::string type_;
    std::string body_;
    std::unique_ptr<BodySource> source_;
    std::optional<task::Generator<std::string>> pieces_;
    std::vector<std::pair<std::string, std::string>> fields_;
    wire::CookieFault cookie_fault_ = wire::CookieFault::none;
};

// The fault of a request, for programs: application/problem+json (RFC 9457).
struct Problem {
    struct Fault {
        std::string name;    // of the field or parameter; "": of the whole body
        std::string detail;  // what is wrong with it
    };

    int status = 400;
    std::string title = {};  // "": the status's own phrase
    std::string detail = {};
    std::vector<Fault> faults = {};

    Reply reply() const;
};

// 201 with where it is, and what was made as JSON.
template <typename T>
struct Created {
    std::string location;
    T value;
};

struct Redirect {
    std::string to;    // as in every Location of a Reply, what a URI cannot hold is escaped: "/a b"
    int status = 303;  // "see other": the client requests `to` with GET
};

}  // namespace tiderace::http
