// The load's side of HTTP/2, and whatever a hostile server may send it. The first byte chooses the
// requests and how the bytes are cut. For all input, every request ends exactly once, and
// the client sends only frames that a server would accept.
#include <algorithm>
#include <string>

#include "load/dialogue.h"
#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/frame_reader.h"

namespace tiderace::load {
namespace {

constexpr std::size_t bytes_max = 4'096;
constexpr std::size_t asked_at_once = 3;
constexpr std::size_t asked_max = 40;

struct Manner {
    bool has_body, closes, hashes, is_head, byte_by_byte, has_slow_ear;

    explicit Manner(unsigned char byte)
        : has_body((byte & 1) != 0),
          closes((byte & 2) != 0),
          hashes((byte & 4) != 0),
          is_head((byte & 8) != 0),
          byte_by_byte((byte & 16) != 0),
          has_slow_ear((byte & 32) != 0) {}
};

// Keeps the sent bytes and counts the outcomes of the requests.
class Asker final : public LoadDialogue::Client {
  public:
    explicit Asker(bool has_slow_ear) : has_slow_ear_(has_slow_ear) {}

    void say(ByteView bytes, LoadDialogue::Part) override { said += bytes; }
    void lend(ByteView bytes, LoadDialogue::Part) override { said += bytes; }
    std::size_t unsent() const override { return has_slow_ear_ ? SIZE_MAX : 0; }
    void answered(const LoadAnswer& answer, Instant) override {
        TR_CHECK(answer.status >= 200 && answer.status <= 999);
        ++ends;
    }
    void failed(LoadError, Instant) override { ++ends; }
    void give_back(Instant) override { ++ends; }
    void failed_waiting(LoadError) override {}
    void failed_besides(LoadError) override {}
    void found(std::string_view fault) override { TR_CHECK(!fault.empty()); }
    void leave() override { has_left = true; }
    void room_changed() override {}

    std::string said;
    std::size_t ends = 0;
    bool has_left = false;

  private:
    bool has_slow_ear_;
};

void check_frames(ByteView said) {
    http::wire::H2FrameReader server;
    while (true) {
        const auto step = server.next(said);
        said.remove_prefix(step.used);
        TR_CHECK(step.status != http::wire::H2FrameReader::Status::fault);
        if (step.status == http::wire::H2FrameReader::Status::need_more) break;
    }
    TR_CHECK(said.empty());
}

std::size_t ask(LoadDialogue& dialogue, std::size_t asked) {
    const std::size_t room = dialogue.room();
    const std::size_t now = std::min({room, asked_at_once, asked_max - asked});
    for (std::size_t i = 0; i < now; ++i) dialogue.ask({});
    dialogue.asked();
    return now;
}

void talk(ByteView bytes, const Manner& manner) {
    LoadOptions options;
    options.http = LoadHttp::v2;
    options.method = manner.is_head ? "HEAD" : "";
    options.body_bytes = manner.has_body ? 20'000 : 0;
    const LoadRequest request = render_request({.host = "a", .path = "/"}, options);
    std::string arena;
    Asker asker(manner.has_slow_ear);
    const auto dialogue = make_load_h2(asker, {.request = &request,
                                               .depth = 4,
                                               .close = manner.closes,
                                               .hash = manner.hashes,
                                               .arena = &arena});
    dialogue->begin();
    std::size_t asked = 0, heard = 0;
    const std::size_t piece = manner.byte_by_byte ? 1 : std::max<std::size_t>(1, bytes.size());
    for (std::size_t come = 0; come < bytes.size() && !asker.has_left;) {
        come = std::min(bytes.size(), come + piece);
        heard += dialogue->hear(bytes.substr(heard, come - heard));
        TR_CHECK(heard <= come);
        if (asker.has_left) {
            TR_CHECK(heard == come && dialogue->room() == 0);
        } else {
            asked += ask(*dialogue, asked);
            dialogue->drained();
        }
        TR_CHECK(asker.ends + dialogue->under_way() == asked);
    }
    if (!asker.has_left) dialogue->ended(heard < bytes.size());
    TR_CHECK(asker.has_left);
    TR_CHECK(asker.ends + dialogue->drop_all() == asked);
    check_frames(asker.said);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min(size, bytes_max));
    if (!bytes.empty()) talk(bytes.substr(1), Manner(input[0]));
    return 0;
}

}  // namespace tiderace::load
