#include "tests/seeds/http_site.h"

#include <algorithm>
#include <array>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h1_stage.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::testing {
namespace {

const std::string& site_folder() {
    static const TemporaryFolder folder;
    static const bool filled = [] {
        std::string large;
        while (large.size() < 100'000) large += std::to_string(large.size()) + ' ';
        folder.write("index.html", "<p>tide</p>\n");
        folder.write("small.txt", large.substr(0, 600));
        folder.write("large.txt", large);
        folder.write("sub/index.html", "<p>below</p>\n");
        for (const char* name : {"index.html", "small.txt", "large.txt", "sub/index.html"}) {
            folder.set_time(name, 900'000'000);  // before the fake world's time
        }
        return true;
    }();
    (void)filled;
    return folder.path();
}

std::string request_for(const std::string& target, const std::string& fields = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

std::vector<std::string> all_requests() {
    return {
        request_for("/"),
        request_for("/small.txt"),
        request_for("/large.txt"),
        request_for("/sub"),
        request_for("/sub/"),
        request_for("/missing"),
        "\r\nHEAD /large.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        request_for("/large.txt", "Range: bytes=500-90000\r\n"),
        request_for("/small.txt", "Range: bytes=-50\r\n"),
        request_for("/small.txt", "Range: bytes=9999-\r\n"),
        request_for("/small.txt", "If-None-Match: *\r\n"),
        "POST /small.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n" + std::string(30, 'G'),
        "GET /small.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        // The last of their connections.
        request_for("/large.txt", "Connection: close\r\n"),
        "GET /small.txt HTTP/1.0\r\n\r\n",
        "POST /small.txt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
        "chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        request_for("/%2e%2e/etc/passwd"),
        request_for("/small.txt", "Content-Length: 1\r\nContent-Length: 1\r\n"),
    };
}

std::string answer_of(const std::string& request) {
    FakeWorld world;
    HttpSite site(world, {}, {});
    site.server().listen(world.listen());
    const auto peer = world.connect();
    peer->say(request);
    world.settle();
    return without_dates(peer->heard());
}

bool is_beginning(std::string_view text, std::string_view of) {
    return of.substr(0, text.size()) == text;
}

// The same answer, said when the connection ends behind it.
std::string as_last(const std::string& answer) {
    const std::size_t end = answer.find("\r\n\r\n");
    std::string text = answer;
    const std::size_t alive = text.find("Connection: keep-alive\r\n");
    if (alive != std::string::npos) return text.replace(alive, 22, "Connection: close");
    return text.insert(end + 2, "Connection: close\r\n");
}

// A peer that is too slow, or ends inside a request, gets this answer and no more.
bool is_late_refusal(std::string_view text) {
    static constexpr std::array<std::string_view, 2> known{"HTTP/1.1 408 ", "HTTP/1.1 400 "};
    for (const std::string_view start : known) {
        if (is_beginning(text.substr(0, start.size()), start)) {
            return text.size() < 20 || text.substr(20).find("HTTP/1.") == text.npos;
        }
    }
    return false;
}

}  // namespace

HttpSite::HttpSite(World& world, http::H1Options options, const net::TcpServerOptions& connections)
    : files_([&] {
          auto made = http::handler::StaticFiles::create(
              world.loop(), {.root = site_folder(), .watch = {.on = false}});
          return made ? std::move(*made) : nullptr;
      }()),
      site_(files_ ? static_cast<http::Handler&>(*files_) : nothing_),
      service_(world.loop(), site_, std::move(options)),
      server_(world.loop(), service_, connections) {}

const std::vector<Asked>& all_asked() {
    static const std::vector<Asked> all = [] {
        std::vector<Asked> made;
        for (const std::string& request : all_requests()) {
            const std::string answer = answer_of(request);
            const bool last = answer.find("Connection: close\r\n") != std::string::npos;
            made.push_back({request, answer, last});
        }
        return made;
    }();
    return all;
}

std::string without_dates(std::string_view heard) {
    constexpr std::string_view name = "Date: ";
    std::string text;
    while (!heard.empty()) {
        const std::size_t end = heard.find('\n');
        const bool is_whole = end != std::string_view::npos;
        const std::string_view line = heard.substr(0, is_whole ? end + 1 : heard.size());
        const bool is_date = is_beginning(line.substr(0, name.size()), name);
        if (!is_date) text += line;
        heard.remove_prefix(line.size());
    }
    return text;
}

std::string fault_in(std::string_view heard, const std::vector<const Asked*>& asked, bool whole) {
    const std::string text = without_dates(heard);
    std::string_view rest = text;
    for (const Asked* one : asked) {
        if (rest.substr(0, one->answer.size()) == one->answer) {
            rest.remove_prefix(one->answer.size());
            if (!one->last) continue;
            return rest.empty() ? "" : "an answer behind the last one";
        }
        // A peer that had ended its side when the answer was made.
        if (one == asked.back() && rest == as_last(one->answer)) return "";
        if (is_beginning(rest, one->answer) || is_beginning(rest, as_last(one->answer)) ||
            is_late_refusal(rest)) {
            return whole ? "the answer to " + one->request.substr(0, 300) + " is not whole" : "";
        }
        return "the answer to " + one->request.substr(0, 300) +
               " is: " + std::string(rest.substr(0, 300));
    }
    if (rest.empty() || is_late_refusal(rest)) return "";
    return "an answer without a request:  " + std::string(rest.substr(0, 300));
}

void choose_requests(Random& random, AskingTalk& client, const std::vector<Asked>& all,
                     std::uint64_t most, const std::function<bool(const Asked&)>& ends) {
    for (std::uint64_t i = 1 + random.below(most); i > 0; --i) {
        const Asked& one = all[random.below(all.size())];
        client.asked.push_back(&one);
        client.text += one.request;
        if ((ends && ends(one)) || (one.last && random.chance(3, 4))) break;
    }
    cut_some(random, client);
}

void begin_talk(FakeWorld& world, Random& random, AskingTalk& client) {
    client.peer = world.connect_fake();
    client.peer->set_saying_pace(random_pace(random, 1 + client.text.size() / 60, 300));
    client.peer->set_hearing_pace(random_pace(random, 1'700 * client.asked.size(), 300));
    plan_talk(world, random, client, 40);
}

bool all_done(const std::vector<AskingTalk>& clients) {
    return std::ranges::all_of(clients, &AskingTalk::done);
}

bool is_owed_all(const AskingTalk& client, bool undisturbed) {
    return undisturbed && !client.deaf && !client.cut && client.ending == FakeTalk::Ending::finish;
}

http::H1Options random_h1_options(Random& random, bool patient) {
    http::H1Options options;
    options.header_timeout = some_seconds(random, patient, 10);
    options.body_timeout = some_seconds(random, patient, 10);
    options.idle_timeout = some_seconds(random, patient, 60);
    return options;
}

net::TcpServerOptions random_connections(Random& random, bool patient) {
    net::TcpServerOptions options;
    options.connection.write = some_seconds(random, patient, 20);
    if (random.chance(1, 3)) {
        options.connection.queue_bytes_low = random.below(500);
        options.connection.queue_bytes_high =
            options.connection.queue_bytes_low + 1 + random.below(2'000);
    }
    return options;
}

}  // namespace tiderace::testing
