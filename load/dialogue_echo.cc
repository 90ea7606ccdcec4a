// Bare TCP, no HTTP: messages of one length, several deep, and each comes back as it was.
#include <algorithm>

#include "load/asked_ring.h"
#include "load/crc32.h"
#include "load/dialogue.h"

namespace tiderace::load {
namespace {

class LoadEcho final : public LoadDialogue {
  public:
    LoadEcho(Client& client, const Rules& rules)
        : client_(&client), rules_(rules), asked_(static_cast<std::size_t>(rules.depth)) {
        const std::string& message = rules.request->body;
        // The echo is compared byte for byte: a right answer has the message's hash.
        answer_ = {.status = right_status,
                   .length = message.size(),
                   .hash = rules.hash ? crc32(0, message) : 0};
    }

    void begin() override {
        asked_.clear();
        fresh_ = echoed_bytes_ = 0;
        left_ = false;
    }
    std::size_t room() const override { return left_ ? 0 : asked_.room(); }
    std::size_t under_way() const override { return asked_.size(); }
    void ask(Instant intended) override {
        asked_.push(intended);
        ++fresh_;
    }
    void asked() override {
        const LoadRequest& request = *rules_.request;
        // One write for all: a call for each message would cost the load more than the server.
        if (!request.batch.empty() && !rules_.parts) {
            client_->say(ByteView(request.batch).substr(0, fresh_ * request.bytes), Part::body);
            fresh_ = 0;
        }
        for (; fresh_ > 0; --fresh_) client_->lend(request.body, Part::body);
    }

    std::size_t hear(ByteView data) override;
    // Inside a message it was cut short; between two the server may have a limit.
    void ended(bool unread) override {
        fail_all(unread || echoed_bytes_ > 0 ? LoadError::cut_short : LoadError::closed_early);
        client_->leave();
    }
    void fail_all(LoadError error) override {
        while (asked_.size() > 0) client_->failed(error, asked_.pop());
        left_ = true;
    }
    std::size_t drop_all() override { return asked_.clear(); }

  private:
    static constexpr std::uint16_t right_status = 200;

    void leave() {
        left_ = true;
        client_->leave();
    }

    Client* client_;
    Rules rules_;
    AskedRing asked_;
    LoadAnswer answer_;
    std::size_t fresh_ = 0;         // requested, and not yet sent
    std::size_t echoed_bytes_ = 0;  // of the message that comes back
    bool left_ = false;
};

// There are no frames: a message ends where its length does, so all of one run are equally long.
std::size_t LoadEcho::hear(ByteView data) {
    const ByteView message = rules_.request->body;
    ByteView rest = data;
    while (!rest.empty() && !left_) {
        if (asked_.size() == 0) {
            // More came back than was sent. It is not the fault of any message.
            client_->failed_besides(LoadError::unasked);
            leave();
            break;
        }
        const std::size_t part = std::min(rest.size(), message.size() - echoed_bytes_);
        if (rest.substr(0, part) != message.substr(echoed_bytes_, part)) {
            client_->found("what came back is not what was sent");
            // From here on it is unknown where the next message begins.
            fail_all(LoadError::wrong_hash);
            client_->leave();
            break;
        }
        rest.remove_prefix(part);
        echoed_bytes_ += part;
        progress_ += part;
        if (echoed_bytes_ < message.size()) break;
        echoed_bytes_ = 0;
        client_->answered(answer_, asked_.pop());
        if (rules_.close) leave();
    }
    return data.size();
}

}  // namespace

std::unique_ptr<LoadDialogue> make_load_echo(LoadDialogue::Client& client,
                                             const LoadDialogue::Rules& rules) {
    return std::make_unique<LoadEcho>(client, rules);
}

}  // namespace tiderace::load
