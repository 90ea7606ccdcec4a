#include "tiderace/http/app/body/whole_body.h"

#include <utility>

#include "tiderace/http/response.h"

namespace tiderace::http::app_parts {

bool WholeBody::keep(ByteView bytes) {
    body_.append(bytes);
    grow_to(body_.size());
    return !refused_;  // an exchange keeps its receiver until the receiver's call returns
}

std::string WholeBody::take() {
    shrink_to(0);
    return std::exchange(body_, {});
}

void WholeBody::refuse() {
    const core::Ref<Exchange> exchange(exchange_);
    refused_ = true;
    std::string().swap(body_);
    shrink_to(0);
    exchange->withdraw_body();  // this object may be gone from here on
    if (exchange->responded() || exchange->abandoned()) return;
    exchange->respond(Response(503).header("Retry-After", "2"));
}

}  // namespace tiderace::http::app_parts
