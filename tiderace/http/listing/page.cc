#include "tiderace/http/listing/page.h"

#include <cstdio>

#include "tiderace/base/calendar.h"
#include "tiderace/http/listing/readme.h"
#include "tiderace/http/page_style.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/http_date.h"
#include "tiderace/http/wire/percent.h"
#include "tiderace/http/wire/text/html_escape.h"
#include "tiderace/http/wire/text/json_escape.h"

namespace tiderace::http::listing {
namespace {

constexpr ByteView layout_style = R"(
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.25rem;font-weight:600;margin:0 0 1rem;overflow-wrap:anywhere}
h1 a{padding:.1rem .15rem}
h1 i{color:var(--soft);font-style:normal}
#filter{width:100%;font:inherit;color:inherit;background:var(--wash);border:1px solid var(--line);
border-radius:.5rem;padding:.5rem .8rem;margin:0 0 .8rem}
table{border-collapse:collapse;width:100%;table-layout:fixed;
font-variant-numeric:tabular-nums}
th{text-align:left;font-weight:500;font-size:.85rem;position:sticky;top:0;
background:var(--paper);z-index:1}
th a{color:var(--soft);display:block;padding:.5rem .6rem}
th[aria-sort] a{color:var(--ink)}
th[aria-sort=ascending] a::after{content:" \2191"}
th[aria-sort=descending] a::after{content:" \2193"}
td{padding:0}tbody tr{border-top:1px solid var(--line)}
td a{display:block;position:relative;padding:.45rem .6rem .45rem calc(.6rem + 1.6em);
overflow-wrap:anywhere;color:var(--ink)}
td a::before{content:"";position:absolute;margin:.15em 0 0 -1.6em;width:.9em;height:1.1em;
border:1.5px solid var(--soft);border-radius:2px;opacity:.75}
td a i{color:var(--soft);font-size:.9em}
td a.d{font-weight:600;color:var(--tide)}
td a.d::before{width:1.18em;height:.86em;margin:.32em 0 0 -1.74em;background:var(--tide);
border-color:var(--tide);box-shadow:-.16em -.28em 0 -.16em var(--tide);opacity:1}
.s,.t{white-space:nowrap;color:var(--soft);padding:.45rem .6rem;text-align:right}
th.s,th.t{padding:0}th.s{width:7rem}th.t{width:11.5rem}
tbody tr:hover{background:var(--wash)}
.note,footer{color:var(--soft);font-size:.9rem}.note{padding:0 .6rem}footer{padding:.8rem .6rem}
.readme{border:1px solid var(--line);border-radius:.7rem;padding:1rem 1.2rem;margin-top:1.5rem;
overflow-wrap:anywhere}
.readme a{text-decoration:underline}
.readme div{overflow-x:auto;margin:1rem 0}
.readme table{table-layout:auto;width:auto}.readme tr{display:table-row}
.readme th,.readme td{position:static;padding:.25rem .6rem;overflow-wrap:normal}
.readme td code{white-space:nowrap}.readme .c{text-align:center}.readme .r{text-align:right}
.readme td a{display:inline;padding:0;color:var(--tide)}
.readme td a::before{display:none}
.readme>h2:first-child{margin:0 0 .8rem;font-size:.85rem;color:var(--soft);font-weight:500}
.readme pre{background:var(--wash);padding:.7rem .9rem;border-radius:.4rem;overflow-x:auto}
.readme code{font:.9em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.readme pre.plain{background:none;padding:0;white-space:pre-wrap;overflow-wrap:anywhere}
@media(max-width:38rem){main{padding:1rem .4rem 3rem}
td a{padding:.65rem .4rem .1rem calc(.4rem + 1.6em)}
tr{display:grid;grid-template-columns:1fr auto}tr[hidden]{display:none}
.t{grid-column:1/-1;text-align:left;padding:0 0 .6rem 2rem}.t:empty{padding:.25rem}
th.t{padding:0}th.s,th.t{width:auto}}
)";

// Shows the filter box, hides the rows whose name lacks what was typed.
constexpr ByteView filter_script = R"(
const box=document.getElementById('filter');box.hidden=false;
const none=document.getElementById('none');
const rows=[...document.querySelectorAll('main>table tbody tr')];
box.addEventListener('input',()=>{const q=box.value.toLowerCase();
let shown=0;
for(const r of rows){r.hidden=!r.cells[0].textContent.toLowerCase().includes(q);shown+=!r.hidden}
none.textContent=shown||!q?'':'No match for \u201c'+box.value+'\u201d.'});
addEventListener('keydown',e=>{if(e.key==='/'&&e.target!==box){e.preventDefault();box.focus()}
if(e.key==='Escape'&&e.target===box){box.value='';box.dispatchEvent(new Event('input'))}});
)";

// The escapes of a link leave nothing that HTML would read as more than text, save '&' and the
// apostrophe: hence html_text() over it.
std::string link(ByteView path) {
    std::string out;
    wire::append_bounded(out, path.size() * wire::uri_growth_max,
                         [&](wire::BoundedText& room) { wire::append_path(room, path); });
    return wire::html_text(out);
}

// "example.org / docs / api /", each a link to its folder.
std::string breadcrumb(const std::string& host, const std::string& path) {
    std::string out = "<a href=\"/\">" + wire::html_text(host) + "</a> <i>/</i>";
    for (std::size_t begin = 1; begin < path.size();) {
        const std::size_t end = path.find('/', begin);
        const ByteView name = ByteView(path).substr(begin, end - begin);
        out += " <a href=\"" + link(ByteView(path).substr(0, end + 1)) + "\">" +
               wire::html_text(name) + "</a> <i>/</i>";
        begin = end + 1;
    }
    return out;
}

struct Column {
    ListingSort sort;
    ByteView key;
    ByteView title;
    ByteView css;
};
constexpr Column columns[] = {{ListingSort::name, "name", "Name", ""},
                              {ListingSort::size, "size", "Size", "s"},
                              {ListingSort::time, "time", "Changed (UTC)", "t"}};

std::string column_heads(const ListingDescription& listing) {
    std::string out = "<thead><tr>";
    for (const Column& column : columns) {
        const bool current = listing.sorted && column.sort == listing.order.sort;
        out += "<th scope=\"col\"";
        if (!column.css.empty()) out.append(" class=\"").append(column.css).append("\"");
        if (current) {
            out +=
                listing.order.descending ? " aria-sort=\"descending\"" : " aria-sort=\"ascending\"";
        }
        out += ">";
        // Names read best from A, sizes and times from the largest and the newest.
        const bool natural_descending = column.sort != ListingSort::name;
        const bool descending = current ? !listing.order.descending : natural_descending;
        if (listing.sorted) {
            out.append("<a href=\"?sort=").append(column.key).append("&amp;order=");
            out.append(descending ? "desc" : "asc").append("\">").append(column.title);
            out += "</a>";
        } else {
            out.append("<a>").append(column.title).append("</a>");
        }
        out += "</th>";
    }
    return out + "</tr></thead>\n<tbody>\n";
}

std::string plural(std::uint64_t count, const char* one, const char* many) {
    return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

// '&' and the apostrophe may stand in a path as they are, and must not in an attribute.
bool append_href(wire::BoundedText& out, const ListingRow& row) {
    char href[3 * 256];
    wire::BoundedText path{std::span<char>(href)};
    return wire::append_path_segment(path, row.name) && out.append(" href=\"./") &&
           wire::append_html(out, path.view()) && out.append(row.directory ? "/\"" : "\"");
}

bool append_json_href(wire::BoundedText& out, const ListingRow& row) {
    if (!wire::may_be_segment(row.name)) return out.append("null");
    return out.append("\"./") && wire::append_path_segment(out, row.name) &&
           out.append(row.directory ? "/\"" : "\"");
}

bool append_time(wire::BoundedText& out, ByteView iso) {
    return iso.empty() || (out.append("<time datetime=\"") && out.append(iso) &&
                           out.append("\">") && out.append(iso.substr(0, 10)) && out.append(' ') &&
                           out.append(iso.substr(11, 5)) && out.append("</time>"));
}

}  // namespace

std::string human_size(std::uint64_t bytes) {
    if (bytes < 1024) return std::to_string(bytes) + " B";
    constexpr ByteView units = "KMGTPE";
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    // 1023.95 would be written as 1024.0.
    while (value >= 1023.95 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %ciB", value, units[unit]);
    return text;
}

std::string iso_time(UnixSeconds time) {
    char room[rfc3339_bytes_max];
    return std::string(write_rfc3339(room, time, 1));
}

std::string HtmlListing::head(const ListingDescription& listing) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>" +
        wire::html_text(listing.path) + "</title>\n<style nonce=\"" + listing.nonce + "\">";
    out.append(page_style).append(layout_style).append("</style>\n<main>\n<h1>");
    out += breadcrumb(listing.host, listing.path) + "</h1>\n";
    out +=
        "<input id=\"filter\" type=\"search\" placeholder=\"Filter (press /)\" "
        "aria-label=\"Filter by name\" autocomplete=\"off\" hidden>\n";
    if (!listing.sorted) {
        out +=
            "<p class=\"note\">Too many entries to sort: they come in the folder's own "
            "order.</p>\n";
    }
    out += "<table>\n" + column_heads(listing);
    if (listing.path != "/") {
        out +=
            "<tr><td><a class=\"d\" href=\"../\">..</a></td><td class=\"s\"></td>"
            "<td class=\"t\"></td></tr>\n";
    }
    return out;
}

bool HtmlListing::append_row(wire::BoundedText& out, const ListingRow& row) {
    const std::size_t before = out.size();
    const std::string time = iso_time(row.modified);
    const bool linked = wire::may_be_segment(row.name);
    const bool fits = out.append(row.directory ? "<tr><td><a class=\"d\"" : "<tr><td><a") &&
                      (!linked || append_href(out, row)) && out.append(">") &&
                      wire::append_html(out, row.name) && out.append(row.directory ? "/" : "") &&
                      (linked || out.append(" <i>no address can hold this name</i>")) &&
                      out.append("</a></td><td class=\"s\">") &&
                      out.append(row.directory ? std::string() : human_size(row.bytes)) &&
                      out.append("</td><td class=\"t\">") && append_time(out, time) &&
                      out.append("</td></tr>\n");
    if (!fits) out.shrink_to(before);
    return fits;
}

std::string HtmlListing::tail(const ListingDescription& listing, const ListingTotals& totals) {
    std::string out =
        "</tbody>\n</table>\n<p id=\"none\" class=\"note\" role=\"status\"></p>\n<footer>";
    if (totals.directories + totals.files == 0) {
        out += "Nothing in here.";
    } else {
        if (totals.directories > 0) out += plural(totals.directories, "folder", "folders");
        if (totals.directories > 0 && totals.files > 0) out += ", ";
        if (totals.files > 0) {
            out += plural(totals.files, "file", "files") + ", " + human_size(totals.bytes);
        }
    }
    if (!totals.complete) out += ". The folder could not be read to its end.";
    out += "</footer>\n";
    if (!listing.readme_name.empty()) {
        out += "<section class=\"readme\"><h2>" + wire::html_text(listing.readme_name) + "</h2>\n" +
               readme_html(listing.readme_name, listing.readme);
        if (listing.readme_cut) {
            out += "<p><a href=\"./" + link(listing.readme_name) + "\">Read on</a></p>\n";
        }
        out += "</section>\n";
    }
    out += "</main>\n<script nonce=\"" + listing.nonce + "\">";
    out.append(filter_script).append("</script>\n</html>\n");
    return out;
}

std::string JsonListing::head(const ListingDescription& listing) {
    first_ = true;
    return "{\"path\":\"" + wire::json_text(listing.path) +
           "\",\"sorted\":" + (listing.sorted ? "true" : "false") + ",\"entries\":[";
}

bool JsonListing::append_row(wire::BoundedText& out, const ListingRow& row) {
    const std::size_t before = out.size();
    const std::string time = iso_time(row.modified);
    const bool fits =
        out.append(first_ ? "\n{\"name\":\"" : ",\n{\"name\":\"") &&
        wire::append_json(out, row.name) && out.append("\",\"href\":") &&
        append_json_href(out, row) &&
        out.append(row.directory ? ",\"type\":\"directory\"" : ",\"type\":\"file\"") &&
        (time.empty() ||
         (out.append(",\"modified\":\"") && out.append(time) && out.append("\""))) &&
        (row.directory || (out.append(",\"bytes\":") && out.append_number(row.bytes))) &&
        out.append("}");
    if (!fits) {
        out.shrink_to(before);
        return false;
    }
    first_ = false;
    return true;
}

std::string JsonListing::tail(const ListingDescription&, const ListingTotals& totals) {
    return std::string("\n],\"complete\":") + (totals.complete ? "true" : "false") + "}\n";
}

}  // namespace tiderace::http::listing
