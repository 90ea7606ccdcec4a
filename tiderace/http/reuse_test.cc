// Objects that are reused for the next request keep nothing of the last: byte by byte, an exchange
// that was used in every way and reset is as it was when it was new.
#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/h1/exchange.h"
#include "tiderace/http/h1/messages_fixture.h"
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using wire::H2SettingId;
using wire::RequestHead;

using Image = std::vector<unsigned char>;

template <typename Object>
Image image_of(const Object& object) {
    Image image(sizeof object);
    std::memcpy(image.data(), &reinterpret_cast<const unsigned char&>(object), sizeof object);
    return image;
}

// An object as its constructor leaves memory that is filled with `pattern`.
template <typename Object, typename... Args>
Image made_over(int pattern, Args&... args) {
    struct Room {
        alignas(Object) unsigned char bytes[sizeof(Object)];
    };
    const auto room = std::make_unique<Room>();
    std::memset(room->bytes, pattern, sizeof room->bytes);
    auto* made = ::new (room->bytes) Object(args...);
    Image image = image_of(*made);
    made->~Object();
    return image;
}

// The bytes that have a meaning: the others (padding, rooms that are written before they are read)
// are left by the constructor as they were. A value that is neither has none of the pattern.
template <typename Object, typename... Args>
std::vector<bool> meaning(Args&... args) {
    const Image one = made_over<Object>(0x00, args...);
    const Image other = made_over<Object>(0xff, args...);
    std::vector<bool> means(one.size());
    // Pointers to the object itself differ as the rooms do; they mean something.
    for (std::size_t i = 0; i < one.size(); ++i) means[i] = one[i] != 0x00 || other[i] != 0xff;
    return means;
}

std::size_t scratch_offset() {
    const RequestHead head;
    return static_cast<std::size_t>(static_cast<const char*>(head.scratch()) -
                                    &reinterpret_cast<const char&>(head));
}

// Where two images differ, as offsets; what clear() leaves in a head is not looked at.
std::string difference(const Image& fresh, const Image& used, const std::vector<bool>& means,
                       std::size_t head_at) {
    std::string text;
    const std::size_t scratch_at = head_at + scratch_offset();
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        const bool scratch = i >= scratch_at && i < head_at + sizeof(RequestHead);
        if (means[i] && !scratch && fresh[i] != used[i]) text += ' ' + std::to_string(i);
    }
    return text;
}

template <typename Object>
std::string left_in(const Object& object, const Image& fresh, const std::vector<bool>& means,
                    const RequestHead* head) {
    const auto head_at = static_cast<std::size_t>(reinterpret_cast<const char*>(head) -
                                                  &reinterpret_cast<const char&>(object));
    return difference(fresh, image_of(object), means, head_at);
}

TEST(Reuse, AHeadThatIsClearedShowsNothing) {
    RequestHead head;
    const Image fresh = image_of(head);
    ASSERT_EQ(wire::parse_request_head("HEAD http://pattern:1/pattern HTTP/1.0\r\n"
                                       "Host: pattern\r\nHost: pattern\r\nX-Pattern: a\r\n\r\n",
                                       {}, head)
                  .status,
              wire::ParseStatus::complete);
    ASSERT_EQ(head.method(), wire::Method::head);
    head.clear();
    EXPECT_EQ(difference(fresh, image_of(head), meaning<RequestHead>(), 0), "");
    EXPECT_TRUE(head.fields().empty());
    EXPECT_EQ(head.find("x-pattern"), nullptr);
    EXPECT_EQ(head.find(wire::FieldName::host), nullptr);
    EXPECT_FALSE(head.repeated(wire::FieldName::host));
}

// --- HTTP/2 ----------------------------------------------------------------------------------

class H2Reuse : public testing::H2Test {
  protected:
    H2Reuse() {
        stage_->on("/seen", [this](Exchange& exchange) { look(exchange, 200); });
        stage_->on("/proxied", [this](Exchange& exchange) {
            exchange.set_client(core::Address::loopback(0x1234), true);
            look(exchange, 200);
        });
        stage_->on("/outlives", [this](Exchange& exchange) {
            exchange.outlive_connection();
            look(exchange, 200);
        });
        stage_->on("/pattern/A", [this](Exchange& exchange) { look(exchange, 404); });
        stage_->on("/form", [this](Exchange& exchange) {
            testing::receive_whole(
                exchange, 100'000,
                [this](Exchange& each, const testing::ReceivedBody&) { look(each, 201); });
        });
        stage_->on("/paused", [](Exchange& exchange) {
            testing::receive_whole(exchange, 100'000,
                                   [](Exchange&, const testing::ReceivedBody&) {});
            exchange.set_body_reading(false);
        });
        stage_->on("/waits", [](Exchange& exchange) {
            Response response;
            response.set_body(testing::pieces({"one"}, BodySource::State::wait), 1'000);
            exchange.respond(response);
        });
        core::Ref<H2Exchange> exchange = stage_->service().take_exchange();
        exchange_ = exchange.get();
        fresh_ = image_of(*exchange);
        means_ = meaning<H2Exchange>(stage_->service());
        stage_->service().give_back(std::move(exchange));
    }

    void look(Exchange& exchange, int status) {
        head_ = exchange.request().head;
        exchange.on_abandoned([] {});
        exchange.respond_status(status);
    }
    // The state of the one exchange that all requests of this test use, one after the other.
    std::string left() {
        core::Ref<H2Exchange> exchange = stage_->service().take_exchange();
        const bool same = exchange.get() == exchange_;
        const std::string found = same ? left_in(*exchange, fresh_, means_, head_) : "";
        stage_->service().give_back(std::move(exchange));
        return same ? found : "another was used";
    }

    struct Use {
        const char* what;
        std::function<std::uint32_t()> play;
        bool ends;  // or is reset
    };
    std::uint32_t post(const char* path, H2Client::Fields more, std::string_view bytes, bool end) {
        more.insert(more.end(), fields_.begin(), fields_.end());
        const auto stream = client_->request("POST", path, more, false);
        client_->data(stream, bytes, end);
        return stream;
    }
    std::vector<Use> requests() {
        return {
            {"a path that is decoded",
             [this] { return client_->get("/pattern/%41?query", fields_); }, true},
            {"HEAD", [this] { return client_->request("HEAD", "/hello?query", fields_, true); },
             true},
            {"one of a trusted proxy", [this] { return client_->get("/proxied"); }, true},
            {"one that keeps its peer", [this] { return client_->get("/outlives"); }, true},
            {"OPTIONS *", [this] { return client_->request("OPTIONS", "*", fields_, true); }, true},
            {"a refused head",
             [this] { return client_->get("/hello", {{"x", std::string(40'000, 'x')}}); }, true},
            {"a malformed one", [this] { return client_->get("/hello", {{"X", "x"}}); }, false},
            {"a refused path", [this] { return client_->get("/a%00b", fields_); }, true},
        };
    }
    std::vector<Use> bodies() {
        return {
            {"a body", [this] { return post("/form", {{"content-length", "7"}}, "pattern", true); },
             true},
            {"a body of unknown length", [this] { return post("/form", {}, "pattern", true); },
             true},
            {"a body and trailers",
             [this] {
                 const auto stream = post("/form", {}, "pattern", false);
                 client_->headers(stream, {{"x-trailer", "pattern"}}, true);
                 return stream;
             },
             true},
            {"a body that is too large",
             [this] { return post("/form", {{"content-length", "9000000"}}, "pattern", false); },
             false},
            {"a body that is expected",
             [this] {
                 const auto stream =
                     client_->request("POST", "/form", {{"expect", "100-continue"}}, false);
                 client_->data(stream, "pattern", true);
                 return stream;
             },
             true},
            {"a body without a receiver, reset",
             [this] {
                 const auto stream = post("/paused", {}, "pattern", false);
                 client_->reset(stream);
                 return stream;
             },
             false},
            {"an answer that waits for its window, reset",
             [this] {
                 const auto stream = client_->get("/large", fields_);
                 world_->settle();
                 client_->reset(stream);
                 return stream;
             },
             false},
            {"an answer of a source, reset",
             [this] {
                 const auto stream = client_->get("/waits", fields_);
                 world_->settle();
                 client_->reset(stream);
                 return stream;
             },
             false},
            {"an answer in pieces", [this] { return client_->get("/known", fields_); }, true},
            {"an answer that fails", [this] { return client_->get("/bad-field", fields_); }, true},
            {"no answer", [this] { return client_->get("/nothing", fields_); }, true},
        };
    }

    const H2Client::Fields fields_{{"priority", "u=1, i"},
                                   {"x-pattern", "pattern"},
                                   {"cookie", "a"},
                                   {"cookie", "b"},
                                   {"x-pattern", "pattern"}};
    H2Exchange* exchange_ = nullptr;
    const RequestHead* head_ = nullptr;  // inside it
    Image fresh_;
    std::vector<bool> means_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Reuse, ::testing::Values("fake"),
                         [](const auto& world) { return world.param; });

TEST_P(H2Reuse, AnExchangeKeepsNothing) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1'000}});
    std::vector<Use> uses = requests();
    std::ranges::move(bodies(), std::back_inserter(uses));
    for (const Use& use : uses) {
        SCOPED_TRACE(use.what);
        const std::uint32_t stream = use.play();
        world_->settle();
        if (use.ends) {
            EXPECT_TRUE(client.answer(stream).ended);
        }
        world_->advance(1ms);
        EXPECT_EQ(left(), "");
        ASSERT_FALSE(client.goaway());
    }
    peer_->reset();
    world_->settle();
    EXPECT_EQ(left(), "");
}

TEST_P(H2Reuse, AnExchangeKeepsNothingOfABodyThatWasLate) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/form", {}, false);
    client.data(stream, "pattern", false);
    world_->advance(61s);
    world_->settle();
    EXPECT_EQ(client.answer(stream).status, 408);
    // Its stream is still open, so it may not have come back yet.
    const std::string found = left();
    EXPECT_TRUE(found.empty() || found == "another was used") << found;
}

// --- HTTP/1 ----------------------------------------------------------------------------------

class H1Reuse : public ::testing::Test {
  protected:
    H1Reuse() {
        stage_.add_usual_paths();
        stage_.on("/pattern/A", [this](Exchange& exchange) {
            head_at_ =
                static_cast<std::size_t>(reinterpret_cast<const char*>(exchange.request().head) -
                                         reinterpret_cast<const char*>(exchange_));
            exchange.on_abandoned([] {});
            exchange.respond_status(404);
        });
        stage_.on("/waits", [](Exchange& exchange) {
            Response response;
            response.set_body(testing::pieces({"one"}, BodySource::State::wait), 1'000);
            exchange.respond(response);
        });
        stage_.on("/paused", [](Exchange& exchange) {
            testing::receive_whole(exchange, 100'000,
                                   [](Exchange&, const testing::ReceivedBody&) {});
            exchange.set_body_reading(false);
        });
        stage_.on("/proxied", [](Exchange& exchange) {
            exchange.set_client(core::Address::loopback(0x1234), true);
            exchange.respond_status(200);
        });
        stage_.on("/outlives", [](Exchange& exchange) {
            exchange.outlive_connection();
            exchange.respond_status(200);
        });
        means_ = meaning<H1Exchange>(stage_.service());
        begin();
    }

    // A refused request may take its exchange with it; the next one is new then.
    std::string left() {
        core::Ref<H1Exchange> exchange = stage_.service().take_exchange();
        std::string found;
        if (exchange.get() == exchange_) {
            const auto* const head = reinterpret_cast<const RequestHead*>(
                reinterpret_cast<const char*>(exchange_) + head_at_);
            found = left_in(*exchange, fresh_, means_, head);
            ++used_again_;
        }
        // Not the same memory, which would be taken for the same exchange.
        const core::Ref<H1Exchange> last = std::move(exchange);
        begin();
        return found;
    }
    void begin() {
        auto exchange = core::make_ref<H1Exchange>(stage_.service());
        exchange_ = exchange.get();
        fresh_ = image_of(*exchange);
        stage_.service().give_back(std::move(exchange));
    }

    testing::FakeWorld world_;
    testing::H1Stage stage_{world_};
    H1Exchange* exchange_ = nullptr;
    std::size_t head_at_ = 0;
    int used_again_ = 0;
    Image fresh_;
    std::vector<bool> means_;
};

TEST_F(H1Reuse, AnExchangeKeepsNothing) {
    const std::string fields = "X-Pattern: pattern\r\nCookie: a\r\n";
    const std::string post = "POST /upload HTTP/1.1\r\nHost: a\r\n" + fields;
    const std::vector<std::string> uses{
        get("/pattern/%41?query", fields),
        "HEAD /hello?query HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a/hello HTTP/1.0\r\nHost: a\r\n\r\n",
        get("/known", fields),
        get("/stream", fields + "Connection: close\r\n"),
        get("/nothing", fields),
        get("/bad-field", fields),
        get("/a%00b", fields),
        get("/waits", fields),
        get("/proxied", fields),
        get("/outlives", fields),
        "GET /hello HTTP/1.1\r\nX-Large: " + std::string(40'000, 'x') + "\r\n\r\n",
        "nonsense\r\n\r\n",
        post + "Content-Length: 7\r\n\r\npattern",
        post + "Transfer-Encoding: chunked\r\n\r\n7\r\npattern\r\n0\r\nX-Trailer: pattern\r\n\r\n",
        post + "Transfer-Encoding: chunked\r\n\r\nnonsense\r\n\r\n",
        post + "Content-Length: 101\r\n\r\npattern",
        post + "Expect: 100-continue\r\nContent-Length: 7\r\n\r\npattern",
        "POST /paused HTTP/1.1\r\nHost: a\r\nContent-Length: 70\r\n\r\npattern",
        "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 70\r\n\r\npattern",
    };
    for (const std::string& use : uses) {
        SCOPED_TRACE(use.substr(0, 100));
        const auto peer = stage_.connect();
        peer->say(use);
        world_.settle();
        peer->finish();
        world_.settle();
        peer->reset();
        world_.settle();
        EXPECT_EQ(stage_.server().size(), 0U);
        EXPECT_EQ(left(), "");
    }
    EXPECT_GE(used_again_, 10);
}

}  // namespace
}  // namespace tiderace::http
