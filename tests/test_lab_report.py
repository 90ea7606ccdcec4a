"""The report of the lab in a real browser: on a desk and on a phone, in light and in dark.

Screenshots go to build/test-logs/browser/.
"""

import json
import math
import subprocess

import pytest

from test_browser import SCREENS, Visit

ENGINES = ["epoll", "epoll-lt", "epoll-et", "epoll-oneshot", "io_uring", "poll", "select", "queue",
           "threads", "pool", "blocking-epoll", "prefork", "libevent", "asio-shared",
           "asio-per-thread"]
OPPONENTS = ["evhttp", "evhttp-sendfile", "asio-http", "nginx", "lighttpd", "h2o", "apache",
             "caddy", "haproxy"]
HOSTILE = "<script>alert(1)</script><img src=http://127.0.0.1:1/x>\"'&|`"
WORKLOADS = [("w0", [100]), ("w1", [10_000]), ("churn", [100]), ("idle", [1000]),
             ("scale", [1, 10, 100, 1000])]


def cell(subject, workload, connections, number):
    cost = (1 + number % 7) * (300 if workload == "w0" else 5)
    found = {"subject": subject, "workload": workload, "connections": connections, "round": 1,
             "state": "ok", "seconds": 1, "answers": 1000, "per_second": 1e5 / (1 + number % 5),
             "cpu_us": cost, "memory_bytes": 3_000_000 + connections * 300 * (1 + number),
             "memory_before_bytes": 3_000_000, "opened": connections, "open_max": connections,
             "latency_us": [[share, connections * cost * (1 - math.log10(1.0001 - share))]
                            for share in (0.5, 0.9, 0.99, 0.999, 1)]}
    if workload == "w1":
        found.update({"select": {"state": "refused", "open_max": 1012, "reason": "it served 1,012"},
                      "pool": {"state": "starved", "starved": 9936, "reason": "9,936 starved"},
                      "threads": {"state": "died", "reason": HOSTILE}}.get(subject, {}))
    return found


@pytest.fixture(scope="module")
def report(binary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    subjects = [(name, "engine") for name in [*ENGINES, HOSTILE]]
    subjects += [(name, "opponent") for name in OPPONENTS] + [("floor", "floor")]
    results = {
        "format": "tiderace-lab-results", "format_version": 1, "date": "2026-11-21T10:00:00Z",
        "version": HOSTILE, "command": HOSTILE, "machine": {"cpu": HOSTILE, "cpus": 2},
        "rounds": 1, "seconds": 1, "notes": [HOSTILE],
        "subjects": [{"name": name, "kind": kind, "what": HOSTILE, "command": "x" * 300}
                     for name, kind in subjects],
        "workloads": [{"name": name, "about": f"{name}, {HOSTILE}", "connections": numbers,
                       "measure": "connection_bytes" if name == "idle" else "cpu_us"}
                      for name, numbers in WORKLOADS],
        "cells": [cell(subject, workload, number, index)
                  for workload, numbers in WORKLOADS for number in numbers
                  for index, (subject, _) in enumerate(subjects)]}
    (folder / "results.json").write_text(json.dumps(results))
    subprocess.run([binary.parent / "tiderace-lab", "report", folder], check=True, timeout=200,
                   capture_output=True)
    return folder / "index.html"


# The contrast of each text on the page with its background, by the formula of WCAG.
CONTRASTS = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const found = parts(getComputedStyle(e).backgroundColor);
      if (found.length === 3 || found[3] > 0) return light(found);
    }
    return 1;
  };
  const found = [];
  for (const e of document.querySelectorAll(
      'p, h1, h2, h3, th, td, a, b, span, pre, summary, svg text, svg tspan')) {
    if (!e.textContent.trim()) continue;
    const style = getComputedStyle(e);
    const ink = light(parts(e.closest('svg') ? style.fill : style.color));
    const paper = ground(e.closest('svg') ? e.closest('svg').parentElement : e);
    found.push([(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05),
                e.tagName + '.' + e.getAttribute('class') + ': ' + e.textContent.slice(0, 30)]);
  }
  return found;
}"""
# Pieces of text in one picture that lie on each other.
OVERLAPS = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('svg')) {
    const boxes = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]);
    boxes.forEach(([t, a], i) => boxes.slice(i + 1).forEach(([u, b]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 5) found.push(t.textContent + ' / ' + u.textContent);
    }));
  }
  return found;
}"""
# Drawings of which a piece is out of sight, and the table that is all words.
CUT_OFF = """() => [...document.querySelectorAll('.cards pre, .scroll.wide')]
    .filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent.slice(0, 60))"""


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_is_fit_to_be_seen(chromium, report, scheme, screen):
    with Visit(chromium, scheme, screen, javascript=True) as visit:
        asked = []
        visit.page.on("request", lambda request: asked.append(request.url))
        visit.go(report.as_uri())
        visit.picture(f"lab-report-{scheme}-{screen}")
        seen = visit.page.inner_text("body")
        for name in [*ENGINES, *OPPONENTS, "floor", HOSTILE]:
            assert name in seen, name
        for text in ("held 1,012", "9,936 starved", "died", "At a glance", "http-server, four"):
            assert text in seen, text
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert visit.complaints == []
        assert not visit.is_wider_than_the_screen()
        worst = min(visit.page.evaluate(CONTRASTS))
        assert worst[0] >= 4.5, worst
        assert visit.page.evaluate(OVERLAPS) == []
        assert visit.page.evaluate(CUT_OFF) == []
        brightness = visit.brightness()
        assert brightness > 180 if scheme == "light" else brightness < 90


def test_the_charts_text_is_no_smaller_on_a_phone(chromium, report):
    with Visit(chromium, "light", "phone") as visit:
        visit.go(report.as_uri())
        heights = visit.page.evaluate("""() => [...document.querySelectorAll('svg text')]
            .filter(t => t.textContent.trim()).map(t => t.getBoundingClientRect().height)""")
        assert len(heights) > 100
        assert min(heights) >= 11
