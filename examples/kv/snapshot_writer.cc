#include "examples/kv/snapshot_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include <tiderace/resp.h>

#include "examples/kv/append_log.h"
#include "examples/kv/snapshots.h"

namespace kv {
namespace {

using tiderace::Error;
using tiderace::fail;
using tiderace::Result;
namespace resp = tiderace::resp;

// Small commands, so that reading a snapshot back needs little memory at a time.
constexpr std::size_t elements_max = 128;           // of a command
constexpr std::size_t element_bytes_max = 1 << 20;  // of a command of several elements
constexpr std::size_t buffer_bytes = 1 << 20;

// Gathers elements, and writes a command whenever it has enough of them.
class Elements {
  public:
    Elements(std::string& out, ByteView command, ByteView key)
        : writer_(out), words_{command, key} {}
    ~Elements() { write(); }
    Elements(const Elements&) = delete;
    Elements& operator=(const Elements&) = delete;

    void add(ByteView element) {
        words_.push_back(element);
        bytes_ += element.size();
    }
    // After each element, which may be several words.
    void end_of_element() {
        if (words_.size() >= elements_max || bytes_ >= element_bytes_max) write();
    }
    void write() {
        if (words_.size() == 2) return;
        writer_.command(words_);
        words_.resize(2);
        bytes_ = 0;
        ++commands_;
    }
    std::size_t commands() const { return commands_; }

  private:
    resp::Writer writer_;
    std::vector<ByteView> words_;
    std::size_t bytes_ = 0;
    std::size_t commands_ = 0;
};

std::size_t append_value(const Entry& entry, std::string& out) {
    const ByteView key = *entry.key;
    if (const auto* list = std::get_if<std::unique_ptr<List>>(&entry.value)) {
        Elements elements(out, "RPUSH", key);
        for (const std::string& each : **list) {
            elements.add(each);
            elements.end_of_element();
        }
        elements.write();
        return elements.commands();
    }
    if (const auto* hash = std::get_if<std::unique_ptr<Hash>>(&entry.value)) {
        Elements elements(out, "HSET", key);
        (*hash)->for_each([&elements](auto& node) {
            elements.add(node.key);
            elements.add(node.mapped);
            elements.end_of_element();
        });
        elements.write();
        return elements.commands();
    }
    if (const auto* set = std::get_if<std::unique_ptr<Set>>(&entry.value)) {
        Elements elements(out, "SADD", key);
        (*set)->for_each([&elements](auto& node) {
            elements.add(node.key);
            elements.end_of_element();
        });
        elements.write();
        return elements.commands();
    }
    const auto& sorted = std::get<std::unique_ptr<SortedSet>>(entry.value);
    std::size_t commands = 0;
    for (const auto* node = sorted->at(0); node != nullptr; node = node->next(), ++commands) {
        // One command for each, because the text of the score lives in this turn of the loop only.
        const resp::DoubleText score(node->score());
        resp::Writer(out).command({"ZADD", key, score.view(), node->member()});
    }
    return commands;
}

Result<> write_all(int fd, const std::string& path, std::string& text) {
    ByteView left = text;
    while (!left.empty()) {
        const ssize_t written = ::write(fd, left.data(), left.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail(Error::last("write", path));
        left.remove_prefix(static_cast<std::size_t>(written));
    }
    text.clear();
    return {};
}

Result<> write_keys(Keyspace& keys, int fd, const std::string& path) {
    std::string text;
    std::size_t commands = 0;
    Result<> result;
    keys.for_each([&](const Entry& entry) {
        if (!result) return;
        commands += append_commands(entry, text);
        if (text.size() >= buffer_bytes) result = write_all(fd, path, text);
    });
    if (!result) return result;
    resp::Writer(text).command({snapshot_end, std::to_string(commands)});
    if (auto written = write_all(fd, path, text); !written) return written;
    // Before it is renamed, or a crash could leave the name without the contents.
    if (::fsync(fd) != 0) return fail(Error::last("sync", path));
    return {};
}

}  // namespace

std::size_t append_commands(const Entry& entry, std::string& out) {
    const std::string expires = std::to_string(entry.expires);
    resp::Writer writer(out);
    if (const auto* text = std::get_if<Text>(&entry.value)) {
        if (entry.expires != 0) {
            writer.command({"SET", *entry.key, text->view(), "PXAT", expires});
        } else {
            writer.command({"SET", *entry.key, text->view()});
        }
        return 1;
    }
    const std::size_t commands = append_value(entry, out);
    if (entry.expires == 0) return commands;
    writer.command({"PEXPIREAT", *entry.key, expires});
    return commands + 1;
}

Result<> write_snapshot(Keyspace& keys, const std::string& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, data_mode);
    if (fd < 0) return fail(Error::last("open", path, "see --dir"));
    auto written = write_keys(keys, fd, path);
    ::close(fd);
    return written;
}

}  // namespace kv
