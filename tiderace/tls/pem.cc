#include "tiderace/tls/pem.h"

namespace tiderace::tls {
namespace {

constexpr std::string_view begin_mark = "-----BEGIN ";
constexpr std::string_view end_mark = "-----END ";
constexpr std::string_view dashes = "-----";

// The label of a BEGIN or END line, or "".
std::string_view label_of(std::string_view line, std::string_view mark) {
    // Files from Windows end lines with CR LF, and editors leave spaces.
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.starts_with(mark) || !line.ends_with(dashes)) return {};
    if (line.size() < mark.size() + dashes.size()) return {};
    return line.substr(mark.size(), line.size() - mark.size() - dashes.size());
}

}  // namespace

PemBlocks find_pem_blocks(ByteView text) {
    PemBlocks found;
    PemBlock open;
    std::size_t begin = 0;
    std::size_t number = 0;
    // Some editors begin a file with a byte order mark.
    for (std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size();) {
        ++number;
        std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos) end = text.size();
        const std::string_view line = text.substr(at, end - at);
        if (const auto label = label_of(line, begin_mark); !label.empty()) {
            // another begins before this one ended: the file was cut and joined
            if (open.line != 0) break;
            open = {.label = label, .text = {}, .line = number};
            begin = at;
        } else if (open.line != 0 && label_of(line, end_mark) == open.label) {
            open.text = text.substr(begin, end - begin);
            found.blocks.push_back(open);
            open = {};
        }
        at = end + 1;
    }
    found.unended_line = open.line;
    return found;
}

}  // namespace tiderace::tls
