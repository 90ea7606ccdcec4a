#include "tiderace/testing/recorded_exchange.h"

#include <algorithm>
#include <array>

#include "tiderace/base/check.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::testing {

// A site of one filter, whose handler is never asked.
struct RecordedExchange::Filtered final : http::Handler {
    explicit Filtered(http::ResponseFilter& filter) { site.add(filter); }
    void handle(http::Exchange&) override {}
    http::SiteLoop site{*this};
};

void RecordedExchange::filter_with(http::ResponseFilter& filter) {
    filtered_ = std::make_unique<Filtered>(filter);
    set_site(filtered_->site);
}

RecordedExchange::RecordedExchange(core::EventLoop& loop, std::string_view method,
                                   std::string_view target, Fields fields)
    : loop_(&loop),
      method_text_(method),
      target_(target),
      request_fields_(std::move(fields)),
      head_(std::make_unique<http::wire::RequestHead>()) {
    head_->set_method(method_text_);
    head_->set_target(target_, http::wire::TargetForm::origin, {});
    for (const auto& [name, value] : request_fields_) {
        TR_CHECK(head_->add_field(name, value), "too many fields");
    }
    const ByteView whole = target_;
    const std::size_t mark = whole.find('?');
    request_.head = head_.get();
    request_.peer = &peer_;
    request_.authority = "localhost";
    request_.path = request_.raw_path = whole.substr(0, mark);
    request_.has_query = mark != ByteView::npos;
    if (request_.has_query) request_.query = whole.substr(mark + 1);
}

RecordedExchange::~RecordedExchange() = default;

void RecordedExchange::send(http::Response& response) {
    status_ = response.status();
    if (response.block() != nullptr) {
        for (const auto& entry : response.block()->entries()) {
            fields_.emplace_back(http::wire::to_string(entry.id), entry.value);
        }
    }
    for (const http::ResponseField& field : response.fields()) {
        const ByteView name =
            field.id == http::wire::FieldName::other ? field.name : http::wire::to_string(field.id);
        TR_CHECK(http::wire::is_token(name) && http::wire::is_field_value(field.value),
                 "a field that cannot be sent");
        fields_.emplace_back(name, field.value);
    }
    const bool to_head = request_.method() == http::wire::Method::head;
    no_body_ = to_head || http::wire::has_no_body(status_);
    const auto bytes = response.content_length(to_head);
    content_length_ = bytes ? static_cast<std::int64_t>(*bytes) : -1;
    if (no_body_) return;
    body_ = response.copied_body();
    if (core::SendQueue* queue = response.queued_body()) queue_ = std::move(*queue);
    source_ = response.take_source();
}

bool RecordedExchange::finish() {
    if (!drain(queue_)) return false;
    constexpr std::size_t pull_bytes = 16 * 1024;
    std::size_t empty_pulls = 0;
    while (source_ && !broken_ && !waiting_) {
        core::SendQueue pulled;
        const auto state = source_->pull(loop_->blocks(), pulled, pull_bytes);
        queue_bytes_most_ = std::max<std::size_t>(queue_bytes_most_, pulled.bytes());
        empty_pulls = pulled.empty() ? empty_pulls + 1 : 0;
        if (!drain(pulled)) break;
        if (state == http::BodySource::State::wait) waiting_ = true;
        if (state == http::BodySource::State::failed) broken_ = true;
        if (state == http::BodySource::State::end) source_.reset();
        // A source that has nothing and does not say `wait` would be pulled for ever.
        if (source_ && empty_pulls == empty_pulls_max) broken_ = true;
    }
    return !broken_;
}

bool RecordedExchange::drain(core::SendQueue& queue) {
    std::array<char, 64 * 1024> buffer;
    while (!queue.empty() && !broken_) {
        std::array<iovec, 1> piece;
        if (queue.gather(piece) == 1) {
            body_.append(static_cast<const char*>(piece[0].iov_base), piece[0].iov_len);
            queue.consume(piece[0].iov_len);
            continue;
        }
        const core::SendQueue::FileRange range = queue.front_file();
        const ssize_t got = loop_->kernel().read_at(
            range.descriptor, buffer.data(), std::min<std::uint64_t>(range.bytes, buffer.size()),
            static_cast<off_t>(range.offset));
        if (got <= 0) {
            broken_ = true;  // as a connection is broken off when a file became shorter
            break;
        }
        body_.append(buffer.data(), static_cast<std::size_t>(got));
        queue.consume(static_cast<std::uint64_t>(got));
    }
    if (broken_) queue.clear();
    return !broken_;
}

const std::string& RecordedExchange::body() {
    finish();
    return body_;
}

std::string RecordedExchange::header(std::string_view name) const {
    for (const auto& [other, value] : fields_) {
        if (equals_ignoring_case(other, name)) return value;
    }
    return {};
}

bool RecordedExchange::has(std::string_view name) const {
    return count(name) != 0;
}

std::size_t RecordedExchange::count(std::string_view name) const {
    std::size_t found = 0;
    for (const auto& [other, value] : fields_) {
        found += equals_ignoring_case(other, name);
    }
    return found;
}

}  // namespace tiderace::testing
