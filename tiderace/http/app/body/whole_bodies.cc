#include "tiderace/http/app/body/whole_bodies.h"

#include <utility>
#include <vector>

#include "tiderace/http/app/reply.h"

namespace tiderace::http::app {

WholeBody::WholeBody(core::Ref<WholeBodies> all, Exchange& exchange)
    : all_(std::move(all)), exchange_(&exchange) {
    all_->all_.push_back(*this);
    ++all_->count_;
}

WholeBody::~WholeBody() {
    all_->leave(*this);
}

bool WholeBody::keep(ByteView bytes) {
    body_.append(bytes);
    all_->bytes_ += bytes.size();
    // This one may be among those that go; it lives until its call returns.
    if (all_->bytes_ > all_->bytes_max_) core::Ref<WholeBodies>(all_)->make_room();
    return linked();
}

std::string WholeBody::take() {
    std::string whole = std::move(body_);
    body_.clear();
    if (linked()) all_->bytes_ -= whole.size();
    return whole;
}

void WholeBodies::leave(WholeBody& body) {
    if (!body.linked()) return;
    body.unlink();
    --count_;
    bytes_ -= body.body_.size();
}

// In one pass, so that a full room costs little for each byte that it takes.
void WholeBodies::make_room() {
    const std::size_t wanted = bytes_max_ - bytes_max_ / 16;
    const std::size_t average = bytes_ / count_;
    std::vector<core::Ref<Exchange>> refused;
    all_.for_each([&](WholeBody& body) {
        if (bytes_ <= wanted || body.body_.size() < average) return;
        refused.emplace_back(body.exchange_);
        leave(body);
        std::string().swap(body.body_);
    });
    // Behind the walk, because an answer may end the receiver, and others with its connection.
    for (const core::Ref<Exchange>& exchange : refused) {
        exchange->withdraw_body();
        if (exchange->responded() || exchange->abandoned()) continue;
        Reply(503).field("Retry-After", "2").send(*exchange);
    }
}

}  // namespace tiderace::http::app
