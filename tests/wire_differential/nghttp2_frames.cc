// nghttp2_frames: every frame type with every length from 0 to 20, many flags and streams, given to
// our frame reader and to a server session of nghttp2. Prints what the two make of each where they
// differ, one line for each kind of difference: the suite says which kinds are known.
//
//   type TYPE: ours OUTCOME, theirs OUTCOME (an example)
#include <nghttp2/nghttp2.h>

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"
#include "tiderace/http/wire/h2/settings.h"
#include "tiderace/http/wire/h2/stream.h"

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

std::string frame(H2FrameHeader header, const std::string& payload) {
    std::string out(h2_frame_header_bytes, '\0');
    header.length = static_cast<std::uint32_t>(payload.size());
    write_h2_frame_header(out, header);
    return out + payload;
}

constexpr std::uint8_t end_headers = h2_flag::end_headers;
constexpr std::uint32_t open_stream = 1;
constexpr std::uint32_t idle_stream = 3;

// The preface, SETTINGS, and a request without END_STREAM on open_stream.
std::string opening() {
    return std::string(h2_preface) + frame({.type = H2FrameType::settings}, "") +
           frame({.type = H2FrameType::headers, .flags = end_headers, .stream = open_stream},
                 "\x83\x86\x84\x41\x01"
                 "a");
}

std::string say(const H2Fault& fault) {
    switch (fault.scope) {
        case H2Fault::Scope::none:
            return "takes it";
        case H2Fault::Scope::stream:
            return "resets with " + std::string(to_string(fault.error));
        case H2Fault::Scope::connection:
            break;
    }
    return "ends with " + std::string(to_string(fault.error));
}

// Handles a frame as our connection does: reader, settings and stream states together.
class Ours {
  public:
    H2Fault read(const std::string& bytes) {
        H2FrameReader reader;
        ByteView rest = bytes;
        while (fault_ == H2Fault()) {
            const H2FrameReader::Step step = reader.next(rest);
            rest.remove_prefix(step.used);
            if (step.status == H2FrameReader::Status::need_more) break;
            if (step.status == H2FrameReader::Status::fault) fault_ = step.fault;
            if (step.status == H2FrameReader::Status::frame) std::visit(*this, step.frame);
        }
        return fault_;
    }

    void operator()(const H2Data& data) {
        event(data.stream, data.end_stream ? H2StreamEvent::data_end : H2StreamEvent::data);
    }
    void operator()(const H2Headers& headers) {
        std::vector<char> arena(hpack_.arena_bytes(4096));
        HpackDecoder::Block fields = hpack_.read(headers.block, arena, 4096);
        while (fields.next() == HpackDecoder::Status::field) {
        }
        if (fields.status() == HpackDecoder::Status::corrupt) {
            fault_ = connection_fault(H2Error::compression_error);
            return;
        }
        event(headers.stream,
              headers.end_stream ? H2StreamEvent::headers_end : H2StreamEvent::headers);
    }
    void operator()(const H2RstStream& reset) { event(reset.stream, H2StreamEvent::rst_stream); }
    void operator()(const H2WindowUpdate& update) {
        if (update.stream != 0) event(update.stream, H2StreamEvent::window_update);
    }
    void operator()(const H2SettingsFrame& settings) {
        H2Settings applied;
        const H2Error error = applied.apply(settings.entries);
        if (error != H2Error::no_error) fault_ = connection_fault(error);
    }
    template <typename Other>
    void operator()(const Other& /*frame*/) {}

  private:
    void event(std::uint32_t stream, H2StreamEvent event) {
        const bool open = stream == open_stream && opened_;
        const H2StreamState state = open ? state_ : H2StreamState::idle;
        const H2Transition transition = h2_transition(state, event);
        if (transition.verdict == H2Transition::Verdict::stream_error) {
            fault_ = stream_fault(transition.error, stream);
        } else if (transition.verdict == H2Transition::Verdict::connection_error) {
            fault_ = connection_fault(transition.error);
        } else if (stream == open_stream) {
            state_ = transition.next;
            opened_ = true;
        }
    }

    HpackDecoder hpack_;
    H2Fault fault_;
    H2StreamState state_ = H2StreamState::idle;
    bool opened_ = false;
};

// The same from what a session of nghttp2 answers.
class Theirs {
  public:
    Theirs() {
        nghttp2_session_callbacks* callbacks = nullptr;
        TR_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
        nghttp2_option* option = nullptr;
        TR_CHECK(nghttp2_option_new(&option) == 0);
        nghttp2_option_set_no_http_messaging(option, 1);
        nghttp2_option_set_builtin_recv_extension_type(option, NGHTTP2_PRIORITY_UPDATE);
        nghttp2_session* made = nullptr;
        TR_CHECK(nghttp2_session_server_new2(&made, callbacks, nullptr, option) == 0);
        session_.reset(made);
        nghttp2_option_del(option);
        nghttp2_session_callbacks_del(callbacks);
        const nghttp2_settings_entry no_priorities = {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1};
        nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, &no_priorities, 1);
    }

    H2Fault read(const std::string& bytes) {
        const ssize_t used = nghttp2_session_mem_recv(
            session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        TR_CHECK(used >= 0);
        std::string answer;
        const std::uint8_t* data = nullptr;
        while (true) {
            const ssize_t sent = nghttp2_session_mem_send(session_.get(), &data);
            if (sent <= 0) break;
            answer.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(sent));
        }
        return fault_in(answer);
    }

  private:
    static H2Fault fault_in(ByteView answer) {
        H2Fault fault;
        while (!answer.empty()) {
            const H2FrameHeader header = read_h2_frame_header(answer);
            const ByteView payload = answer.substr(h2_frame_header_bytes, header.length);
            const auto code_at = [&](std::size_t at) {
                return static_cast<H2Error>(static_cast<unsigned char>(payload[at + 3]));
            };
            if (header.type == H2FrameType::goaway) return connection_fault(code_at(4));
            if (header.type == H2FrameType::rst_stream) {
                fault = stream_fault(code_at(0), header.stream);
            }
            answer.remove_prefix(h2_frame_header_bytes + header.length);
        }
        return fault;
    }

    struct Delete {
        void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
    };
    std::unique_ptr<nghttp2_session, Delete> session_;
};

class Table {
  public:
    void compare(const H2FrameHeader& header, const std::string& payload) {
        const std::string bytes = opening() + frame(header, payload);
        const H2Fault ours = Ours().read(bytes);
        const H2Fault theirs = Theirs().read(bytes);
        ++frames_;
        if (ours == theirs) return;
        const std::string kind = "type " + std::to_string(static_cast<int>(header.type)) +
                                 ": ours " + say(ours) + ", theirs " + say(theirs);
        auto [known, added] = kinds_.try_emplace(kind, 0);
        if (added) {
            std::cout << kind << " (length " << payload.size() << ", flags " << int{header.flags}
                      << ", stream " << header.stream << ")\n";
        }
        ++known->second;
    }
    int frames() const { return frames_; }

  private:
    std::map<std::string, int> kinds_;
    int frames_ = 0;
};

// The beginnings of payloads: numbers that matter to some type, over a field block that is valid.
std::string payload_of(int kind, std::size_t length) {
    static const std::string fills[] = {std::string(32, '\x82'),
                                        std::string(32, '\0'),
                                        "\0\0\0\1"s + std::string(28, '\x82'),
                                        "\0\5\0\0\x40\0"s + std::string(26, '\0'),
                                        "\0\4\xff\xff\xff\xff"s + std::string(26, '\0'),
                                        "\3"s + std::string(28, '\x82') + "\0\0\0"s};
    return fills[kind].substr(0, length);
}

int run() {
    Table table;
    for (unsigned type = 0; type <= 0x12; ++type) {
        for (unsigned flags = 0; flags < 64; ++flags) {
            for (const std::uint32_t stream : {0U, open_stream, idle_stream}) {
                for (std::size_t length = 0; length <= 20; ++length) {
                    for (int kind = 0; kind < 6; ++kind) {
                        table.compare({.type = static_cast<H2FrameType>(type),
                                       .flags = static_cast<std::uint8_t>(flags),
                                       .stream = stream},
                                      payload_of(kind, length));
                    }
                }
            }
        }
    }
    std::cout << table.frames() << " frames\n";
    return 0;
}

}  // namespace
}  // namespace tiderace::http::wire

int main() {
    return tiderace::http::wire::run();
}
