// RESP, both readers. For all input: whole, cut in two and in small pieces come to the same; what
// a reader took, the writer writes so that it is read again.
#include <algorithm>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/resp.h"

namespace tiderace::resp {
namespace {

constexpr Limits limits{.bulk_bytes_max = 200,
                        .elements_max = 40,
                        .depth_max = 4,
                        .line_bytes_max = 60,
                        .message_bytes_max = 500};

struct Taken {
    std::vector<std::string> messages;
    Fault fault = Fault::none;
    bool operator==(const Taken&) const = default;
};

std::string message(const CommandReader& reader) {
    std::string out;
    const Arguments arguments = reader.arguments();
    TR_CHECK(arguments.size() <= std::max(limits.elements_max, limits.line_bytes_max));
    Writer writer(out);
    writer.array(arguments.size());
    for (const ByteView each : arguments) writer.bulk(each);
    return out;
}

std::string message(const ReplyReader& reader) {
    const OwnedReply copy = reader.reply().copy();
    TR_CHECK(copy.view().describe() == reader.reply().describe());
    for (const Reply each : reader.reply()) {
        static_cast<void>(each.integer());
        static_cast<void>(each.real());
        static_cast<void>(each["key"]);
        static_cast<void>(each.attributes().size());
    }
    return reader.reply().describe();
}

template <typename Reader>
void feed(Reader& reader, ByteView piece, Taken& taken) {
    const std::string copy(piece);  // its own memory, so that a view kept too long is found
    ByteView in = copy;
    while (!in.empty() && taken.fault == Fault::none) {
        const std::size_t before = in.size();
        const Progress progress = reader.read(in);
        TR_CHECK(progress == Progress::fault || in.size() < before);
        TR_CHECK(progress != Progress::more || in.empty());
        if (progress == Progress::complete) taken.messages.push_back(message(reader));
        if (progress == Progress::fault) taken.fault = reader.fault();
    }
}

template <typename Reader>
Taken read_in_pieces(ByteView bytes, std::size_t piece_bytes) {
    Reader reader(limits);
    Taken taken;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), piece_bytes))) {
        feed(reader, bytes.substr(0, piece_bytes), taken);
    }
    return taken;
}

template <typename Reader>
void check(ByteView bytes) {
    const Taken whole = read_in_pieces<Reader>(bytes, bytes.size());
    TR_CHECK(read_in_pieces<Reader>(bytes, 1) == whole);
    TR_CHECK(read_in_pieces<Reader>(bytes, 7) == whole);
    for (std::size_t cut = 1; cut < bytes.size(); cut += 1 + bytes.size() / 32) {
        Reader reader(limits);
        Taken taken;
        feed(reader, bytes.substr(0, cut), taken);
        feed(reader, bytes.substr(cut), taken);
        TR_CHECK(taken == whole);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 2048));
    if (bytes.empty()) return 0;
    check<CommandReader>(bytes);
    check<ReplyReader>(bytes);
    return 0;
}

}  // namespace tiderace::resp
