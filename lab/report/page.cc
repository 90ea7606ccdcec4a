#include "lab/report/page.h"

#include "lab/report/markup.h"
#include "lab/report/page_style.h"
#include "lab/report/portraits.h"
#include "lab/report/story.h"
#include "lab/report/tables.h"

namespace tiderace::lab::report {
namespace {

// One file that loads nothing: the style is in it, the icon is empty, and the policy forbids
// everything else, should a text in it ever be taken for markup.
std::string head(const Findings& findings) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; img-src data:\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>";
    out += escape_markup(story::title(findings));
    out += "</title>\n<style>";
    out += page_style;
    return out + "</style>\n</head>\n<body>\n";
}

std::string paragraph(std::string_view text) {
    return "<p>" + escape_markup(text) + "</p>\n";
}

std::string section(std::string_view id, std::string_view heading, std::string_view text) {
    std::string out = "<h2 id=\"" + std::string(id) + "\">" + escape_markup(heading) + "</h2>\n";
    return text.empty() ? out : out + paragraph(text);
}

std::string charts(const std::vector<Picture>& pictures) {
    std::string out = "<div class=\"charts\">\n";
    for (const Picture& picture : pictures) {
        out += "<figure><figcaption><b>" + escape_markup(picture.heading) + "</b>";
        if (!picture.caption.empty()) {
            out += "<span>" + escape_markup(picture.caption) + "</span>";
        }
        out += "</figcaption>\n" + picture.svg + "</figure>\n";
    }
    return out + "</div>\n";
}

// Complete in itself, for a reader that stops here: the advice, how it was measured, and the limits
// of the figures.
std::string lead(const Findings& findings) {
    const std::string recommended = story::recommendation(findings);
    std::string out =
        "<header>\n<p class=\"kicker\">tiderace lab</p>\n<h1>" +
        escape_markup(story::title(findings)) + "</h1>\n<p class=\"facts\">" +
        escape_markup(story::facts(findings)) + "</p>\n" +
        (recommended.empty() ? std::string()
                             : "<p><strong>" + escape_markup(recommended) + "</strong></p>\n") +
        paragraph(story::opening(findings));
    const std::vector<std::string> notes = story::notes(findings);
    if (!notes.empty()) {
        out += "<div class=\"notes\">\n";
        for (const std::string& note : notes) out += paragraph(note);
        out += "</div>\n";
    }
    out += "<nav>";
    for (const auto& [id, name] : story::contents(findings)) {
        out += "<a href=\"#" + std::string(id) + "\">" + escape_markup(name) + "</a>";
    }
    return out + "</nav>\n</header>\n<main>\n";
}

std::string key() {
    return "<div class=\"key\"><span><i style=\"background:var(--chosen)\"></i>epoll, the default"
           "</span><span><i style=\"background:var(--engine)\"></i>other engines, same HTTP</span>"
           "<span><i style=\"background:var(--opponent)\"></i>other servers</span>"
           "<span><i class=\"line\"></i>the floor</span>"
           "<span><i class=\"spread\"></i>from the least to the most of the rounds</span></div>\n";
}

// Tables are made for two pages and know nothing of this one's layout.
std::string with_class(std::string table, std::string_view name) {
    return table.insert(std::string_view("<div class=\"scroll").size(), " " + std::string(name));
}

std::string costs(const Findings& findings) {
    std::string out = section("glance", "At a glance", story::glance_text(findings));
    out += with_class(table_html(glance(findings)), "tight");
    out += section("cost", "What an answer costs", story::cost_text);
    return out + key() + charts(cost_pictures(findings));
}

std::string curves(const Findings& findings) {
    std::string out;
    const std::string workload = story::latency_workload(findings);
    if (!workload.empty()) {
        out += section("latency", "How long answers take", story::latency_text(findings));
        out += charts(latency_pictures(findings, workload));
    }
    const auto throughput = throughput_pictures(findings);
    if (!throughput.empty()) {
        out +=
            section("throughput", "Answers a second, against connections", story::throughput_text);
        out += charts(throughput);
        out += section("memory", "Memory, against connections", story::memory_text);
        out += charts(memory_pictures(findings));
    }
    return out;
}

std::string claims_and_originals(const Findings& findings) {
    std::string out;
    const Table held = claims(findings);
    if (!held.empty()) {
        out += section("claims", "This project's claims", story::claims_text);
        out += table_html(held);
    }
    out += section("originals", "What the originals published", story::originals_text);
    return out + with_class(table_html(originals(findings)), "wide");
}

// Only of servers that ran: a portrait beside no figure would read as one that was measured.
std::string card(const Subject& subject) {
    const Portrait* portrait = portrait_of(subject.name);
    std::string out = "<article><h3>" + escape_markup(subject.name) + "</h3>\n";
    if (!subject.what.empty()) out += paragraph(subject.what);
    if (portrait && !portrait->flow.empty()) {
        out += "<pre>" + escape_markup(portrait->flow) + "</pre>\n";
    }
    return out + "</article>\n";
}

std::string cards(const Findings& findings) {
    std::string out = section("engines", "What they are", story::engines_text);
    out += "<div class=\"cards\">\n";
    for (const Subject& subject : findings.results.subjects) {
        if (subject.absent.empty()) out += card(subject);
    }
    return out + "</div>\n";
}

std::string everything(const Findings& findings) {
    std::string out = section("figures", "All figures", story::figures_text);
    for (const Workload& workload : findings.results.workloads) {
        const Table table = figures(findings, workload);
        if (table.empty()) continue;
        // Closed: a dozen tables of thirty rows would hide each other.
        out += "<details><summary>" + escape_markup(workload.name) + " <span>" +
               escape_markup(workload.about) + "</span></summary>\n" +
               with_class(table_html(table), "tight") + "</details>\n";
    }
    out += section("machine", "Machine and commands", {});
    out += with_class(table_html(machine(findings)), "tight");
    const Table absent = absences(findings);
    if (!absent.empty()) out += table_html(absent);
    return out + "<details><summary>The exact commands</summary>\n" +
           table_html(commands(findings)) + "</details>\n";
}

}  // namespace

std::string page(const Findings& findings) {
    return head(findings) + lead(findings) + costs(findings) + curves(findings) +
           claims_and_originals(findings) + cards(findings) + everything(findings) +
           "</main>\n<footer><p>" + escape_markup(story::closing) + "</p></footer>\n" +
           "</body>\n</html>\n";
}

}  // namespace tiderace::lab::report
