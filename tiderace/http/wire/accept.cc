#include "tiderace/http/wire/accept.h"

#include <array>
#include <optional>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

constexpr int not_named = -1;

// qvalue: "0", "1", up to three decimals, none of them above 1. In thousandths.
std::optional<int> parse_quality(ByteView text) {
    // RFC 9110, 12.4.2: at most "0.123".
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
    if (text.size() > 1 && text[1] != '.') return std::nullopt;
    int quality = (text[0] - '0') * quality_max;
    int worth = 100;
    for (const char c : text.substr(text.size() > 1 ? 2 : 1)) {
        if (!is_digit(c)) return std::nullopt;
        quality += (c - '0') * worth;
        worth /= 10;
    }
    if (quality > quality_max) return std::nullopt;
    return quality;
}

struct Weighted {
    ByteView name;
    int quality = quality_max;
};

// The part of `text` before a ';' outside quotes, which is taken off together with the ';'.
ByteView take_piece(ByteView& text) {
    std::size_t end = 0;
    // A quoted parameter may hold a ';' (RFC 9110, 5.6.6).
    for (bool quoted = false; end < text.size() && (quoted || text[end] != ';'); ++end) {
        if (text[end] == '"') quoted = !quoted;
        if (quoted && text[end] == '\\' && end + 1 < text.size()) ++end;
    }
    const ByteView piece = trim_ows(text.substr(0, end));
    text.remove_prefix(end == text.size() ? end : end + 1);
    return piece;
}

// "gzip;q=0.5", "text/html;level=1;q=0.7". nullopt when its q is not a quality.
std::optional<Weighted> parse_weighted(ByteView element) {
    Weighted weighted{.name = take_piece(element)};
    while (!element.empty()) {
        const ByteView parameter = take_piece(element);
        if (!equals_ignoring_case(parameter.substr(0, 2), "q=")) continue;
        const auto quality = parse_quality(parameter.substr(2));
        if (!quality) return std::nullopt;
        weighted.quality = *quality;
        break;  // what follows extends Accept, not the range
    }
    return weighted;
}

// The quality of each coding in Accept-Encoding; not_named for one that it does not list.
struct CodingQualities {
    std::array<int, 4> of = {not_named, not_named, not_named, not_named};  // by ContentCoding
    int others = not_named;                                                // "*"

    int& operator[](ContentCoding coding) { return of[static_cast<std::size_t>(coding)]; }
    // Identity is acceptable without being named, unless refused, but named codings come first.
    int identity() {
        const int named = (*this)[ContentCoding::identity];
        return named != not_named ? named : others;
    }
    int compressed(ContentCoding coding) {
        const int named = (*this)[coding];
        if (named != not_named) return named;
        return others != not_named ? others : 0;
    }
};

std::optional<ContentCoding> coding_of(ByteView name) {
    // RFC 9110, 8.4.1.3: recipients treat x-gzip as gzip.
    if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) {
        return ContentCoding::gzip;
    }
    if (equals_ignoring_case(name, "br")) return ContentCoding::br;
    if (equals_ignoring_case(name, "zstd")) return ContentCoding::zstd;
    if (equals_ignoring_case(name, "identity")) return ContentCoding::identity;
    return std::nullopt;
}

CodingQualities parse_accept_encoding(ByteView value) {
    CodingQualities qualities;
    for (ListReader list(value); list.next();) {
        const auto weighted = parse_weighted(list.element());
        // An element with a bad weight is left out, and the others count.
        if (!weighted) continue;
        if (weighted->name == "*") {
            qualities.others = weighted->quality;
        } else if (const auto coding = coding_of(weighted->name)) {
            qualities[*coding] = weighted->quality;
        }
    }
    return qualities;
}

struct Wanted {
    int quality = 0;
    int exactness = 0;  // 0: no range matches, 1: "*/*", 2: "text/*", 3: "text/html"
};

int match_exactness(ByteView range, ByteView media_type) {
    if (range == "*/*") return 1;
    if (equals_ignoring_case(range, media_type)) return 3;
    const std::size_t slash = media_type.find('/');
    if (slash == ByteView::npos || !range.ends_with("/*")) return 0;
    const ByteView type = range.substr(0, range.size() - 2);
    return equals_ignoring_case(type, media_type.substr(0, slash)) ? 2 : 0;
}

Wanted wanted_of(ByteView accept, ByteView media_type) {
    // Without Accept, every type is as good as any other (RFC 9110, 12.5.1).
    if (trim_ows(accept).empty()) return {quality_max, 1};
    Wanted best;
    for (ListReader list(accept); list.next();) {
        const auto weighted = parse_weighted(list.element());
        if (!weighted) continue;
        const int exactness = match_exactness(weighted->name, media_type);
        // The most specific range decides, not the largest weight (RFC 9110, 12.5.1).
        if (exactness > best.exactness) best = {weighted->quality, exactness};
    }
    return best;
}

}  // namespace

ByteView coding_name(ContentCoding coding) {
    switch (coding) {
        case ContentCoding::identity:
            break;
        case ContentCoding::gzip:
            return "gzip";
        case ContentCoding::zstd:
            return "zstd";
        case ContentCoding::br:
            return "br";
    }
    return "";
}

CodingChoice choose_coding(ByteView accept_encoding, AvailableCodings available) {
    CodingQualities qualities = parse_accept_encoding(accept_encoding);
    CodingChoice choice{.identity_acceptable = qualities.identity() != 0};
    int best = qualities.identity();
    auto consider = [&](ContentCoding coding, bool is_available) {
        const int quality = qualities.compressed(coding);
        // Among equal weights the later one wins, so the calls below go from the coarsest to the
        // best coding.
        if (!is_available || quality == 0 || quality < best) return;
        best = quality;
        choice.coding = coding;
    };
    consider(ContentCoding::gzip, available.gzip);
    consider(ContentCoding::zstd, available.zstd);
    consider(ContentCoding::br, available.br);
    return choice;
}

int quality_of(ByteView accept, ByteView media_type) {
    return wanted_of(accept, media_type).quality;
}

bool prefers_json(ByteView accept) {
    const Wanted json = wanted_of(accept, "application/json");
    const Wanted html = wanted_of(accept, "text/html");
    if (json.quality != html.quality) return json.quality > html.quality;
    // Among equal weights the more specific type wins; with "*/*" alone, HTML.
    return json.quality > 0 && json.exactness > html.exactness;
}

}  // namespace tiderace::http::wire
