// The story of both pages: their headings, and the text between the pictures.
//
// Thread   Any: pure functions and constants.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/report/pictures.h"

namespace tiderace::lab::report::story {

std::string title(const Findings& findings);
std::string facts(const Findings& findings);  // when, what, where, in a line
// Which engine to serve with, by this run; "" where the run does not show it.
std::string recommendation(const Findings& findings);
std::string opening(const Findings& findings);
std::vector<std::string> notes(const Findings& findings);
std::string glance_text(const Findings& findings);
// The workload whose percentiles are drawn: that with the most connections that has figures.
std::string latency_workload(const Findings& findings);
std::string latency_text(const Findings& findings);
// The sections that this run has: place and name.
std::vector<std::pair<std::string_view, std::string_view>> contents(const Findings& findings);

inline constexpr std::string_view cost_text =
    "CPU microseconds of the server for each answer: user and system time of all its threads and "
    "processes, measured once all connections are open, divided by the answers that were right. "
    "Medians of the rounds; the thin line is the least and the most. Beside it the ratio to the "
    "floor, a program that parses nothing and sends a prepared answer. A hollow bar holds fewer "
    "clients than planned.";
inline constexpr std::string_view throughput_text =
    "A 40-byte answer on kept-alive connections, closed loop. With one CPU for the server the "
    "curve is bound by the cost of an answer, and by the cost of finding ready connections. The "
    "dashed grey line is epoll and the dotted one is the floor. A curve ends where an engine held "
    "fewer connections than planned.";
inline constexpr std::string_view memory_text =
    "Proportional set size of the server's processes while those connections are busy: everything, "
    "with shared pages counted once. What the kernel holds for them is no process's memory and is "
    "not in it: the buffers of sockets, the same for all, and 16 kB of stack for each thread.";
inline constexpr std::string_view claims_text =
    "The bounds were written down before the run. A “no” is a result, too.";
inline constexpr std::string_view originals_text =
    "The five programs that this one learnt from were each published with figures. None of them "
    "can be set beside another, and here is why; what answers the same question in this run "
    "stands beside it.";
inline constexpr std::string_view engines_text =
    "The engines run Tiderace's own HTTP code, unchanged: they differ in how they ask the kernel, "
    "and on which thread. The other servers bring their own.";
inline constexpr std::string_view figures_text =
    "Medians of the rounds, for each workload. Latency counts right answers only. Memory for each "
    "connection held is what there is with them, less what there was before they came; there is "
    "none where one of a hundred was held, or fewer. What "
    "stands ready before anybody comes (the loops of threads, the processes of prefork) is "
    "therefore not in it, and stands beside it.";
inline constexpr std::string_view closing =
    "Loopback is not a network: no loss, no card, no distance. One machine's ratios are another's "
    "to repeat: tiderace lab run.";

}  // namespace tiderace::lab::report::story
