#include "tiderace/http/cgi/local_exchange.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::http::cgi {
namespace {

using wire::FieldName;

constexpr char made_key = 0;
constexpr char depth_key = 0;

// A local redirect is a new GET without a body (RFC 3875, 6.2.2): its conditions and ranges are
// about other bytes.
bool is_for_another_path(FieldName name) {
    switch (name) {
        case FieldName::content_length:
        case FieldName::content_type:
        case FieldName::content_encoding:
        case FieldName::transfer_encoding:
        case FieldName::expect:
        case FieldName::upgrade:
        case FieldName::range:
        case FieldName::if_match:
        case FieldName::if_none_match:
        case FieldName::if_modified_since:
        case FieldName::if_unmodified_since:
        case FieldName::if_range:
            return true;
        default:
            return false;
    }
}

//   outer exchange --attachment--> Redirected --Ref--> LocalExchange --Ref, until answered--> outer
//
// The Ref back is given up with the answer or the end, so the circle does not keep itself alive.
class LocalExchange final : public Exchange {
  public:
    LocalExchange(Exchange& outer, std::string target) : target_(std::move(target)) {
        copy_request(outer);
        outer_ = outer.defer();
        outer.observe(gone_);
    }

    // False: the target is no path.
    bool read_target() {
        const std::size_t mark = target_.find('?');
        const ByteView raw = ByteView(target_).substr(0, mark);
        scratch_.resize(raw.size());
        const wire::PathResult path = wire::canonicalize(raw, scratch_);
        if (path.fault != wire::PathFault::none) return false;
        request_.path = path.path;
        request_.raw_path = raw;
        request_.has_query = mark != std::string::npos;
        request_.query = request_.has_query ? ByteView(target_).substr(mark + 1) : ByteView{};
        head_.set_target(target_, wire::TargetForm::origin, {});
        return true;
    }
    void serve(Site& site) {
        site.serve(*this);
        if (waits_for_handler()) respond_status(500);
    }

    core::EventLoop& loop() override { return *loop_; }
    bool has_body() const override { return false; }
    void pin() override {}
    void set_body_reading(bool) override {}
    void body_ready() override {
        if (outer_now_ != nullptr) outer_now_->body_ready();
    }
    bool upgrade(Response&, unique_function<net::Session&(net::Connection&)>) override {
        return false;
    }
    // The first exchange ends.
    void forget_outer() {
        gone_.unlink();
        outer_now_ = nullptr;
        outer_ = {};
        if (!responded_ && !abandoned_) abandon();
        stop_waiting();
    }

  private:
    struct Gone final : AbandonObserver {
        explicit Gone(LocalExchange& e) : exchange(&e) {}
        void on_abandoned() override { exchange->on_outer_abandoned(); }
        LocalExchange* exchange;
    };

    void copy_request(Exchange& outer) {
        const Request& from = outer.request();
        loop_ = &outer.loop();
        outer_now_ = &outer;
        request_ = from;
        origin_.keep(request_);
        text_.emplace_back(from.authority);
        for (const wire::Field& field : from.head->fields()) {
            if (is_for_another_path(field.id)) continue;
            text_.emplace_back(field.name);
            text_.emplace_back(field.value);
        }
        request_.authority = text_[0];
        request_.protocol = {};
        head_.set_method(from.method() == wire::Method::head ? "HEAD" : "GET");
        for (std::size_t i = 1; i + 1 < text_.size(); i += 2) {
            head_.add_field(text_[i], text_[i + 1]);
        }
        request_.head = &head_;
    }

    void on_outer_abandoned() {
        const core::Ref<Exchange> self(this);
        const core::Ref<Exchange> outer = std::exchange(outer_, {});
        if (!abandoned_) abandon();
    }
    void send(Response& response) override {
        const core::Ref<Exchange> outer = std::exchange(outer_, {});
        if (outer) outer->respond(response);
    }
    // Only what is thrown inside the first exchange breaks it off.
    void break_off() override {
        if (outer_now_ == nullptr) return;
        outer_now_->run([] { throw std::runtime_error("a local redirect's answer broke off"); });
    }
    void break_connection() override { break_off(); }
    void start_body() override { end_receiver(); }

    core::EventLoop* loop_ = nullptr;
    Exchange* outer_now_ = nullptr;  // while it is there
    core::Ref<Exchange> outer_;      // until it is answered or abandoned
    Gone gone_{*this};
    std::string target_;
    std::string scratch_;
    std::vector<std::string> text_;  // the authority, then names and values
    wire::RequestHead head_;
};

// Hangs on the first exchange, so that sources find theirs as long as they are pulled.
class Redirected final : public Attachment {
  public:
    Redirected(core::Ref<LocalExchange> made) : Attachment(&made_key), made_(std::move(made)) {}
    ~Redirected() override { made_->forget_outer(); }

  private:
    core::Ref<LocalExchange> made_;
};

// Hangs on each one that was made.
class Depth final : public Attachment {
  public:
    explicit Depth(unsigned d) : Attachment(&depth_key), depth(d) {}
    const unsigned depth;
};

}  // namespace

unsigned local_redirects_of(const Exchange& exchange) {
    const auto* depth = static_cast<const Depth*>(exchange.attached(&depth_key));
    return depth != nullptr ? depth->depth : 0;
}

void answer_from_path(Exchange& exchange, Site& site, ByteView target) {
    const unsigned depth = local_redirects_of(exchange) + 1;
    auto made = core::make_ref<LocalExchange>(exchange, std::string(target));
    if (!made->read_target()) return exchange.respond_status(502);
    made->attach(core::make_ref<Depth>(depth));
    exchange.attach(core::make_ref<Redirected>(made));
    made->serve(site);
}

}  // namespace tiderace::http::cgi
