#include "server/live/top.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "server/live/admin_client.h"
#include "server/terminal.h"
#include "tiderace/base/ascii.h"

namespace tiderace::server {
namespace {

constexpr Duration interval = 1s;
constexpr char ctrl_c = 3;

volatile std::sig_atomic_t ended = 0;

// "in_flight 3" -> ("in_flight", "3"); without a space: ("", the whole).
std::pair<std::string_view, std::string_view> split(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == line.npos) return {"", line};
    return {line.substr(0, space), line.substr(space + 1)};
}

bool read_line(std::string_view line, TopSample& sample) {
    const auto [name, rest] = split(line);
    const auto number = parse_number<std::uint64_t>(name == "answered" ? split(rest).first : rest);
    if (!number) return false;
    if (name == "uptime_us") {
        sample.uptime = std::chrono::microseconds(*number);
    } else if (name == "in_flight") {
        sample.in_flight = *number;
    } else if (name == "answered") {
        sample.answered.emplace(split(rest).second, *number);
    }
    return true;
}

std::string rate_text(double rate) {
    char text[32];
    const int bytes = std::snprintf(text, sizeof text, "%10.1f", rate);
    return {text, static_cast<std::size_t>(bytes)};
}

// The terminal, as it is while the picture changes: a screen of its own, and keys without Enter.
class Screen {
  public:
    Screen() {
        has_keys_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0;
        if (has_keys_) {
            termios keys = before_;
            // ^C comes as a key, so that the terminal is as before when it ends.
            keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
            keys.c_cc[VMIN] = 0;
            keys.c_cc[VTIME] = interval / 100ms;
            ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
        }
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction end{};
            end.sa_handler = [](int) { ended = 1; };
            ::sigaction(signal, &end, nullptr);
        }
        write("\x1b[?1049h\x1b[?25l");
    }
    ~Screen() {
        write("\x1b[?25h\x1b[?1049l");
        if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    std::size_t rows() const {
        winsize size{};
        const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
        return known ? size.ws_row : 24;
    }
    // False: the terminal is gone.
    bool show(const std::string& text) {
        std::string picture = "\x1b[H";
        for (const char c : text) {
            if (c == '\n') picture += "\x1b[K";
            picture += c;
        }
        return write(picture + "\x1b[J");
    }
    // Waits for the next picture. False: the user ended it.
    bool wait() const {
        if (!has_keys_) std::this_thread::sleep_for(interval);
        char key = 0;
        if (has_keys_ && ::read(STDIN_FILENO, &key, 1) < 0) return false;
        return ended == 0 && key != 'q' && key != 'Q' && key != ctrl_c;
    }

  private:
    static bool write(std::string_view text) {
        return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
               std::fflush(stdout) == 0;
    }

    termios before_{};
    bool has_keys_ = false;
};

Result<TopSample> take_sample(const std::string& socket) {
    const auto answer = ask(socket, "GET /top");
    if (!answer) return fail(answer.error());
    auto sample = answer->status == 200 ? read_sample(answer->body) : std::nullopt;
    if (!sample) return fail(Error(0, "ask", socket, strange_answer(socket, answer->status)));
    return std::move(*sample);
}

}  // namespace

std::optional<TopSample> read_sample(std::string_view text) {
    TopSample sample;
    for (;;) {
        const std::size_t end = text.find('\n');
        if (end == text.npos) return std::nullopt;
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (line.empty()) break;
        if (!read_line(line, sample)) return std::nullopt;
    }
    sample.status = text;
    return sample;
}

std::string top_text(const TopSample& before, const TopSample& now, std::size_t lines_max) {
    std::string text = now.status;
    if (!now.in_flight) {
        return text + "requests/s    not counted: [metrics] in the file counts them\n";
    }
    const double seconds = std::chrono::duration<double>(now.uptime - before.uptime).count();
    std::vector<std::pair<double, std::string>> rates;
    double sum = 0;
    for (const auto& [site, answered] : now.answered) {
        const auto known = before.answered.find(site);
        const std::uint64_t old = known != before.answered.end() ? known->second : 0;
        // A route that ended has taken its count with it.
        const std::uint64_t more = answered > old ? answered - old : 0;
        rates.emplace_back(seconds > 0 ? static_cast<double>(more) / seconds : 0, site);
        sum += rates.back().first;
    }
    std::ranges::stable_sort(rates, std::greater(), &std::pair<double, std::string>::first);
    text += "requests/s" + rate_text(sum) + ", " + std::to_string(*now.in_flight) + " in flight\n";
    for (const auto& [rate, site] : rates) {
        if (std::cmp_greater_equal(std::ranges::count(text, '\n'), lines_max)) break;
        if (site.empty() && rate == 0) continue;
        text += rate_text(rate).insert(0, 10, ' ') + "  " +
                (site.empty() ? "(no site)" : printable(site)) + "\n";
    }
    return text;
}

int show_top(const CommandWords& words) {
    const auto socket = socket_of(words);
    if (!socket) return socket.error();
    auto now = take_sample(*socket);
    std::optional<Screen> screen;
    if (now && ::isatty(STDOUT_FILENO) == 1) screen.emplace();
    for (TopSample before = now ? *now : TopSample(); now;) {
        if (screen) {
            if (!screen->show(top_text(before, *now, screen->rows() - 1))) return 0;
            if (!screen->wait()) return 0;
        } else {
            std::this_thread::sleep_for(interval);
        }
        before = std::move(*now);
        now = take_sample(*socket);
        if (now && !screen) return print("tiderace", top_text(before, *now, SIZE_MAX));
    }
    screen.reset();
    complain("tiderace", now.error().message());
    return 2;
}

}  // namespace tiderace::server
