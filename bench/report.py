"""Turns figures into tables: for the eye, for bench/results/, and for the README."""

import datetime
import os
import pathlib
import platform
import re
import subprocess

from servers import BEFORE
from workloads import H2O, LIGHTTPD, NGINX, TIDERACE, WORKLOADS, Above, AtLeast, Limit

ROOT = pathlib.Path(__file__).resolve().parent.parent
README_BEGIN, README_END = "<!-- bench: begin -->", "<!-- bench: end -->"


def first_line(words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    except FileNotFoundError:
        return ""
    text = (done.stdout or done.stderr).strip()
    return text.splitlines()[0] if text else ""


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.+)", text)
    memory = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    commit = first_line(["git", "rev-parse", "--short=10", "HEAD"]) or "unknown"
    dirty = first_line(["git", "status", "--porcelain", "--untracked-files=no"])
    return {
        "cpu": model.group(1) if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory.group(1)) / 2**20, 1),
        "kernel": platform.release().split("-")[0],
        "commit": commit + ("-changed" if dirty else ""),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "versions": {
            "nginx": first_line(["nginx", "-v"]).removeprefix("nginx version: nginx/"),
            "lighttpd": first_line(["lighttpd", "-v"]).split(" (")[0].removeprefix("lighttpd/"),
            "h2o": first_line(["h2o", "--version"]).removeprefix("h2o version "),
            "h2load": first_line(["h2load", "--version"]).removeprefix("h2load nghttp2/"),
            "openssl": " ".join(first_line(["openssl", "version"]).split()[1:2]),
            "wrk": first_line(["wrk", "-v"]).split(" [")[0].removeprefix("wrk "),
        },
    }


def ratio_of(results, server, others, figure="cpu"):
    """Server's figure over the best of the others'; nothing when one of them is not there."""
    mine = results.get(server, {}).get(figure)
    theirs = [results[name][figure] for name in others if figure in results.get(name, {})]
    return mine / min(theirs) if mine is not None and theirs else None


def verdicts(workload, results):
    """(sentence, met) for each target that can be judged."""
    for target in workload.targets:
        if isinstance(target, Above):
            mine = results.get(target.server, {}).get(target.figure)
            theirs = results.get(target.of, {}).get(target.figure)
            if mine is not None and theirs is not None:
                said = f"{target.server}: {mine - theirs:+.2f} {target.unit} to {target.of}"
                yield f"{said}, at most {target.more:g}", mine - theirs <= target.more
            continue
        if isinstance(target, AtLeast):
            verdict = at_least(target, results)
            if verdict:
                yield verdict
            continue
        if isinstance(target, Limit):
            figure = results.get(target.server, {}).get(target.figure)
            if figure is not None:
                what = target.figure.replace("_", " ")
                said = f"{target.server}: {what} {figure:,.1f} {target.unit}"
                yield f"{said}, at most {target.at_most:,g}", figure <= target.at_most
            continue
        ratio = ratio_of(results, target.server, target.of, target.figure)
        if ratio is not None:
            best = " or ".join(target.of)
            said = f"{target.server}: {target.figure} {ratio:.3f} × {best}"
            yield f"{said}, at most {target.at_most:g}", ratio <= target.at_most


def at_least(target, results):
    figure = results.get(target.server, {}).get(target.figure)
    base = results.get(target.of, {}).get(target.figure) if target.of else 1
    if figure is None or base is None:
        return None
    what = target.figure.replace("_", " ")
    if target.of:
        said = f"{target.server}: {what} {figure / base:.3f} × {target.of}"
        return f"{said}, at least {target.least:g}", figure >= target.least * base
    said = f"{target.server}: {figure:,.0f} {target.unit or what}"
    return f"{said}, at least {target.least:,g}", figure >= target.least


def beside_before(results):
    """A sentence for each of our servers that ran beside its earlier self."""
    for name, found in results.items():
        before = results.get(name + BEFORE, {})
        for figure in ("cpu", "per_connection", "base", "milliseconds"):
            if figure in found and figure in before:
                ratio = found[figure] / before[figure]
                yield f"{name}: {figure.replace('_', ' ')} {ratio:.3f} × {name}{BEFORE}"


def table(heads, rows):
    def line(cells):
        return "| " + " | ".join(cells) + " |"

    ruler = "|---|" + "---:|" * (len(heads) - 1)
    return "\n".join([line(heads), ruler, *(line(row) for row in rows)])


def load_table(results):
    floors = [name for name in results if name.startswith("floor") and "cpu" in results[name]]
    base = min(floors, key=lambda name: results[name]["cpu"]) if floors else None
    heads = [
        "",
        "CPU µs/request",
        "least – most",
        f"× {base}" if base else "",
        "requests/s",
        "p99 ms",
    ]
    rows = []
    for name, found in results.items():
        if "cpu" not in found:
            rows.append([name, found["absent"], "", "", "", ""])
            continue
        over = f"{found['cpu'] / results[base]['cpu']:.2f}" if base else ""
        spread = f"{found['cpu_least']:,.2f} – {found['cpu_most']:,.2f}"
        cost = f"**failed**: {found['faults'][0]}" if found["faults"] else f"{found['cpu']:,.2f}"
        rate = f"{found['requests_per_second']:,.0f}"
        late = f"{found['p99'] / 1000:,.2f}" if found["p99"] else ""
        rows.append([name, cost, spread, over, rate, late])
    return table(heads, rows)


def queries_table(results):
    heads = ["", "client CPU µs/query", "least – most", "queries/s", "database CPU µs/query"]
    rows = []
    for name, found in results.items():
        if "cpu" not in found:
            rows.append([name, found["absent"], "", "", ""])
            continue
        spread = f"{found['cpu_least']:,.2f} – {found['cpu_most']:,.2f}"
        cost = f"**failed**: {found['faults'][0]}" if found["faults"] else f"{found['cpu']:,.2f}"
        rate, theirs = f"{found['requests_per_second']:,.0f}", f"{found['database']:,.2f}"
        rows.append([name, cost, spread, rate, theirs if found["database"] else ""])
    return table(heads, rows)


def pages_table(results):
    heads = ["", "CPU µs/page", "least – most", "pages/s", "p99 ms", "slowest ms", "PSS under load"]
    heads += ["page", "database CPU µs/page"]
    rows = []
    for name, found in results.items():
        if "cpu" not in found:
            rows.append([name, found["absent"], *[""] * 7])
            continue
        cost = f"**failed**: {found['faults'][0]}" if found["faults"] else f"{found['cpu']:,.2f}"
        rows.append(
            [
                name,
                cost,
                f"{found['cpu_least']:,.2f} – {found['cpu_most']:,.2f}",
                f"{found['requests_per_second']:,.0f}",
                f"{found['p99_milliseconds']:,.2f}",
                f"{found['slowest_milliseconds']:,.2f}",
                f"{found['megabytes']:,.1f} MB",
                f"{found['page_bytes']:,.0f} B",
                f"{found['database']:,.2f}" if found["database"] else "",
            ]
        )
    return table(heads, rows)


def feeds_table(results):
    rows = []
    for name, found in results.items():
        if "p99" not in found:
            rows.append([name, found["absent"], "", "", ""])
            continue
        said = f"**failed**: {found['faults'][0]}" if found["faults"] else f"{found['p50']:,.0f}"
        answers = f"{found['answers']:,}"
        rows.append([name, said, f"{found['p99']:,.0f}", f"{found['most']:,.0f}", answers])
    return table(["", "median µs", "p99 µs", "slowest µs", "feeds"], rows)


def idle_table(results):
    heads = ["", "base PSS", "bytes/idle connection", "opened", "opened/s", "still answer"]
    rows = []
    for name, found in results.items():
        if "base" not in found:
            rows.append([name, found["absent"], "", "", "", ""])
            continue
        base, each = f"{found['base'] / 1e6:.2f} MB", f"{found['per_connection']:,.0f}"
        again = f"{found['still_answer']} of {found['asked_again']}"
        rate = f"{found['connections_per_second']:,.0f}"
        rows.append([name, base, each, f"{found['opened']:,}", rate, again])
    return table(heads, rows)


def start_table(results):
    heads = ["", "ms to the first byte", "least – most"]
    rows = []
    for name, found in results.items():
        if "milliseconds" not in found:
            rows.append([name, found["absent"], ""])
            continue
        spread = f"{found['least']:.2f} – {found['most']:.2f}"
        rows.append([name, f"{found['milliseconds']:.2f}", spread])
    return table(heads, rows)


def figures_table(results):
    """For workloads with one figure of their own, whatever it is called."""
    units = {"microseconds": "µs", "seconds": "s", "bytes": "B"}
    known = [unit for found in results.values() for unit in units if unit in found]
    figure = known[0] if known else "seconds"
    rows = []
    for name, found in results.items():
        if figure not in found:
            rows.append([name, found["absent"], ""])
            continue
        most = f"{found['most']:,.2f}" if "most" in found else ""
        digits = 0 if figure == "bytes" else 2
        rows.append([name, f"{found[figure]:,.{digits}f} {units[figure]}", most])
    return table(["", "least", "most"], rows)


TABLES = {
    "queries": queries_table,
    "pages": pages_table,
    "feeds": feeds_table,
    "streams": idle_table,
    "requests": load_table,
    "micro": figures_table,
    "compile": figures_table,
    "size": figures_table,
    "load": load_table,
    "handshakes": load_table,
    "h2": load_table,
    "echo": load_table,
    "idle": idle_table,
    "idle_h2": idle_table,
    "start": start_table,
}


def section(workload, results):
    lines = [f"## {workload.name}: {workload.about}", "", TABLES[workload.kind](results), ""]
    for said, met in verdicts(workload, results):
        lines.append(f"- {'met' if met else '**missed**'}: {said}")
    lines += [f"- {said}" for said in beside_before(results)]
    return "\n".join(lines) + "\n"


def document(facts, settings, sections):
    versions = ", ".join(f"{name} {text}" for name, text in facts["versions"].items() if text)
    where = f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']} GiB"
    head = [
        f"# Measured on {facts['date']} at {facts['commit']}",
        "",
        f"{where}, Linux {facts['kernel']}. {versions}.",
        "",
        settings,
        "CPU µs/request is the server's user and system time, all threads and children, divided by",
        "the answers sent; medians. Ratios are within this run. Status and length of answers were",
        "checked before each round, and the bytes received compared with the requests after it.",
        "",
    ]
    return "\n".join([*head, *sections])


# The first figures for a reader; the rest is in the page of the whole run.
IN_README = "1k 1k-10000 57k 57k-close 2.5m 304 404 pipelined tls-1k h2-1k".split()


def readme_table(every):
    """One line for each of the loads that README tells, from the results of a run."""
    about = {workload.name: workload.about for workload in WORKLOADS if workload.name in IN_README}
    names = (TIDERACE, NGINX, LIGHTTPD, H2O)
    rows = []
    for name, results in every.items():
        if name in about and "cpu" in results.get(TIDERACE, {}) and NGINX in results:
            cells = [
                f"{results[s]['cpu']:,.1f}" if "cpu" in results.get(s, {}) else "" for s in names
            ]
            floors = [
                results[s]["cpu"] for s in results if s.startswith("floor") and "cpu" in results[s]
            ]
            rows.append([about[name], *cells, f"{min(floors):,.1f}" if floors else ""])
    return table(["CPU µs per request", *names, "the better floor"], rows)


def put_into_readme(readme, every, facts, source):
    text = readme.read_text()
    begin, end = text.index(README_BEGIN) + len(README_BEGIN), text.index(README_END)
    where = f"{facts['cpu']}, {facts['cores']} cores, Linux {facts['kernel']}, {facts['date']}"
    body = f"\n{readme_table(every)}\n\n{where}; [the whole run]({source}).\n"
    readme.write_text(text[:begin] + body + text[end:])
