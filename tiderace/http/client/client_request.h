// Internal. ClientRequest: what a client requests, and how.
//
//   ClientRequest("PUT", "https://api.example/users/7").json(user).header("If-Match", tag)
//   ClientRequest("POST", url).stream("text/csv", rows())          // made while it is sent
//   ClientRequest("POST", url).multipart(std::move(form))          // fields and files
//
// It is a class, not an aggregate, so that a temporary one may stand in a co_await (g++ 12).
//
// Owner    The client, once it is given away.
// Thread   One loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/units.h"
#include "tiderace/http/client/content.h"
#include "tiderace/http/client/headers.h"
#include "tiderace/http/client/multipart_form.h"
#include "tiderace/log/trace_context.h"
#include "tiderace/task/generator.h"

namespace tiderace::http {

class ClientRequest {
  public:
    ClientRequest(std::string method, std::string url)
        : method_(std::move(method)), url_(std::move(url)) {}

    // In the place of the client's own of that name (Accept-Encoding, User-Agent, Cookie …). Those
    // that frame or route (Host, Content-Length, Transfer-Encoding, Connection) are the client's.
    ClientRequest& header(std::string_view name, std::string_view value) & {
        fields_.add(name, value);
        return *this;
    }
    ClientRequest& content(Content content) & {
        content_ = std::move(content);
        return *this;
    }
    template <typename T>
    ClientRequest& json(const T& value) & {
        return content(Content("application/json", json::write(value)));
    }
    template <NamelessStruct T>
    ClientRequest& json(T&& value) & {
        refuse_nameless<T>();
        return json(std::as_const(value));
    }
    // It cannot be sent twice: no retry, and no redirect that keeps the method.
    ClientRequest& stream(std::string type, task::Generator<std::string> pieces,
                          std::optional<std::uint64_t> bytes = std::nullopt) & {
        content_ = Content(std::move(type), "");
        streamed().form.reset();
        streamed().pieces = std::move(pieces);
        streamed().bytes = bytes;
        return *this;
    }
    // It can be sent again; each time its files are read anew.
    ClientRequest& multipart(MultipartForm form) & {
        content_ = Content(form.type(), "");
        streamed().pieces = {};
        streamed().form = std::make_shared<MultipartForm>(std::move(form));
        return *this;
    }
    // Headers behind a body of stream() (RFC 9110, 6.5), such as its checksum: called after its
    // last piece. The body's length is then left unsaid, because HTTP/1.1 has trailers behind
    // chunks alone. body_failed: a name that frames, routes or describes the body, or more than the
    // server takes (HTTP/2).
    ClientRequest& trailers(std::function<Headers()> make) & {
        streamed().trailers = std::move(make);
        return *this;
    }
    // Sends the trace on that a request is part of: `.trace(request.trace())`.
    ClientRequest& trace(const log::TraceContext& context) & {
        fields_.remove("traceparent");
        fields_.remove("tracestate");
        if (const std::string parent = context.traceparent(); !parent.empty()) {
            fields_.add("traceparent", parent);
        }
        if (!context.tracestate().empty()) fields_.add("tracestate", context.tracestate());
        return *this;
    }
    // Instead of ClientOptions::timeout.
    ClientRequest& timeout(Duration limit) & {
        timeout_ = limit;
        return *this;
    }

    // The same for temporaries. By value, so that `r = std::move(r).header(…)` is no self-move.
    ClientRequest header(std::string_view name, std::string_view value) && {
        return std::move(header(name, value));
    }
    ClientRequest content(Content content) && {
        return std::move(this->content(std::move(content)));
    }
    template <typename T>
    ClientRequest json(const T& value) && {
        return std::move(json(value));
    }
    template <NamelessStruct T>
    ClientRequest json(T&& value) && {
        refuse_nameless<T>();
        return std::move(json(std::as_const(value)));
    }
    ClientRequest stream(std::string type, task::Generator<std::string> pieces,
                         std::optional<std::uint64_t> bytes = std::nullopt) && {
        return std::move(stream(std::move(type), std::move(pieces), bytes));
    }
    ClientRequest multipart(MultipartForm form) && { return std::move(multipart(std::move(form))); }
    ClientRequest trailers(std::function<Headers()> make) && {
        return std::move(trailers(std::move(make)));
    }
    ClientRequest trace(const log::TraceContext& context) && { return std::move(trace(context)); }
    ClientRequest timeout(Duration limit) && { return std::move(timeout(limit)); }

    const std::string& method() const { return method_; }
    const std::string& url() const { return url_; }

  private:
    friend class Client;

    // The parts that few requests have. Apart, because each request is moved on its way.
    struct Streamed {
        task::Generator<std::string> pieces;
        std::optional<std::uint64_t> bytes;
        std::function<Headers()> trailers;
        std::shared_ptr<MultipartForm> form;
        std::shared_ptr<const std::string> whole;  // in the place of content_'s, between retries
    };

    Streamed& streamed() {
        if (streamed_ == nullptr) streamed_ = std::make_unique<Streamed>();
        return *streamed_;
    }
    // Only with a generator.
    std::optional<std::uint64_t> known_stream_bytes() const {
        return streamed_->trailers ? std::nullopt : streamed_->bytes;
    }
    bool has_generator() const { return streamed_ != nullptr && streamed_->pieces; }
    const std::shared_ptr<MultipartForm>& form() const {
        static const std::shared_ptr<MultipartForm> none;
        return streamed_ != nullptr ? streamed_->form : none;
    }
    // The same request once more, without a copy of its body. Not with a generator.
    ClientRequest again() {
        if (!content_.bytes().empty()) {
            streamed().whole = std::make_shared<std::string>(std::move(content_).take_bytes());
        }
        ClientRequest made(method_, url_);
        made.fields_ = fields_;
        made.content_ = content_;
        made.timeout_ = timeout_;
        if (streamed_ != nullptr) {
            made.streamed().form = streamed_->form;
            made.streamed().whole = streamed_->whole;
        }
        return made;
    }

    std::string method_;
    std::string url_;
    Headers fields_;
    Content content_;
    std::unique_ptr<Streamed> streamed_;
    std::optional<Duration> timeout_;
};

}  // namespace tiderace::http
