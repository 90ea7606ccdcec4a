#include "examples/kv/replay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "examples/kv/server.h"

namespace kv {
namespace {

using tiderace::Error;
using tiderace::fail;

struct Files {
    std::vector<std::uint64_t> snapshots;
    std::vector<std::uint64_t> logs;
};

std::optional<std::uint64_t> number_behind(std::string_view name, std::string_view word) {
    if (!name.starts_with(word)) return std::nullopt;
    name.remove_prefix(word.size());
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return number;
}

Result<Files> list(const std::string& folder) {
    Files files;
    std::error_code error;
    // Not a range-for, whose step to the next entry throws.
    for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error)) {
        const std::string name = each->path().filename().string();
        if (const auto log = number_behind(name, "log-")) files.logs.push_back(*log);
        if (const auto number = number_behind(name, "snapshot-")) {
            files.snapshots.push_back(*number);
        }
    }
    if (error) return fail(Error(error.value(), "read", folder, "--dir is a folder that exists"));
    std::ranges::sort(files.snapshots);
    std::ranges::sort(files.logs);
    return files;
}

// The files are our own. A command that was executed once is executed again, although the limit
// (--proto-max-bulk-len) may be smaller now, and a command in the log a little longer than it came.
constexpr resp::Limits replay_limits{.bulk_bytes_max = UINT32_MAX - 1,
                                     .elements_max = UINT32_MAX - 1,
                                     .message_bytes_max = UINT32_MAX - 1};

// Reads one file and executes what is in it.
class Reader {
  public:
    Reader(Server& server, std::string path)
        : server_(&server),
          path_(std::move(path)),
          client_(server, nullptr, 0),
          reader_(replay_limits),
          out_(server.loose()) {}

    Result<> run() {
        const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) return fail(Error::last("open", path_));
        std::string block(1 << 20, '\0');
        Result<> result;
        while (result) {
            const ssize_t bytes = ::read(fd, block.data(), block.size());
            if (bytes < 0) result = fail(Error::last("read", path_));
            if (bytes <= 0) break;
            result = feed(ByteView(block.data(), static_cast<std::size_t>(bytes)));
        }
        ::close(fd);
        return result;
    }

    // Behind the last command that is whole, and in no unfinished transaction.
    std::uint64_t whole_bytes() const { return whole_; }
    std::uint64_t bytes() const { return read_; }
    std::uint64_t commands() const { return commands_; }
    bool has_end() const { return has_end_; }

  private:
    Result<> feed(ByteView in) {
        while (!in.empty()) {
            const std::size_t before = in.size();
            const resp::Progress progress = reader_.read(in);
            if (progress == resp::Progress::fault) {
                return fail(Error(0, "replay", path_, place(to_string(reader_.fault()))));
            }
            read_ += before - in.size();
            if (progress == resp::Progress::more) break;
            if (auto done = execute(); !done) return done;
            // A transaction without its EXEC was not executed, so it is cut off as well.
            if (!client_.in_transaction()) whole_ = read_;
        }
        return {};
    }
    Result<> execute() {
        const resp::Arguments arguments = reader_.arguments();
        // The count also shows a file that lost its middle.
        if (arguments.size() == 2 && arguments[0] == snapshot_end) {
            has_end_ = arguments[1] == std::to_string(commands_);
            return {};
        }
        out_.clear();
        server_->execute(client_, arguments, reader_.encoded(), out_);
        ++commands_;
        // A logged command succeeded once. If it fails now the file is not what was written, and
        // all that follows would be built on a gap.
        if (const std::string& text = out_.text(); text.starts_with('-')) {
            return fail(Error(0, "replay", path_, place(text.substr(1, text.find('\r') - 1))));
        }
        return {};
    }
    std::string place(std::string_view what) const {
        return "at byte " + std::to_string(whole_) + ": " + std::string(what) +
               "; restore the file from a copy, or cut it off there";
    }

    Server* server_;
    std::string path_;
    Client client_;
    resp::CommandReader reader_;
    Answers out_;
    std::uint64_t read_ = 0;
    std::uint64_t whole_ = 0;
    std::uint64_t commands_ = 0;
    bool has_end_ = false;
};

Result<> replay_snapshot(Server& server, const std::string& path, std::string& text) {
    Reader reader(server, path);
    if (auto done = reader.run(); !done) return done;
    if (!reader.has_end()) {
        return fail(Error(0, "replay", path, "it is not whole; restore it from a copy"));
    }
    text += path + ": " + std::to_string(server.keys().size()) + " keys\n";
    return {};
}

Result<> replay_log(Server& server, const std::string& path, bool last, std::string& text) {
    Reader reader(server, path);
    if (auto done = reader.run(); !done) return done;
    text += path + ": " + std::to_string(reader.commands()) + " commands\n";
    const std::uint64_t torn = reader.bytes() - reader.whole_bytes();
    if (torn == 0) return {};
    // Only the file that was written to last can have been torn by a crash.
    if (!last) {
        return fail(Error(0, "replay", path,
                          "it ends in the middle of a command, and is not the last log"));
    }
    if (::truncate(path.c_str(), static_cast<off_t>(reader.whole_bytes())) != 0) {
        return fail(Error::last("cut off the end of", path));
    }
    text += path + ": it ended in the middle of a command; the last " + std::to_string(torn) +
            " bytes were cut off\n";
    return {};
}

}  // namespace

Result<Replayed> replay_folder(Server& server, const std::string& folder) {
    auto files = list(folder);
    if (!files) return fail(files.error());
    Replayed replayed;
    if (!files->snapshots.empty()) {
        replayed.snapshot = files->snapshots.back();
        const std::string path = snapshot_path(folder, replayed.snapshot);
        if (auto done = replay_snapshot(server, path, replayed.text); !done) {
            return fail(done.error());
        }
    }
    // A snapshot holds all that older logs hold; the log of its own number began with it.
    std::erase_if(files->logs, [&](std::uint64_t number) { return number < replayed.snapshot; });
    for (const std::uint64_t number : files->logs) {
        // One is begun while the last bytes of the one before it may be on their way; it stays
        // empty until they are synced.
        const bool last = std::ranges::all_of(files->logs, [&](std::uint64_t each) {
            std::error_code error;
            return each <= number || std::filesystem::file_size(log_path(folder, each), error) == 0;
        });
        if (auto done = replay_log(server, log_path(folder, number), last, replayed.text); !done) {
            return fail(done.error());
        }
        replayed.log = number;
        // A later one takes writes from now on. What a program that was killed left with the
        // system, and the cut, have to be on the disk before them (AppendLog).
        if (number == files->logs.back()) break;
        if (auto synced = sync_file(log_path(folder, number)); !synced) {
            return fail(synced.error());
        }
    }
    // Left-overs of a crash between a snapshot and this step. The snapshot's new name may not be on
    // the disk yet, and without it the older files are all there is.
    if (auto synced = sync_folder(folder); !synced) return fail(synced.error());
    remove_older(folder, replayed.snapshot);
    return replayed;
}

void remove_older(const std::string& folder, std::uint64_t number) {
    std::error_code error;
    std::vector<std::filesystem::path> old;
    for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error)) {
        const std::string name = each->path().filename().string();
        const auto log = number_behind(name, "log-");
        const auto snapshot = number_behind(name, "snapshot-");
        if ((log && *log < number) || (snapshot && *snapshot < number) ||
            (name.starts_with("snapshot-") && name.ends_with(".part"))) {
            old.push_back(each->path());
        }
    }
    // A file that cannot be listed or removed now is tried again after the next snapshot.
    for (const auto& path : old) std::filesystem::remove(path, error);
}

}  // namespace kv
