// Answers of every size, in every form, over both versions of HTTP: no limit on what a slow reader
// costs breaks a single answer.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tiderace/http/exchange.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;

// A piece that is missing or comes twice shows.
std::string text_of(std::size_t bytes) {
    std::string piece(4'099, '\0');
    for (std::size_t i = 0; i < piece.size(); ++i) {
        piece[i] = static_cast<char>('a' + (i + i / 251) % 26);
    }
    std::string text;
    text.reserve(bytes + piece.size());
    while (text.size() < bytes) text += piece;
    text.resize(bytes);
    return text;
}

struct Owned final : core::Shared {
    explicit Owned(std::string t) : text(std::move(t)) {}
    std::string text;
};

enum class Form : std::uint8_t {
    string,
    view,
    shared,
    blocks,
    source_at_once,
    source_in_pieces,
    count_
};

class AtOnce final : public BodySource {
  public:
    explicit AtOnce(std::string text) : text_(std::move(text)) {}
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        out.append(blocks, text_);
        return State::end;
    }

  private:
    std::string text_;
};

// Without a length, so over HTTP/1.1 in chunks.
class InPieces final : public BodySource {
  public:
    explicit InPieces(const std::string& text) : left_(text) {}
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes) override {
        const ByteView piece = left_.substr(0, bytes);
        left_.remove_prefix(piece.size());
        out.append(blocks, piece);
        return left_.empty() ? State::end : State::more;
    }

  private:
    ByteView left_;
};

// The body without the sizes of its chunks. False: they are malformed, or there is more to come.
bool join_chunks(ByteView chunks, std::string& body) {
    while (true) {
        const std::size_t line = chunks.find("\r\n");
        if (line == ByteView::npos) return false;
        const std::size_t bytes = std::stoul(std::string(chunks.substr(0, line)), nullptr, 16);
        chunks.remove_prefix(line + 2);
        if (chunks.size() < bytes + 2) return false;
        if (bytes == 0) return chunks == "\r\n";
        body += chunks.substr(0, bytes);
        chunks.remove_prefix(bytes + 2);
    }
}

void answer(Exchange& exchange, Form form, const std::string& text) {
    Response response;
    switch (form) {
        case Form::string:
            response.set_body(std::string(text));
            break;
        case Form::view:
            response.set_body(ByteView(text));
            break;
        case Form::shared: {
            auto owned = core::make_ref<Owned>(text);
            response.set_body(owned->text, owned);
            break;
        }
        case Form::blocks: {
            core::SendQueue queue;
            queue.append(exchange.loop().blocks(), text);
            response.set_body(std::move(queue));
            break;
        }
        case Form::source_at_once:
            response.set_body(std::make_unique<AtOnce>(text), text.size());
            break;
        case Form::source_in_pieces:
            response.set_body(std::make_unique<InPieces>(text));
            break;
        case Form::count_:
            break;
    }
    exchange.respond(response);
}

class Sizes : public ::testing::Test {
  protected:
    Sizes() {
        stage_.on("/answer", [this](Exchange& exchange) { answer(exchange, form_, text_); });
    }

    bool comes_over_h1() {
        const auto peer = stage_.connect();
        peer->say("GET /answer HTTP/1.1\r\nHost: a\r\n\r\n");
        const auto body_at = [&] { return peer->heard().find("\r\n\r\n") + 4; };
        if (form_ == Form::source_in_pieces) {
            std::string body;
            return stage_.run_until(
                       [&] { return peer->over() || peer->heard().ends_with("\r\n0\r\n\r\n"); }) &&
                   join_chunks(ByteView(peer->heard()).substr(body_at()), body) && body == text_;
        }
        return stage_.run_until([&] {
            return peer->over() || (peer->heard().find("\r\n\r\n") != std::string::npos &&
                                    peer->heard().size() >= body_at() + text_.size());
        }) && ByteView(peer->heard()).substr(body_at()) == text_;
    }
    bool comes_over_h2() {
        const auto peer = stage_.connect();
        H2Client client(*peer, {{wire::H2SettingId::initial_window_size, 0x7fffffff}});
        client.window_update(0, 0x7fffffff - 65'535);
        client.get("/answer");
        return stage_.run_until([&] {
            return client.answer(1).ended || client.answer(1).reset || peer->over();
        }) && client.answer(1).body == text_;
    }

    testing::FakeWorld world_;
    H2Stage stage_{world_};
    Form form_ = Form::string;
    std::string text_;
};

TEST_F(Sizes, EveryFormOfEverySizeComesWhole) {
    for (const std::size_t bytes : {std::size_t{1}, 31_KiB, 32_KiB - 64, 64_KiB, 64_KiB + 1,
                                    256_KiB, 4_MiB - 1, 4_MiB + 1, std::size_t{5'000'000}, 9_MiB}) {
        text_ = text_of(bytes);
        for (int form = 0; form < static_cast<int>(Form::count_); ++form) {
            form_ = static_cast<Form>(form);
            EXPECT_TRUE(comes_over_h1()) << bytes << " bytes, form " << form;
            EXPECT_TRUE(comes_over_h2()) << bytes << " bytes, form " << form;
        }
    }
    EXPECT_EQ(stage_.stage().closed(net::CloseReason::queue_overflow), 0U);
}

TEST_F(Sizes, EveryFormOf256MiBComesWhole) {
#if defined(TIDERACE_SANITIZED)
    text_ = text_of(64_MiB);  // the fake network keeps a copy or two
#else
    text_ = text_of(256_MiB);
#endif
    for (int form = 0; form < static_cast<int>(Form::count_); ++form) {
        form_ = static_cast<Form>(form);
        EXPECT_TRUE(comes_over_h1()) << "form " << form;
        EXPECT_TRUE(comes_over_h2()) << "form " << form;
    }
}

// Clients that read nothing hold strings that are shared, not copied. One that reads is served.
TEST_F(Sizes, UnreadLargeStringsHaveOneBound) {
    constexpr std::size_t bytes_max = 16_MiB;
    world_.loop().blocks().set_bytes_max(bytes_max);
    text_ = text_of(4_MiB);
    for (const bool h2 : {false, true}) {
        SCOPED_TRACE(h2 ? "HTTP/2" : "HTTP/1.1");
        std::vector<std::shared_ptr<testing::Peer>> idle;
        std::vector<std::unique_ptr<H2Client>> clients;
        for (int i = 0; i < 12; ++i) {
            idle.push_back(stage_.connect());
            if (h2) {
                clients.push_back(std::make_unique<H2Client>(*idle.back()));
                clients.back()->get("/answer");  // its window is 65,535 bytes
            } else {
                idle.back()->set_listening(false);
                idle.back()->say("GET /answer HTTP/1.1\r\nHost: a\r\n\r\n");
            }
            world_.settle();
            EXPECT_LE(world_.loop().blocks().shared_bytes(), bytes_max) << i;
        }
        EXPECT_GE(stage_.stage().closed(net::CloseReason::send_memory_full), 8U);
        world_.advance(1s);
        EXPECT_TRUE(comes_over_h1());
        EXPECT_TRUE(comes_over_h2());
        EXPECT_GE(world_.loop().blocks().shared_bytes(), 4_MiB) << "not more than must be";
        for (const auto& peer : idle) peer->reset();
        world_.settle();
        EXPECT_EQ(world_.loop().blocks().shared_bytes(), 0U);
    }
}

}  // namespace
}  // namespace tiderace::http
