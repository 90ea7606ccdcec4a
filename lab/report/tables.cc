#include "lab/report/tables.h"

#include <algorithm>
#include <set>

#include "lab/report/markup.h"
#include "lab/report/published.h"
#include "load/figures.h"

namespace tiderace::lab::report {
namespace {

using Row = std::vector<std::string>;
constexpr const char* nothing = "–";

// The workloads with their numbers of connections, in order; without the series.
std::vector<std::pair<const Workload*, std::uint64_t>> columns_of(const Findings& findings) {
    std::vector<std::pair<const Workload*, std::uint64_t>> columns;
    for (const Workload& workload : findings.results.workloads) {
        // Its many numbers of connections have charts of their own; and what is not CPU time has no
        // place in this table.
        if (workload.name == "scale" || workload.measure != "cpu_us") continue;
        std::set<std::uint64_t> numbers;
        for (const CellSummary& cell : findings.cells) {
            if (cell.workload == workload.name) numbers.insert(cell.connections);
        }
        for (const std::uint64_t number : numbers) columns.emplace_back(&workload, number);
    }
    return columns;
}

std::string glance_cell(const Findings& findings, const CellSummary* cell) {
    if (!cell) return nothing;  // not planned, or the run was interrupted before it
    if (!cell->has_figures()) return state_of(*cell);
    if (cell->cpu_us.median <= 0) return nothing;  // where the system reports no CPU time
    const auto ratio = ratio_to(findings.cells, *cell, findings.floor);
    // Without a floor (a workload that it cannot do) the plain figure, which has no × before it.
    const std::string text = ratio ? load::times(*ratio) : load::short_number(cell->cpu_us.median);
    return cell->state == CellState::ok ? text : text + "*";
}

std::string spread_text(const Spread& spread) {
    return load::short_number(spread.least) + "–" + load::short_number(spread.most);
}

std::string note_of(const CellSummary& cell) {
    if (cell.state == CellState::ok) return {};
    const std::string state(to_string(cell.state));
    return cell.reason.empty() ? state : state + ": " + cell.reason;
}

// A row for each cell, also without figures: a server that is missing from a table would look as if
// it had not been tried.
Row figures_row(const Findings& findings, const CellSummary& cell) {
    Row row{cell.subject, load::with_commas(cell.connections)};
    if (cell.has_figures()) {
        const auto ratio = ratio_to(findings.cells, cell, findings.floor);
        row.push_back(load::short_number(cell.cpu_us.median));
        row.push_back(spread_text(cell.cpu_us));
        row.push_back(ratio ? load::times(*ratio) : nothing);
        row.push_back(load::short_number(cell.per_second.median));
        for (const double part : {0.5, 0.99, 0.999}) {
            row.push_back(cell.latency.empty() ? nothing
                                               : load::micros(latency_at(cell.latency, part)));
        }
        row.push_back(load::bytes(cell.memory_bytes));
        row.push_back(load::with_commas(static_cast<std::uint64_t>(cell.open_max)));
    } else {
        row.insert(row.end(), 9, nothing);
    }
    row.push_back(note_of(cell));
    return row;
}

// For the workload of idle connections.
Row memory_row(const CellSummary& cell) {
    Row row{cell.subject, load::with_commas(cell.connections)};
    if (cell.has_figures()) {
        const Spread& each = cell.connection_bytes;
        const bool is_known = each.most > 0;
        row.push_back(is_known ? load::bytes(each.median) : nothing);
        row.push_back(is_known ? load::bytes(each.least) + "–" + load::bytes(each.most) : nothing);
        row.push_back(load::bytes(cell.memory_before_bytes));
        row.push_back(load::bytes(cell.memory_bytes));
        row.push_back(load::with_commas(static_cast<std::uint64_t>(cell.held())));
    } else {
        row.insert(row.end(), 5, nothing);
    }
    row.push_back(note_of(cell));
    return row;
}

// ---- claims -------------------------------------------------------------------------------------

struct Claim {
    std::string_view one;
    std::string_view other;
    std::string_view workload;
    double at_most;
};

// The first cell of this subject and workload, with figures or without: the claims are about
// workloads of one number of connections.
const CellSummary* any_cell(const Findings& findings, std::string_view subject,
                            std::string_view workload) {
    const auto found = std::ranges::find_if(findings.cells, [&](const CellSummary& cell) {
        return cell.subject == subject && cell.workload == workload;
    });
    return found == findings.cells.end() ? nullptr : &*found;
}

// The project's own claims, tested with this run: one that does not hold here is shown as such.
void add_claim(const Findings& findings, const Claim& claim, Table& table) {
    const CellSummary* one = any_cell(findings, claim.one, claim.workload);
    const CellSummary* other = any_cell(findings, claim.other, claim.workload);
    // A server that took no part gets no row. One that took part without a figure gets a row for
    // it.
    if (!one || !other) return;
    Row row{std::string(claim.one) + " costs at most " + load::times(claim.at_most) + " of " +
                std::string(claim.other) + " on " + std::string(claim.workload),
            nothing, "not measured"};
    const bool both = one->state == CellState::ok && other->state == CellState::ok;
    if (both && other->cpu_us.median > 0) {
        const double ratio = one->cpu_us.median / other->cpu_us.median;
        row[1] = load::times(ratio);
        row[2] = ratio <= claim.at_most ? "yes" : "no";
    }
    table.rows.push_back(std::move(row));
}

void add_select_claim(const Findings& findings, Table& table) {
    const CellSummary* cell = find(findings.cells, "select", "w1", 10'000);
    if (!cell) return;
    // The claim is about refusing: a server that does so fulfils it.
    const bool refused = cell->state == CellState::refused;
    table.rows.push_back({"select refuses what is above its 1,024 descriptors, and serves the rest",
                          state_of(*cell).empty() ? "held all" : state_of(*cell),
                          refused ? "yes" : "no"});
}

// As growth and not as a cost: how much an answer takes depends on the machine, that poll looks at
// all connections for each wait does not.
void add_poll_claim(const Findings& findings, Table& table) {
    const CellSummary* few = find(findings.cells, "poll", "scale", 100);
    const CellSummary* many = find(findings.cells, "poll", "w1", 10'000);
    const CellSummary* epoll_few = find(findings.cells, "epoll", "scale", 100);
    const CellSummary* epoll_many = find(findings.cells, "epoll", "w1", 10'000);
    // All four or none: a growth needs both ends, and a comparison both growths.
    for (const CellSummary* cell : {few, many, epoll_few, epoll_many}) {
        if (!cell || cell->state != CellState::ok || cell->cpu_us.median <= 0) return;
    }
    const double poll_grows = many->cpu_us.median / few->cpu_us.median;
    const double epoll_grows = epoll_many->cpu_us.median / epoll_few->cpu_us.median;
    table.rows.push_back(
        {"poll's cost for an answer grows more than epoll's from 100 to 10,000 connections",
         load::times(poll_grows) + " against " + load::times(epoll_grows),
         poll_grows > epoll_grows ? "yes" : "no"});
}

// ---- originals ----------------------------------------------------------------------------------

std::string measured_beside(const Findings& findings, const Published& published) {
    std::string text;
    std::string_view rest = published.subjects;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        const std::string_view name = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        for (const CellSummary& cell : findings.cells) {
            if (cell.subject != name || cell.workload != published.workload) continue;
            text += (text.empty() ? "" : "; ") + std::string(name) + " ";
            if (!cell.has_figures()) {
                text += state_of(cell);
                continue;
            }
            text += load::rate(cell.per_second.median) + "/s at " +
                    load::short_number(cell.cpu_us.median) + " µs";
            const std::string state = state_of(cell);
            if (!state.empty()) text += " (" + state + ")";
        }
    }
    return text.empty() ? nothing : std::string(published.workload) + ": " + text;
}

std::string join(const std::vector<std::uint64_t>& numbers) {
    std::string text;
    for (const std::uint64_t number : numbers) {
        text += (text.empty() ? "" : ", ") + std::to_string(number);
    }
    return text;
}

}  // namespace

Table glance(const Findings& findings) {
    Table table{.heads = {""}, .is_number = {false}};
    const auto columns = columns_of(findings);
    for (const auto& [workload, number] : columns) {
        const bool has_many =
            std::ranges::count(columns, workload,
                               &std::pair<const Workload*, std::uint64_t>::first) > 1;
        table.heads.push_back(has_many ? workload->name + " " + load::with_commas(number)
                                       : workload->name);
        table.is_number.push_back(true);
    }
    for (const Subject& subject : findings.results.subjects) {
        if (!subject.absent.empty()) continue;
        Row row{subject.name};
        for (const auto& [workload, number] : columns) {
            const CellSummary* cell = find(findings.cells, subject.name, workload->name, number);
            row.push_back(glance_cell(findings, cell));
        }
        table.rows.push_back(std::move(row));
    }
    // Names beside no figure are no table.
    if (columns.empty()) table.rows.clear();
    return table;
}

Table figures(const Findings& findings, const Workload& workload) {
    const bool is_memory = workload.measure == "connection_bytes";
    Table table{
        .heads = {"", "conns", "CPU µs", "min–max", "× floor", "answers/s", "p50", "p99", "p99.9",
                  "memory", "open", ""},
        .is_number = {false, true, true, true, true, true, true, true, true, true, true, false}};
    if (is_memory) {
        table = {
            .heads = {"", "conns", "for each held", "min–max", "before", "with them", "held", ""},
            .is_number = {false, true, true, true, true, true, true, false}};
    }
    for (const CellSummary& cell : findings.cells) {
        if (cell.workload != workload.name) continue;
        table.rows.push_back(is_memory ? memory_row(cell) : figures_row(findings, cell));
    }
    return table;
}

Table claims(const Findings& findings) {
    Table table{.heads = {"claim", "measured", "holds"}, .is_number = {false, false, false}};
    add_claim(findings, {"io_uring", "epoll", "w1", 1.05}, table);
    add_claim(findings, {"io_uring", "epoll", "churn", 1.00}, table);
    for (const std::string_view workload : {"w0", "w1"}) {
        add_claim(findings, {"epoll", "libevent", workload, 0.80}, table);
        add_claim(findings, {"epoll", "asio-per-thread", workload, 0.75}, table);
        add_claim(findings, {"epoll", "evhttp", workload, 0.35}, table);
    }
    add_select_claim(findings, table);
    add_poll_claim(findings, table);
    return table;
}

Table originals(const Findings& findings) {
    Table table{.heads = {"who", "what was published", "why it can't be compared",
                          "the same question, here"},
                .is_number = {false, false, false, false}};
    for (const Published& one : published()) {
        table.rows.push_back({std::string(one.who), std::string(one.claim),
                              std::string(one.why_not), measured_beside(findings, one)});
        table.links.emplace_back(one.source);
    }
    return table;
}

Table machine(const Findings& findings) {
    const Results& results = findings.results;
    const Machine& found = results.machine;
    Table table{.heads = {"", ""}, .is_number = {false, false}};
    const auto add = [&table](std::string name, std::string value) {
        if (!value.empty()) table.rows.push_back({std::move(name), std::move(value)});
    };
    add("when", results.date);
    add("Tiderace", results.version);
    add("built with", results.build);
    add("processor",
        found.cpu + (found.cpus > 0 ? ", " + std::to_string(found.cpus) + " CPUs" : std::string()));
    add("governor", found.governor);
    add("memory", found.memory_bytes > 0 ? load::bytes(static_cast<double>(found.memory_bytes))
                                         : std::string());
    add("kernel", found.kernel);
    add("open files, at most", load::with_commas(found.descriptors_max));
    add("server on CPU", results.pinning.server_cpus.empty() ? "any: not pinned"
                                                             : join(results.pinning.server_cpus));
    add("load on CPU",
        results.pinning.load_cpus.empty() ? "any: not pinned" : join(results.pinning.load_cpus));
    add("rounds", std::to_string(results.rounds) + " of " + load::short_number(results.seconds) +
                      " s for each cell" + (results.quick ? " (--quick)" : ""));
    add("it took", load::seconds(results.took_seconds));
    return table;
}

Table commands(const Findings& findings) {
    Table table{.heads = {"", "command"}, .is_number = {false, false}};
    table.rows.push_back({"this run", findings.results.command});
    for (const Subject& subject : findings.results.subjects) {
        if (subject.command.empty()) continue;
        const std::string version = subject.version.empty() ? "" : " (" + subject.version + ")";
        table.rows.push_back({subject.name + version, subject.command});
    }
    for (const Workload& workload : findings.results.workloads) {
        if (!workload.load.empty()) table.rows.push_back({workload.name, workload.load});
    }
    return table;
}

// Servers that are missing, with the reason: most machines lack some of the servers.
Table absences(const Findings& findings) {
    Table table{.heads = {"not here", "why"}, .is_number = {false, false}};
    for (const Subject& subject : findings.results.subjects) {
        if (!subject.absent.empty()) table.rows.push_back({subject.name, subject.absent});
    }
    for (const Workload& workload : findings.results.workloads) {
        if (!workload.absent.empty()) table.rows.push_back({workload.name, workload.absent});
    }
    return table;
}

std::string run_in_a_line(const Findings& findings) {
    const Results& results = findings.results;
    const auto ran = static_cast<std::uint64_t>(
        std::ranges::count(results.subjects, std::string(), &Subject::absent));
    const auto asked = static_cast<std::uint64_t>(
        std::ranges::count(results.workloads, std::string(), &Workload::absent));
    const auto plural = [](std::uint64_t n, const char* word) {
        return load::with_commas(n) + " " + word + (n == 1 ? "" : "s");
    };
    return plural(ran, "server") + ", " + plural(asked, "workload") + ", " +
           plural(results.rounds, "round");
}

std::string table_html(const Table& table) {
    // Wider than a phone: it scrolls by itself, and with a tab stop also by keyboard alone.
    std::string out = "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>";
    const auto cell = [&](const char* tag, std::size_t column, const std::string& text) {
        const bool is_number = column < table.is_number.size() && table.is_number[column];
        out += std::string("<") + tag + (is_number ? " class=\"number\">" : ">") +
               escape_markup(text) + "</" + tag + ">";
    };
    // An empty <th> would be announced as the head of a column without saying which.
    for (std::size_t i = 0; i < table.heads.size(); ++i) {
        cell(table.heads[i].empty() ? "td" : "th", i, table.heads[i]);
    }
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        const Row& row = table.rows[r];
        out += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i == 0 && r < table.links.size()) {
                out += "<th><a href=\"" + escape_markup(table.links[r]) + "\">" +
                       escape_markup(row[i]) + "</a></th>";
                continue;
            }
            cell(i == 0 ? "th" : "td", i, row[i]);
        }
        out += "</tr>\n";
    }
    return out + "</tbody></table></div>\n";
}

std::string table_markdown(const Table& table) {
    std::string out = "|";
    // Every cell is escaped: a "|" in a server's last words would be one column more.
    for (const std::string& head : table.heads) out += " " + escape_markdown(head) + " |";
    out += "\n|";
    for (std::size_t i = 0; i < table.heads.size(); ++i) {
        out += i < table.is_number.size() && table.is_number[i] ? "---:|" : "---|";
    }
    out += "\n";
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        const Row& row = table.rows[r];
        out += "|";
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool leads = i == 0 && r < table.links.size();
            const std::string text = escape_markdown(row[i]);
            out += leads ? " [" + text + "](" + table.links[r] + ") |" : " " + text + " |";
        }
        out += "\n";
    }
    return out;
}

}  // namespace tiderace::lab::report
