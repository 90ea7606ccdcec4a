#include "tiderace/http/exchange.h"

#include <string>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/site.h"

namespace tiderace::http {

void Exchange::respond(Response& response) {
    loop().assert_on_loop();
    if (abandoned_) return;
    TR_CHECK(!responded_, "answered twice");
    responded_ = true;
    if (site_ != nullptr) site_->filter(*this, response);
    send(response);
}

void Exchange::respond_status(int status) {
    Response response(status);
    respond(response);
}

void Exchange::respond_refused(int status, ByteView sentence) {
    Response response(status);
    response.explain(sentence);
    response.add(wire::FieldName::content_type, "text/plain; charset=utf-8");
    response.set_body(std::string(sentence) + "\n");
    respond(response);
}

core::Ref<Exchange> Exchange::defer() {
    deferred_ = true;
    return core::Ref<Exchange>(this);
}

void Exchange::abandon() {
    abandoned_ = true;
    if (when_abandoned_) std::exchange(when_abandoned_, {})();
}

void Exchange::reset_answer() {
    responded_ = deferred_ = abandoned_ = false;
    access_done = 0;
    when_abandoned_ = {};
}

}  // namespace tiderace::http
