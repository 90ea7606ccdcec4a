// HTTP/1.0 and HTTP/1.1: one request after another, or several deep.
#include "load/asked_ring.h"
#include "load/crc32.h"
#include "load/dialogue.h"
#include "tiderace/http/wire/response_reader.h"

namespace tiderace::load {
namespace {

using http::wire::ResponseFault;
using http::wire::ResponseReader;
using http::wire::ResponseStart;

//   begin() --> between answers --a head--> in an answer --its end--> between answers
//                    |                           |
//                    +--- leave(): "close", a fault, unrequested bytes, the end ---> left
//
// Left: room() is 0, and the connection ends. Requests in flight were answered, failed or given
// back by then.
class LoadH1 final : public LoadDialogue {
  public:
    LoadH1(Client& client, const Rules& rules)
        : client_(&client), rules_(rules), asked_(static_cast<std::size_t>(rules.depth)) {}

    void begin() override {
        reader_ = ResponseReader();
        // The length of an answer depends on its request (RFC 9112, 6.3): HEAD's has no body.
        reader_.next(rules_.request->is_head);
        asked_.clear();
        fresh_ = 0;
        in_answer_ = has_asked_ = has_answered_ = in_head_ = left_ = false;
    }

    std::size_t room() const override { return left_ ? 0 : asked_.room(); }
    std::size_t under_way() const override { return asked_.size(); }

    void ask(Instant intended) override {
        asked_.push(intended);
        ++fresh_;
        has_asked_ = true;
    }

    void asked() override {
        const LoadRequest& request = *rules_.request;
        // One write for all that are due: a call for each would cost the load more than the server.
        if (!request.batch.empty() && !rules_.parts) {
            client_->say(ByteView(request.batch).substr(0, fresh_ * request.bytes), Part::head);
            fresh_ = 0;
        }
        for (; fresh_ > 0; --fresh_) {
            client_->say(request.head, Part::head);
            client_->lend(request.body, Part::body);
        }
    }

    std::size_t hear(ByteView data) override;
    void ended(bool unread) override;

    void fail_all(LoadError error) override {
        // A server may end a connection between two answers, and a request may be on its way then
        // (RFC 9112, 9.3.1). On a fresh connection that is a fault, so no request goes round for
        // ever.
        const bool was_kept = has_answered_ && !in_answer_ && !in_head_ &&
                              (error == LoadError::closed_early || error == LoadError::reset);
        while (asked_.size() > 0) {
            const Instant intended = asked_.pop();
            was_kept ? client_->give_back(intended) : client_->failed(error, intended);
        }
        left_ = true;
    }
    std::size_t drop_all() override { return asked_.clear(); }

  private:
    void leave() {
        left_ = true;
        client_->leave();
    }
    void begin_answer();
    void end_answer();
    void receive_unasked();
    void refuse(ResponseFault fault);

    Client* client_;
    Rules rules_;
    ResponseReader reader_;
    AskedRing asked_;
    std::size_t fresh_ = 0;  // requested, and not yet sent
    LoadAnswer answer_;
    bool in_answer_ = false;  // its head is read
    bool in_head_ = false;    // a part of it came
    bool has_asked_ = false;  // on this connection
    bool has_answered_ = false;
    bool left_ = false;
};

std::size_t LoadH1::hear(ByteView data) {
    using Status = ResponseReader::Status;
    std::size_t used = 0;
    while (!left_) {
        const auto step = reader_.step(data.substr(used));
        used += step.used;
        if (step.status == Status::need_more) {
            in_head_ = !in_answer_ && (step.used > 0 || used < data.size());
            return used;
        }
        if (step.status == Status::data) {
            progress_ += step.data.size();
            answer_.length += step.data.size();
            if (rules_.hash) answer_.hash = crc32(answer_.hash, step.data);
        } else if (step.status == Status::done) {
            end_answer();
            // Every request is answered and every byte read: more would be unrequested (below).
            if (asked_.size() == 0 && used == data.size()) return used;
        } else if (step.status == Status::head) {
            begin_answer();
        } else if (step.status == Status::refused) {
            refuse(reader_.fault());
        }
        if (asked_.size() == 0 && used < data.size() && !left_) receive_unasked();
    }
    return data.size();
}

void LoadH1::begin_answer() {
    in_answer_ = true;
    in_head_ = false;
    ++progress_;
    answer_ = {.status = reader_.start().status};
    // A server may not use chunks towards a client that does not know them (RFC 9112, 6.1).
    if (rules_.http_1_0 && reader_.start().body == ResponseStart::Body::chunked) {
        refuse(ResponseFault::bad_coding);
    }
}

void LoadH1::end_answer() {
    if (asked_.size() == 0) return receive_unasked();
    in_answer_ = false;
    ++progress_;
    const bool last = !reader_.start().keep_alive || rules_.close;
    has_answered_ = true;
    const Instant intended = asked_.pop();
    reader_.next(rules_.request->is_head);
    if (last) {
        // The server reads no further: other requests in flight are retried elsewhere.
        while (asked_.size() > 0) client_->give_back(asked_.pop());
        left_ = true;
    }
    client_->answered(answer_, intended);
    if (last) client_->leave();
}

void LoadH1::receive_unasked() {
    // A server at its limit of connections answers 503 before any request.
    const bool has_no_room = !has_asked_ && in_answer_ && answer_.status == 503;
    client_->failed_besides(has_no_room ? LoadError::turned_away : LoadError::unasked);
    leave();
}

void LoadH1::refuse(ResponseFault fault) {
    client_->found(to_string(fault));
    // No request fails with it, and yet the run must not look right.
    if (asked_.size() == 0) client_->failed_besides(LoadError::not_http);
    fail_all(LoadError::not_http);
    client_->leave();
}

void LoadH1::ended(bool unread) {
    // A body without a length ends with the connection.
    if (in_answer_ && asked_.size() > 0 && reader_.end_of_stream()) end_answer();
    // Told apart: a server that closes between answers has limits, one that cuts an answer has a
    // fault.
    fail_all(in_answer_ || unread ? LoadError::cut_short : LoadError::closed_early);
    client_->leave();
}

}  // namespace

std::unique_ptr<LoadDialogue> make_load_h1(LoadDialogue::Client& client,
                                           const LoadDialogue::Rules& rules) {
    return std::make_unique<LoadH1>(client, rules);
}

}  // namespace tiderace::load
