#include "tiderace/http/filter/allowed_hosts.h"

#include <algorithm>
#include <utility>

#include "tiderace/http/wire/host.h"

namespace tiderace::http::filter {

AllowedHosts::AllowedHosts(std::vector<std::string> names, std::string sentence)
    : sentence_(std::move(sentence)) {
    for (const std::string& name : names) {
        names_.emplace_back(
            wire::host_without_port(name.starts_with("*.") ? ByteView(name).substr(1) : name));
    }
    names_.insert(names_.end(), {"localhost", ".localhost"});
}

AccessRule::Verdict AllowedHosts::check(Exchange& exchange) {
    if (allows(wire::host_without_port(exchange.request().authority))) return Verdict::pass;
    Response response(421);
    response.add(wire::FieldName::content_type, "text/plain; charset=utf-8");
    response.set_body(sentence_);
    exchange.respond(response);
    return Verdict::answered;
}

bool AllowedHosts::allows(ByteView host) const {
    return wire::is_ip_address(host) || std::ranges::any_of(names_, [=](const std::string& name) {
               return wire::is_host_of(name, host);
           });
}

}  // namespace tiderace::http::filter
