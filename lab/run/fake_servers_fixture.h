// Servers of a test's own in place of child processes: one that answers rightly, and several that
// do what no server should: a wrong answer, no answer, an early end.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lab/opponent/opponent.h"
#include "lab/run/subject.h"
#include "tiderace/core/kernel.h"
#include "tiderace/net/listener.h"

namespace tiderace::lab::run {

enum class Manner : std::uint8_t {
    right,
    wrong_later,    // after some answers they are one byte longer
    wrong_at_once,  // and as long as they should be
    mute,           // takes requests, and says nothing
    mute_later,
    mute_after_some,
    mute_while_measured,
    dies,         // after some answers
    refuses_two,  // serves only the first two connections of the load, resets the others
};

// One thread, one answer for each request, blocking.
class FakeServer final : public RunningServer {
  public:
    FakeServer(Manner manner, std::string body)
        : manner_(manner),
          body_(std::move(body)),
          listener_(*net::open_listener(core::system_kernel(), core::Address::loopback(0), {})),
          thread_([this] { serve(); }) {}
    ~FakeServer() override {
        stop_ = true;
        thread_.join();
    }

    core::Address address() const override {
        return net::local_address(core::system_kernel(), listener_);
    }
    // Asked for once before the load comes, and again when measuring begins.
    std::vector<int> pids() const override {
        if (++looks_ == 2) is_measured_ = true;
        return {::getpid()};
    }
    std::optional<std::string> ended() override {
        return dead_ ? std::optional<std::string>("it ended with status 3") : std::nullopt;
    }

    // It has a request that it will not answer.
    bool has_muted() const { return has_muted_; }

  private:
    static constexpr int some_answers = 5;

    void serve() {
        std::vector<pollfd> sockets{{listener_.get(), POLLIN, 0}};
        while (!stop_ && !dead_) {
            ::poll(sockets.data(), static_cast<nfds_t>(sockets.size()), 5);
            if (sockets[0].revents != 0) accept_all(sockets);
            for (std::size_t i = 1; i < sockets.size() && !dead_; ++i) {
                if (sockets[i].revents != 0 && !answer(sockets[i].fd)) {
                    ::close(sockets[i].fd);
                    sockets[i].fd = -1;
                }
            }
            std::erase_if(sockets, [](const pollfd& one) { return one.fd < 0; });
        }
        for (std::size_t i = 1; i < sockets.size(); ++i) ::close(sockets[i].fd);
        if (dead_) listener_ = {};
    }

    void accept_all(std::vector<pollfd>& sockets) {
        int peer = -1;
        while ((peer = ::accept(listener_.get(), nullptr, nullptr)) >= 0) {
            // The first connection is the probe's.
            if (manner_ == Manner::refuses_two && ++accepted_ > 3) {
                const linger reset{1, 0};
                ::setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
                ::close(peer);
                continue;
            }
            sockets.push_back({peer, POLLIN, 0});
        }
    }

    bool answer(int peer) {
        char buffer[16'384];
        const ssize_t got = ::recv(peer, buffer, sizeof buffer, 0);
        if (got <= 0) return false;
        if (manner_ == Manner::mute) return true;
        if (manner_ == Manner::mute_while_measured && is_measured_ && ++measured_ > 100)
            return true;
        ++answers_;
        // One answer is the probe's.
        const bool late = answers_ > (manner_ == Manner::mute_later ? 1 : some_answers);
        if (manner_ == Manner::mute_later && late) return true;
        if (manner_ == Manner::mute_after_some && late) return has_muted_ = true;
        if (manner_ == Manner::dies && late) {
            dead_ = true;
            return false;
        }
        std::string body = body_;
        if (manner_ == Manner::wrong_at_once) body[0] = '!';
        if (manner_ == Manner::wrong_later && late) body += '!';
        const std::string text =
            "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
        return ::send(peer, text.data(), text.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(text.size());
    }

    Manner manner_;
    std::string body_;
    core::Descriptor listener_;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> dead_ = false;
    std::atomic<bool> has_muted_ = false;
    mutable std::atomic<bool> is_measured_ = false;
    mutable int looks_ = 0;
    int measured_ = 0;
    int answers_ = 0;
    int accepted_ = 0;
    std::thread thread_;
};

inline std::string bytes_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return std::move(text).str();
}

inline RunSubject fake_subject(std::string name, Manner manner) {
    RunSubject subject;
    subject.facts.name = std::move(name);
    subject.start = [manner](const ServerPlan& plan) -> Result<std::unique_ptr<RunningServer>> {
        return std::make_unique<FakeServer>(manner, bytes_of(plan.folder + file_of(plan.path)));
    };
    return subject;
}

}  // namespace tiderace::lab::run
