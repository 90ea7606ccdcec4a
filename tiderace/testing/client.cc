#include "tiderace/testing/client.h"

#include "tiderace/testing/client/stage.h"

namespace tiderace::testing {

Client::Client(const http::App& app, ClientOptions options)
    : stage_(std::make_unique<ClientStage>(app, std::move(options))) {}
Client::~Client() = default;

ClientResponse Client::get(std::string_view target, const Headers& fields) {
    return request("GET", target, {}, fields);
}
ClientResponse Client::head(std::string_view target, const Headers& fields) {
    return request("HEAD", target, {}, fields);
}
ClientResponse Client::post(std::string_view target, const Content& content,
                            const Headers& fields) {
    return request("POST", target, content, fields);
}
ClientResponse Client::put(std::string_view target, const Content& content, const Headers& fields) {
    return request("PUT", target, content, fields);
}
ClientResponse Client::patch(std::string_view target, const Content& content,
                             const Headers& fields) {
    return request("PATCH", target, content, fields);
}
ClientResponse Client::del(std::string_view target, const Headers& fields) {
    return request("DELETE", target, {}, fields);
}
ClientResponse Client::request(std::string_view method, std::string_view target,
                               const Content& content, const Headers& fields) {
    return stage_->ask(method, target, content, fields);
}

ClientResponse Client::raw(ByteView bytes) {
    const auto exchange = stage_->connect();
    exchange->begin(bytes.starts_with("HEAD "));
    exchange->say(bytes);
    return stage_->finish(*exchange);
}

Stream Client::open(std::string_view target, const Headers& fields) {
    return stage_->open(stage_->head("GET", target, "", "", fields), target);
}

Stream Client::open_upload(std::string_view method, std::string_view target, std::string_view type,
                           const Headers& fields) {
    return stage_->open(
        stage_->head(method, target, type, "Transfer-Encoding: chunked\r\n", fields), target, true);
}

WebSocket Client::websocket(std::string_view target, const Headers& fields) {
    return {*stage_, target, fields};
}

void Client::set_header(std::string name, std::string value) {
    stage_->standing().set(std::move(name), std::move(value));
}

void Client::advance(Duration by) {
    stage_->advance(by);
}
Instant Client::now() const {
    return stage_->world().clock().now();
}

http::CookieJar& Client::cookies() {
    return stage_->cookies();
}
core::EventLoop& Client::loop() {
    return stage_->world().loop();
}
std::size_t Client::connections() const {
    return stage_->connections();
}

}  // namespace tiderace::testing
