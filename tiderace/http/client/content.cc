#include "tiderace/http/client/content.h"

#include "tiderace/base/check.h"
#include "tiderace/http/wire/query.h"

namespace tiderace::http {

Content form(std::span<const FormPair> pairs) {
    std::size_t bytes_max = 0;  // every byte an escape, and "&=" for each pair
    for (const auto& [name, value] : pairs) bytes_max += 3 * (name.size() + value.size()) + 2;
    std::string text(bytes_max, '\0');
    wire::BoundedText out(text);
    for (const auto& [name, value] : pairs) TR_CHECK(wire::append_query_pair(out, name, value));
    text.resize(out.size());
    return {"application/x-www-form-urlencoded", std::move(text)};
}

}  // namespace tiderace::http
