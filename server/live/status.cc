#include "server/live/status.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "server/terminal.h"
#include "server/version.h"
#include "tiderace/base/calendar.h"
#include "tiderace/http/wire/text/json_escape.h"

namespace tiderace::server {
namespace {

// By name, for people.
constexpr std::size_t shown_max = 8;

std::string json_text(std::string_view text) {
    return '"' + http::wire::json_text(text) + '"';
}

std::string json_list(const std::vector<std::string>& texts) {
    std::string list = "[";
    for (const std::string& text : texts) {
        if (list.size() > 1) list += ',';
        list += json_text(text);
    }
    return list + "]";
}

std::string json_requests(const http::SiteMetrics::Requests& requests) {
    std::string by_site;
    for (const auto& [site, answered] : requests.answered) {
        by_site += by_site.empty() ? "" : ",";
        by_site += json_text(site) + ":" + std::to_string(answered);
    }
    return "{\"in_flight\":" + std::to_string(requests.in_flight) + ",\"answered\":{" + by_site +
           "}}";
}

std::int64_t seconds_of(Duration time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

std::string time_text(std::int64_t unix_seconds) {
    std::array<char, rfc3339_bytes_max> room;
    return std::string(write_rfc3339(room, unix_seconds, 1));
}

// "2d 3h 4m", "5s": the smaller units are left out once there are three.
std::string uptime_text(Duration uptime) {
    constexpr std::pair<std::int64_t, char> units[] = {{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}};
    std::int64_t rest = seconds_of(uptime);
    std::string text;
    for (const auto& [seconds, unit] : units) {
        if (text.empty() && rest < seconds) continue;
        text += std::to_string(rest / seconds) + unit + " ";
        rest %= seconds;
    }
    return text + std::to_string(rest) + "s";
}

std::string names_of(const std::vector<std::string>& names) {
    std::string text = std::to_string(names.size());
    for (std::size_t i = 0; i < std::min(names.size(), shown_max); ++i) {
        text.append(i == 0 ? ": " : ", ").append(printable(names[i]));
    }
    if (names.size() > shown_max) {
        text += " and " + std::to_string(names.size() - shown_max) + " more";
    }
    return text;
}

std::string days_text(std::int64_t days) {
    return days < 0 ? "expired " + counted(static_cast<std::size_t>(-days), "day") + " ago"
                    : counted(static_cast<std::size_t>(days), "day") + " left";
}

}  // namespace

std::string status_json(const ServerStatus& status) {
    std::string certificates;
    for (const ServerStatus::Certificate& each : status.certificates) {
        certificates += certificates.empty() ? "" : ",";
        certificates += "{\"file\":" + json_text(each.file) +
                        ",\"days_left\":" + std::to_string(each.days_left) + "}";
    }
    std::string json = "{\"version\":" + json_text(version());
    const auto add = [&](std::string_view name, const std::string& value) {
        json.append(",\"").append(name).append("\":").append(value);
    };
    add("uptime_seconds", std::to_string(seconds_of(status.uptime)));
    add("loops", std::to_string(status.loops));
    add("sites", json_list(status.sites));
    add("listeners", json_list(status.listeners));
    add("connections", std::to_string(status.connections));
    add("requests", status.requests ? json_requests(*status.requests) : "null");
    add("metrics", status.metrics.empty() ? "null" : json_text(status.metrics));
    add("certificates", "[" + certificates + "]");
    add("generation", std::to_string(status.generation));
    add("generations_alive", std::to_string(status.generations_alive));
    std::string last = "null";
    if (status.last_reload) {
        last = "{\"at\":" + json_text(time_text(status.last_reload->at)) +
               ",\"done\":" + (status.last_reload->done ? "true" : "false") +
               ",\"problems\":" + json_text(status.last_reload->problems) + "}";
    }
    add("last_reload", last);
    return json + "}\n";
}

std::string status_numbers(const ServerStatus& status) {
    const auto uptime = std::chrono::duration_cast<std::chrono::microseconds>(status.uptime);
    std::string text = "uptime_us " + std::to_string(uptime.count()) + "\n";
    if (!status.requests) return text;
    text += "in_flight " + std::to_string(status.requests->in_flight) + "\n";
    for (const auto& [site, answered] : status.requests->answered) {
        text += "answered " + std::to_string(answered) + " " + site + "\n";
    }
    return text;
}

std::string status_lines(const ServerStatus& status) {
    constexpr std::size_t values_column = 14;
    std::string text;
    const auto add = [&](std::string name, const std::string& value) {
        name.resize(values_column, ' ');
        text += name + value + "\n";
    };
    add("version", std::string(version()));
    add("uptime", uptime_text(status.uptime));
    add("loops", std::to_string(status.loops));
    add("sites", names_of(status.sites));
    add("listeners", names_of(status.listeners));
    add("connections", std::to_string(status.connections));
    if (status.requests) {
        std::uint64_t answered = 0;
        for (const auto& [site, count] : status.requests->answered) answered += count;
        add("requests", std::to_string(answered) + ", " +
                            std::to_string(status.requests->in_flight) + " in flight");
    }
    if (!status.metrics.empty()) {
        add("metrics", "http://" + printable(status.metrics) + "/metrics");
    }
    for (const ServerStatus::Certificate& each : status.certificates) {
        add("certificate", printable(each.file) + ": " + days_text(each.days_left));
    }
    add("generation", std::to_string(status.generation) + ", " +
                          std::to_string(status.generations_alive) + " alive");
    if (!status.last_reload) {
        add("last reload", "none");
        return text;
    }
    const Reloader::Last& last = *status.last_reload;
    add("last reload", time_text(last.at) + (last.done ? ", done" : ", refused"));
    return text + last.problems;
}

}  // namespace tiderace::server
