// The style of the report's page: quiet, two colour schemes, one column on a phone.
//
// Colours are Okabe and Ito's, darkened or lightened until text in them reads on their ground;
// tests/test_lab_report.py measures the contrast in both schemes.
#pragma once

#include <string_view>

namespace tiderace::lab::report {

inline constexpr std::string_view page_style = R"(
:root { color-scheme: light dark; --ground: #fdfdfb; --ink: #1b1d20; --quiet: #5a6068;
  --rule: #dcdcd6; --grid: #e9e9e4; --card: #f6f6f2; --engine: #6fa3c7; --chosen: #0b5e94;
  --opponent: #c08a3e; --floor: #8c9096;
  --c0: #0067a3; --c1: #b44b00; --c2: #00735a; --c3: #a0447c; --c4: #806000; --c5: #5a48b0; }
@media (prefers-color-scheme: dark) { :root { --ground: #15171b; --ink: #e7e7e3;
  --quiet: #a6abb3; --rule: #343840; --grid: #262a31; --card: #1c1f25; --engine: #42779c;
  --chosen: #7cc4f5; --opponent: #a97631; --floor: #7d828a;
  --c0: #63b8ee; --c1: #f2935a; --c2: #45c9a4; --c3: #e8a0c8; --c4: #e3b73c; --c5: #b8acff; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2.5rem 1rem 4rem; max-width: 1160px; background: var(--ground);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", sans-serif;
  overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; letter-spacing: -0.01em; }
h1 { font-size: clamp(1.7rem, 5vw, 2.5rem); margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 3.4rem 0 .5rem; padding-top: 1.1rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 0; }
p { max-width: 68ch; margin: .5rem 0; }
.kicker, .facts, figcaption span, .small { color: var(--quiet); font-size: .875rem; }
.kicker { margin: 0; letter-spacing: .04em; }
.notes { max-width: 68ch; margin: 1.2rem 0; padding: .6rem 1rem; background: var(--card);
  border-left: 3px solid var(--c1); }
.notes p { margin: .2rem 0; }
nav { margin: 1.4rem 0 0; font-size: .9rem; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
a { color: var(--c0); text-underline-offset: .15em; text-decoration-thickness: 1px; }
.charts { display: grid; gap: 2rem 2.2rem; margin: 1.4rem 0 0;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 336px), 1fr)); }
figure { margin: 0; min-width: 0; }
figcaption { margin: 0 0 .5rem; line-height: 1.35; }
figcaption b, figcaption span { display: block; }
svg { display: block; width: 100%; height: auto; max-width: 430px; overflow: visible; }
svg text { font-size: 12px; fill: var(--ink); font-variant-numeric: tabular-nums; }
svg .name { text-anchor: end; } svg .strong { font-weight: 650; }
svg .quiet, svg .tick { fill: var(--quiet); } svg .tick { font-size: 11px; }
svg .left { text-anchor: end; } svg .below { text-anchor: middle; }
svg .line-name { text-anchor: middle; font-size: 11px; fill: var(--quiet); }
svg .bar { stroke-width: 1.3; } svg .engine { fill: var(--engine); stroke: var(--engine); }
svg .chosen { fill: var(--chosen); stroke: var(--chosen); }
svg .opponent { fill: var(--opponent); stroke: var(--opponent); }
svg .floor { fill: var(--floor); stroke: var(--floor); } svg .hollow { fill: none; }
svg .cut { stroke: var(--ground); stroke-width: 2; }
svg .spread { stroke: var(--ink); stroke-width: 1.2; }
svg .floor-line { stroke: var(--quiet); stroke-width: 1; stroke-dasharray: 2 3; }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--quiet); }
svg path { fill: none; } svg g path { stroke-width: 1.8; stroke-linejoin: round; }
svg .leader { stroke-width: .9; opacity: .6; stroke-dasharray: 1 3; }
svg .c0 { stroke: var(--c0); } svg .c1 { stroke: var(--c1); } svg .c2 { stroke: var(--c2); }
svg .c3 { stroke: var(--c3); } svg .c4 { stroke: var(--c4); } svg .c5 { stroke: var(--c5); }
svg .reference { stroke: var(--quiet); } svg g.reference path { stroke-dasharray: 4 3;
  stroke-width: 1.2; }
svg g.floor-reference path { stroke-dasharray: 1 3; stroke-width: 1.6; }
svg g.again path { stroke-dasharray: 7 3; }
svg text.label { stroke: none; font-size: 11.5px; } svg circle { stroke: none; }
svg text.c0, svg g.c0 circle { fill: var(--c0); } svg text.c1, svg g.c1 circle { fill: var(--c1); }
svg text.c2, svg g.c2 circle { fill: var(--c2); } svg text.c3, svg g.c3 circle { fill: var(--c3); }
svg text.c4, svg g.c4 circle { fill: var(--c4); } svg text.c5, svg g.c5 circle { fill: var(--c5); }
svg text.reference { fill: var(--quiet); }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .875rem; margin: .8rem 0; }
.key i { display: inline-block; width: .75em; height: .75em; margin-right: .4em; }
.key .line { width: 0; border-left: 2px dotted var(--quiet); height: 1em; vertical-align: -.15em; }
.key .spread { height: 0; border-top: 1.5px solid var(--ink); vertical-align: .3em; }
.scroll { overflow-x: auto; margin: .9rem 0 1.4rem; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.4;
  font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .9rem .28rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--grid); }
thead th { color: var(--quiet); font-weight: 500; white-space: nowrap; }
tbody th { font-weight: 600; } .tight tbody th, .number { white-space: nowrap; }
.number { text-align: right; }
.wide td { min-width: 15rem; max-width: 26rem; } .wide th { min-width: 9rem; }
.tight tbody th { position: sticky; left: 0; background: var(--ground); padding-right: .9rem; }
@media (max-width: 700px) { .wide thead { display: none; }
  .wide table, .wide tbody, .wide tr, .wide th, .wide td { display: block; max-width: none;
    border: 0; padding-right: 0; }
  .wide tr { border-bottom: 1px solid var(--rule); padding: .6rem 0; }
  .wide td::before { display: block; color: var(--quiet); }
  .wide td:nth-child(2)::before { content: "published"; }
  .wide td:nth-child(3)::before { content: "why it can't be compared"; }
  .wide td:nth-child(4)::before { content: "here"; } }
code, pre { font: .8125rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { margin: .6rem 0 0; padding: .7rem .8rem; background: var(--card); overflow-x: auto;
  line-height: 1.3; font-size: .75rem; }
.cards { display: grid; gap: 1.8rem 2.2rem; margin: 1.2rem 0 0;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 336px), 1fr)); }
.cards article { min-width: 0; } .cards p { font-size: .92rem; margin: .3rem 0 0; }
.cards pre { font-size: .6875rem; }
summary { cursor: pointer; font-weight: 600; padding: .25rem 0; }
summary span { color: var(--quiet); font-weight: 400; }
footer { margin-top: 3rem; color: var(--quiet); font-size: .875rem; }
)";

}  // namespace tiderace::lab::report
