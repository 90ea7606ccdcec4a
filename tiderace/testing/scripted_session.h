// ScriptedSessions: a protocol whose every callback is a function that the test sets, and which
// records its calls.
//
// Owner    The test, for longer than the server. It owns its sessions until their on_close.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tiderace/net/tcp_server.h"

namespace tiderace::testing {

class ScriptedSessions final : public net::SessionFactory {
  public:
    using Connection = net::Connection;

    // As they stand: use all bytes, and what net::Session does.
    std::function<void(Connection&)> on_open;
    std::function<std::size_t(Connection&, ByteView)> on_data;
    std::function<void(Connection&)> on_secured;
    std::function<void(Connection&)> on_drained;
    std::function<void(Connection&)> on_peer_finished;
    std::function<void(Connection&)> on_deadline;
    std::function<void(Connection&)> on_drain;
    std::function<bool(Connection&)> on_source_shrank;
    std::function<void(Connection&, net::CloseReason)> on_close;

    std::string received;                  // what on_data was given and used, by any session
    std::vector<std::string> deliveries;   // what each on_data was given
    std::vector<net::CloseReason> closed;  // one for each on_close
    int opened = 0;
    int secured = 0;
    int drained = 0;
    int peer_finished = 0;
    int deadlines = 0;
    Connection* connection = nullptr;  // the latest; null once it closed

    net::Session& make_session(Connection& made) override {
        ++opened;
        connection = &made;
        auto session = std::make_unique<Scripted>(*this);
        Scripted& borrowed = *session;
        alive_.insert(std::move(session));
        if (on_open) on_open(made);
        return borrowed;
    }

  private:
    class Scripted final : public net::Session {
      public:
        explicit Scripted(ScriptedSessions& all) : all_(&all) {}

        std::size_t on_data(Connection& here, ByteView data) override {
            all_->deliveries.emplace_back(data);
            const std::size_t used = all_->on_data ? all_->on_data(here, data) : data.size();
            all_->received += data.substr(0, used);
            return used;
        }
        void on_secured(Connection& here) override {
            ++all_->secured;
            if (all_->on_secured) all_->on_secured(here);
        }
        void on_drained(Connection& here) override {
            ++all_->drained;
            if (all_->on_drained) all_->on_drained(here);
        }
        void on_peer_finished(Connection& here) override {
            ++all_->peer_finished;
            all_->on_peer_finished ? all_->on_peer_finished(here) : Session::on_peer_finished(here);
        }
        void on_deadline(Connection& here) override {
            ++all_->deadlines;
            all_->on_deadline ? all_->on_deadline(here) : Session::on_deadline(here);
        }
        void on_drain(Connection& here) override {
            all_->on_drain ? all_->on_drain(here) : Session::on_drain(here);
        }
        bool on_source_shrank(Connection& here) override {
            return all_->on_source_shrank ? all_->on_source_shrank(here)
                                          : Session::on_source_shrank(here);
        }
        void on_close(Connection& here, net::CloseReason reason) override {
            all_->closed.push_back(reason);
            if (all_->on_close) all_->on_close(here, reason);
            if (all_->connection == &here) all_->connection = nullptr;
            const auto is_this = [this](const auto& held) { return held.get() == this; };
            std::erase_if(all_->alive_, is_this);  // destroys this
        }

      private:
        ScriptedSessions* all_;
    };

    std::set<std::unique_ptr<Scripted>> alive_;
};

}  // namespace tiderace::testing
