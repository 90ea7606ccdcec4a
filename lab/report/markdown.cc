#include "lab/report/markdown.h"

#include "lab/report/markup.h"
#include "lab/report/portraits.h"
#include "lab/report/story.h"
#include "lab/report/tables.h"

namespace tiderace::lab::report {
namespace {

// The parts of page.cc without its pictures, for a terminal or a pull request. Their common text
// comes from story.cc and tables.cc, so that neither has sentences of its own.
std::string section(std::string_view heading, std::string_view text) {
    std::string out = "## " + std::string(heading) + "\n\n";
    return text.empty() ? out : out + escape_markdown(text) + "\n\n";
}

std::string portrait(const Subject& subject) {
    const Portrait* found = portrait_of(subject.name);
    std::string out = "### " + escape_markdown(subject.name) + "\n\n";
    if (!subject.what.empty()) out += escape_markdown(subject.what) + "\n\n";
    // A drawing is no prose: in a block of code it is shown as it is, and nothing in it is escaped.
    if (found && !found->flow.empty()) out += "```\n" + std::string(found->flow) + "\n```\n\n";
    return out;
}

}  // namespace

std::string markdown(const Findings& findings) {
    const std::string recommended = story::recommendation(findings);
    std::string out =
        "# " + escape_markdown(story::title(findings)) + "\n\n" +
        escape_markdown(story::facts(findings)) + "\n\n" +
        (recommended.empty() ? std::string() : "**" + escape_markdown(recommended) + "**\n\n") +
        escape_markdown(story::opening(findings)) +
        "\n\nThe same with pictures: [index.html](index.html).\n\n";
    for (const std::string& note : story::notes(findings)) {
        out += "> " + escape_markdown(note) + "\n\n";
    }
    out += section("At a glance", story::glance_text(findings)) + table_markdown(glance(findings)) +
           "\n";
    const Table held = claims(findings);
    if (!held.empty()) {
        out += section("This project's claims", story::claims_text) + table_markdown(held) + "\n";
    }
    out += section("All figures", story::cost_text) + escape_markdown(story::figures_text) + "\n\n";
    for (const Workload& workload : findings.results.workloads) {
        const Table table = figures(findings, workload);
        if (table.empty()) continue;
        out += "### " + escape_markdown(workload.name) + ": " + escape_markdown(workload.about) +
               "\n\n" + table_markdown(table) + "\n";
    }
    out += section("What the originals published", story::originals_text) +
           table_markdown(originals(findings)) + "\n";
    out += section("What they are", story::engines_text);
    for (const Subject& subject : findings.results.subjects) {
        if (subject.absent.empty()) out += portrait(subject);
    }
    out += section("Machine and commands", {}) + table_markdown(machine(findings)) + "\n";
    const Table absent = absences(findings);
    if (!absent.empty()) out += table_markdown(absent) + "\n";
    return out + table_markdown(commands(findings)) + "\n" + escape_markdown(story::closing) + "\n";
}

}  // namespace tiderace::lab::report
