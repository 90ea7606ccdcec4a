#include "tiderace/http/app/problem.h"

#include "tiderace/http/wire/status.h"
#include "tiderace/json/writer.h"

namespace tiderace::http {

Response Problem::response() const {
    std::string text;
    json::Writer out(text);
    out.begin_object();
    out.key("title").value(title.empty() ? wire::reason_phrase(status) : std::string_view(title));
    out.key("status").value(status);
    if (!detail.empty()) out.key("detail").value(detail);
    if (!faults.empty()) {
        out.key("errors").begin_array();
        for (const Fault& fault : faults) {
            out.begin_object();
            if (!fault.name.empty()) out.key("name").value(fault.name);
            out.key("detail").value(fault.detail).end_object();
        }
        out.end_array();
    }
    out.end_object();
    out.flush();
    return Response(status).body("application/problem+json", std::move(text));
}

}  // namespace tiderace::http
