#include "server/live/seen_files.h"

#include <sys/stat.h>

#include <utility>

#include "server/config/document.h"
#include "tiderace/core/whole_file.h"

namespace tiderace::server {
namespace {

std::string look_at(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? core::look_of(status) : "none\n";
}

std::string look_at_matches(const std::string& pattern) {
    std::string look;
    for (const std::string& path : config::files_of(pattern)) look += path + "\n";
    return look;
}

}  // namespace

void SeenFiles::note_file(const std::string& path) {
    note({path, false});
}

void SeenFiles::note_pattern(const std::string& pattern) {
    note({pattern, true});
}

std::vector<std::string> SeenFiles::files() const {
    std::vector<std::string> all;
    for (const Entry& each : entries_) {
        if (!each.is_pattern) all.push_back(each.path);
    }
    return all;
}

void SeenFiles::note(Entry entry) {
    noted_ += entry.is_pattern ? look_at_matches(entry.path) : look_at(entry.path);
    entries_.push_back(std::move(entry));
}

bool SeenFiles::changed() {
    std::string now;
    for (const Entry& each : entries_) {
        now += each.is_pattern ? look_at_matches(each.path) : look_at(each.path);
    }
    const bool is_settled = now == std::exchange(last_, now);
    return is_settled && now != noted_;
}

}  // namespace tiderace::server
