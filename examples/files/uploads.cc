#include "examples/files/uploads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <tiderace/json.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>
#include <tuple>
#include <utility>

#include "examples/files/file_name.h"

namespace fs = std::filesystem;
namespace json = tiderace::json;
using tiderace::http::Problem;

// The record beside an upload's bytes.
struct Uploads::Record {
    std::string name;
    std::uint64_t length = 0;
    bool exact = true;
    // While bytes come whose digest is not known yet: those before it count.
    std::optional<std::uint64_t> proven;
    std::optional<std::string> client;
};

// An upload:
//
//    create --write()--> written to by the newest Writer --finish(), all bytes--> complete
//       ^                     |                                                   (a file, by link)
//       +--its request ended--+   (what came counts; with a digest, what was proven)
//    remove(), sweep(): removed, from any of these
//
struct Uploads::Part {
    std::mutex mutex;
    std::string id;
    std::string name;
    std::string client;
    std::uint64_t length = 0;
    Length kind = Length::exact;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> proven;
    Seconds touched = 0;
    std::uint64_t newest_writer = 0;
    // It stays for a while, so that a client that lost the last answer can learn that all came.
    bool is_complete = false;
    bool is_removed = false;
};

namespace {

constexpr unsigned names_tried_max = 1'000;

[[noreturn]] void throw_system(int code, const char* what, const fs::path& path) {
    throw fs::filesystem_error(what, path, std::error_code(code, std::generic_category()));
}

// Syncs the names in it. 0, or an errno value.
int sync_folder(const fs::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return errno;
    // EINVAL: this file system syncs them by itself, or not at all.
    const int code = ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
    ::close(descriptor);
    return code;
}

// It cannot be guessed, because a client that knows it may continue the upload.
std::string new_id() {
    static constexpr char digits[] = "0123456789abcdef";
    std::random_device random;
    std::string id;
    for (int word = 0; word < 4; ++word) {
        for (unsigned bits = random(), i = 0; i < 8; ++i, bits >>= 4) id += digits[bits & 15];
    }
    return id;
}

bool is_id(std::string_view text) {
    return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

Problem too_many_of_client() {
    return {.status = 429, .detail = "finish or remove your other uploads first"};
}

void close_quietly(int descriptor) {
    if (descriptor >= 0) ::close(descriptor);
}

// The step of a range-for to the next entry throws without the folder's name.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
    std::vector<fs::directory_entry> entries;
    std::error_code fault;
    for (fs::directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
        entries.push_back(*at);
    }
    if (fault) throw_system(fault.value(), "cannot list", folder);
    return entries;
}

bool is_listed(const fs::directory_entry& entry) {
    std::error_code gone;
    return entry.symlink_status(gone).type() == fs::file_type::regular &&
           !entry.path().filename().string().starts_with('.');
}

}  // namespace

Uploads::Uploads(fs::path folder, UploadLimits limits, Seconds now, Log log)
    : folder_(std::move(folder)),
      unfinished_(folder_ / ".unfinished"),
      limits_(limits),
      log_(std::move(log)),
      rate_(limits.rate) {
    fs::create_directories(unfinished_);
    load(now);
    count_files();
}
Uploads::~Uploads() = default;

fs::path Uploads::part_path(std::string_view id) const {
    return unfinished_ / id;
}
fs::path Uploads::record_path(std::string_view id) const {
    return unfinished_ / (std::string(id) + ".json");
}

// --- across restarts --------------------------------------------------------------------------

void Uploads::load(Seconds now) {
    for (const fs::directory_entry& entry : entries_of(unfinished_)) {
        const std::string id = entry.path().stem().string();
        if (entry.path().extension() != ".json" || !is_id(id)) continue;
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const auto record = json::read<Record>(text);
        auto part = std::make_shared<Part>();
        part->id = id;
        struct stat found{};
        // The upload of a form cannot go on: its browser sends the form again, from its beginning.
        const bool whole = ::stat(part_path(id).c_str(), &found) == 0 && record && record->exact;
        if (!whole || found.st_mtime + limits_.expiry < now) {
            erase(*part);
            continue;
        }
        part->name = record->name;
        part->client = record->client.value_or("");
        part->length = record->length;
        part->offset = record->proven.value_or(static_cast<std::uint64_t>(found.st_size));
        part->offset = std::min(part->offset, part->length);  // whatever the folder holds
        part->touched = found.st_mtime;
        parts_.emplace(id, std::move(part));
    }
    remove_leftovers(now);
}

// Left-overs of a crash: bytes without a record, and a record that was not renamed. Not the young
// ones, which may belong to another program that uses this folder.
void Uploads::remove_leftovers(Seconds now) const {
    for (const fs::directory_entry& entry : entries_of(unfinished_)) {
        const std::string name = entry.path().filename().string();
        const std::string id = name.substr(0, name.find('.'));
        if (!is_id(id) || parts_.contains(id)) continue;
        struct stat found{};
        const bool known = ::stat(entry.path().c_str(), &found) == 0;
        if (!known || found.st_mtime + limits_.expiry >= now) continue;
        std::error_code gone;
        fs::remove(entry.path(), gone);
    }
}

// Written anew and renamed, so that a crash of the program leaves the old record or the new one.
// An upload that a crash of the machine left unreadable begins again (load).
void Uploads::keep(const Part& part) const {
    const fs::path path = record_path(part.id);
    const fs::path fresh = path.string() + ".new";
    std::ofstream file(fresh, std::ios::trunc);
    file << json::write(
        Record{part.name, part.length, part.kind == Length::exact, part.proven, part.client});
    file.close();
    if (!file) throw_system(ENOSPC, "cannot write", fresh);
    fs::rename(fresh, path);
}

void Uploads::erase(Part& part) const {
    part.is_removed = true;
    std::error_code gone;  // it may never have been there
    fs::remove(part_path(part.id), gone);
    fs::remove(record_path(part.id), gone);
}

void Uploads::count_files() {
    std::uint64_t bytes = 0;
    const std::vector<StoredFile> all = files();
    for (const StoredFile& one : all) bytes += one.bytes;
    const std::lock_guard lock(mutex_);
    file_bytes_ = bytes;
    file_count_ = all.size();
}

// --- uploads ----------------------------------------------------------------------------------

UploadState Uploads::state_of(const Part& part) const {
    return {part.id, part.name, part.length, part.offset, expiry_of(part)};
}

Uploads::Seconds Uploads::expiry_of(const Part& part) const {
    return part.touched + (part.kind == Length::exact ? limits_.expiry : limits_.form_expiry);
}

bool Uploads::is_idle(const Part& part, Seconds now) const {
    return part.touched + limits_.idle < now;
}

struct Uploads::UnderWay {
    std::uint64_t reserved = 0;  // bytes of all of them
    std::uint64_t missing = 0;   // of those, what did not come yet
    std::uint64_t reserved_of_client = 0;
    std::size_t count = 0;
    std::size_t of_client = 0;
};

Uploads::UnderWay Uploads::count_under_way(std::string_view client, Seconds now) {
    UnderWay all;
    for (const auto& [id, part] : parts_) {
        const std::lock_guard lock(part->mutex);
        // Its bytes are counted with the files by now.
        if (part->is_complete) continue;
        const std::uint64_t missing = is_idle(*part, now) ? 0 : part->length - part->offset;
        ++all.count;
        all.missing += missing;
        all.reserved += part->offset + missing;
        if (part->client != client) continue;
        ++all.of_client;
        all.reserved_of_client += part->offset + missing;
    }
    return all;
}

// Space reserved by others has its place already, also on the disk.
std::uint64_t Uploads::room_beside(const UnderWay& others) const {
    const auto left = [](std::uint64_t all, std::uint64_t taken) {
        return all - std::min(all, taken);
    };
    const std::uint64_t disk = fs::space(folder_).available;
    return std::min(left(limits_.all_bytes_max, file_bytes_ + others.reserved),
                    left(disk, others.missing + limits_.disk_bytes_free_min));
}

std::uint64_t Uploads::room(Seconds now) {
    const std::lock_guard lock(mutex_);
    return room_beside(count_under_way("", now));
}

// Checked here, because files of a form and uploads of the protocol both pass here.
void Uploads::check_rate(std::string_view client, Seconds now) {
    latest_ = std::max(latest_, now);
    if (!rate_.take(client, tiderace::Instant(std::chrono::seconds(latest_)))) return;
    throw Problem{.status = 429, .detail = "too many files at once: send the rest a little later"};
}

// `come`: the bytes that are there of the upload that wants more.
bool Uploads::is_within_share(const UnderWay& all, std::uint64_t come, std::uint64_t wanted,
                              std::string_view client) const {
    const std::uint64_t share = (room_beside(all) + all.reserved) / 2;
    // A single one may have more.
    return client.empty() || all.reserved_of_client <= come ||
           all.reserved_of_client + wanted <= share;
}

void Uploads::check_room(std::uint64_t wanted, std::string_view client, Seconds now) {
    if (wanted > limits_.file_bytes_max) {
        throw Problem{.status = 413,
                      .detail = "a file has at most " + std::to_string(limits_.file_bytes_max) +
                                " bytes here"};
    }
    const UnderWay others = count_under_way(client, now);
    const std::uint64_t room = room_beside(others);
    if (wanted > room) {
        throw Problem{.status = 507, .detail = "there is no room for a file of this size"};
    }
    const bool has_many = !client.empty() && others.of_client >= limits_.unfinished_each_max;
    if (has_many || !is_within_share(others, 0, wanted, client)) throw too_many_of_client();
    // Last: none is given up for a newcomer that is refused.
    if (file_count_ < limits_.files_max && (others.count >= limits_.unfinished_max ||
                                            file_count_ + others.count >= limits_.files_max)) {
        give_up_one(now);
    } else if (file_count_ >= limits_.files_max) {
        throw Problem{.status = 507, .detail = "too many files are here or on their way"};
    }
}

void Uploads::give_up_one(Seconds now) {
    std::map<std::string, std::size_t> of_client;
    for (const auto& [id, part] : parts_) {
        const std::lock_guard lock(part->mutex);
        if (!part->is_complete) ++of_client[part->client];
    }
    // The least of these goes.
    using Order = std::tuple<bool, std::size_t, Seconds>;
    std::shared_ptr<Part> least;
    Order order;
    for (const auto& [id, part] : parts_) {
        const std::lock_guard lock(part->mutex);
        if (part->is_complete || !is_idle(*part, now)) continue;
        const Order own{part->offset > 0, parts_.size() - of_client[part->client], part->touched};
        if (least && own >= order) continue;
        least = part;
        order = own;
    }
    if (!least) throw Problem{.status = 507, .detail = "too many files are here or on their way"};
    parts_.erase(least->id);
    const std::lock_guard lock(least->mutex);
    if (least->is_complete) return;  // it went on meanwhile, and its place is free all the same
    erase(*least);
    if (!log_) return;
    log_("gave up an upload of " + least->client +
         " for another: " + std::to_string(least->offset) + " of " + std::to_string(least->length) +
         " bytes came, none for " + std::to_string(now - least->touched) + " s");
}

// An upload that was idle has no room any more, and goes on only where there is some. `bytes`: how
// many came for it; with none it stays idle, or empty requests would hold its room for ever.
void Uploads::reserve_again(const std::shared_ptr<Part>& part, std::size_t bytes, Seconds now) {
    {
        const std::lock_guard held(part->mutex);
        if (!is_idle(*part, now)) return;
    }
    const std::lock_guard lock(mutex_);
    const UnderWay others = count_under_way(part->client, now);
    const std::lock_guard held(part->mutex);
    const std::uint64_t rest = part->length - part->offset;
    if (rest > room_beside(others)) {
        throw Problem{.status = 507, .detail = "there is no room for the rest of this file"};
    }
    if (!is_within_share(others, part->offset, rest, part->client)) throw too_many_of_client();
    if (bytes > 0) part->touched = now;
}

void Uploads::forget_oldest_finished() {
    auto oldest = parts_.end();
    std::size_t finished = 0;
    for (auto one = parts_.begin(); one != parts_.end(); ++one) {
        const std::lock_guard lock(one->second->mutex);
        if (!one->second->is_complete) continue;
        ++finished;
        if (oldest == parts_.end() || one->second->touched < oldest->second->touched) oldest = one;
    }
    if (finished > limits_.finished_max) parts_.erase(oldest);
}

UploadState Uploads::create(std::string_view name, std::uint64_t length, Length kind,
                            std::string_view client, Seconds now) {
    auto part = std::make_shared<Part>();
    part->id = new_id();
    part->name = safe_name(name);
    part->client = client;
    part->length = length;
    part->kind = kind;
    part->touched = now;
    {
        const std::lock_guard lock(mutex_);
        check_rate(client, now);
        check_room(length, client, now);
        forget_oldest_finished();
        parts_.emplace(part->id, part);  // its room is taken from here on
    }
    try {
        const fs::path path = part_path(part->id);
        const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (made < 0) throw_system(errno, "cannot make", path);
        ::close(made);
        keep(*part);
    } catch (...) {
        remove(part->id);
        throw;
    }
    // No bytes will follow, so no Writer would complete it.
    if (length == 0 && kind == Length::exact) return write(part->id, 0, {}, now)->finish();
    return state_of(*part);
}

std::shared_ptr<Uploads::Part> Uploads::part(std::string_view id) {
    const std::lock_guard lock(mutex_);
    const auto found = parts_.find(id);
    if (found == parts_.end()) throw Problem{.status = 404, .detail = "there is no such upload"};
    return found->second;
}

UploadState Uploads::find(std::string_view id) {
    const std::shared_ptr<Part> found = part(id);
    const std::lock_guard lock(found->mutex);
    return state_of(*found);
}

void Uploads::remove(std::string_view id) {
    std::shared_ptr<Part> found = part(id);
    {
        const std::lock_guard lock(mutex_);
        parts_.erase(found->id);
    }
    const std::lock_guard lock(found->mutex);
    // The file of a complete one has its name by now, and is no part of the upload.
    if (!found->is_complete) erase(*found);
}

void Uploads::sweep(Seconds now) {
    std::vector<std::string> expired;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, part] : parts_) {
            const std::lock_guard held(part->mutex);
            if (expiry_of(*part) < now) expired.push_back(id);
        }
    }
    for (const std::string& id : expired) {
        try {
            remove(id);
        } catch (const Problem&) {  // another thread removed it meanwhile
        }
    }
    count_files();  // people may put files into the folder by hand, or take some out
}

std::shared_ptr<Uploads::Writer> Uploads::write(std::string_view id, std::uint64_t offset,
                                                const Digest& digest, Seconds now) {
    const std::shared_ptr<Part> found = part(id);
    reserve_again(found, 0, now);
    const std::lock_guard lock(found->mutex);
    // Removed between part() and the lock.
    if (found->is_removed) throw Problem{.status = 404, .detail = "there is no such upload"};
    if (offset != found->offset) {
        throw Problem{.status = 409,
                      .detail = "the upload goes on at byte " + std::to_string(found->offset)};
    }
    if (found->is_complete) throw Problem{.status = 409, .detail = "the upload is complete"};
    if (fs::space(folder_).available <
        found->length - found->offset + limits_.disk_bytes_free_min) {
        throw Problem{.status = 507, .detail = "the server's disk is nearly full"};
    }
    found->proven.reset();
    if (digest) found->proven = offset;
    // Before the first byte: load() finds after a crash how many of the bytes count.
    keep(*found);
    const fs::path path = part_path(id);
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) throw_system(errno, "cannot open", path);
    // Before the next step, which may fail: it closes the descriptor.
    auto writer = std::make_shared<Writer>(*this, found, descriptor, digest);
    // Bytes whose digest never came may lie behind what counts.
    if (::ftruncate(descriptor, static_cast<off_t>(offset)) != 0) {
        throw_system(errno, "cannot shorten", path);
    }
    return writer;
}

// It gets the first name that is free, and link() never replaces a file.
void Uploads::complete(Part& part, int descriptor) {
    const fs::path from = part_path(part.id);
    // Before it has its name: a crash must not leave a listed file without its bytes.
    if (::fsync(descriptor) != 0) throw_system(errno, "cannot write", from);
    std::string name = part.name;
    for (unsigned number = 2;; ++number) {
        const fs::path to = folder_ / name;
        if (::link(from.c_str(), to.c_str()) == 0) break;
        if (errno != EEXIST || number > names_tried_max) throw_system(errno, "cannot make", to);
        name = numbered_name(part.name, number);
    }
    // Before the upload is forgotten, so that a crash of the machine leaves one of the two.
    if (const int code = sync_folder(folder_); code != 0) {
        const fs::path to = folder_ / name;
        ::unlink(to.c_str());  // or the next try would take another name
        throw_system(code, "cannot write", to);
    }
    part.name = std::move(name);
    // The length of a form's file is known at its end only.
    part.length = part.offset;
    part.is_complete = true;
    std::error_code gone;
    fs::remove(from, gone);
    fs::remove(record_path(part.id), gone);
    file_bytes_ += part.length;
    ++file_count_;
}

// --- one request's bytes ----------------------------------------------------------------------

Uploads::Writer::Writer(Uploads& uploads, std::shared_ptr<Part> part, int descriptor,
                        const Digest& digest)
    : uploads_(&uploads),
      part_(std::move(part)),
      descriptor_(descriptor),
      number_(++part_->newest_writer),
      at_(part_->offset),
      hash_(digest ? std::optional<ChecksumHash>(*digest) : std::nullopt) {}

Uploads::Writer::~Writer() {
    close_quietly(descriptor_);
}

void Uploads::Writer::add(std::string_view bytes, Seconds now) {
    uploads_->reserve_again(part_, bytes.size(), now);
    const std::lock_guard lock(part_->mutex);
    if (part_->is_removed || number_ != part_->newest_writer) {
        throw Problem{.status = 423, .detail = "another request goes on with this upload"};
    }
    if (bytes.size() > part_->length - at_) {
        throw Problem{.status = 413, .detail = "this is more than was announced"};
    }
    if (hash_) hash_->add(bytes);
    if (!bytes.empty()) part_->touched = now;
    while (!bytes.empty()) {
        const ssize_t written =
            ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at_));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == ENOSPC) {
            throw Problem{.status = 507, .detail = "the server's disk is full"};
        }
        if (written < 0) throw_system(errno, "cannot write", uploads_->part_path(part_->id));
        at_ += static_cast<std::uint64_t>(written);
        bytes.remove_prefix(static_cast<std::size_t>(written));
        // Each piece counts at once: after a lost connection the client goes on behind it. With a
        // digest nothing counts before all of it has been compared.
        if (!hash_) part_->offset = at_;
    }
}

UploadState Uploads::Writer::finish() {
    const std::lock_guard lock(part_->mutex);
    if (part_->is_removed || number_ != part_->newest_writer) {
        throw Problem{.status = 423, .detail = "another request goes on with this upload"};
    }
    if (hash_) {
        if (!hash_->matches()) {
            throw Problem{.status = 460,
                          .title = "Checksum Mismatch",
                          .detail = "the bytes came changed; send them again"};
        }
        part_->offset = at_;
        part_->proven.reset();
        uploads_->keep(*part_);
    }
    if (part_->offset == part_->length || part_->kind == Length::at_most) {
        uploads_->complete(*part_, descriptor_);
    }
    return uploads_->state_of(*part_);
}

// --- files ------------------------------------------------------------------------------------

std::vector<StoredFile> Uploads::files() const {
    std::vector<StoredFile> all;
    for (const fs::directory_entry& entry : entries_of(folder_)) {
        struct stat found{};
        if (!is_listed(entry) || ::stat(entry.path().c_str(), &found) != 0) continue;
        all.push_back({entry.path().filename().string(), static_cast<std::uint64_t>(found.st_size),
                       found.st_mtime});
    }
    std::ranges::sort(all, [](const StoredFile& a, const StoredFile& b) {
        return a.changed != b.changed ? a.changed > b.changed : a.name < b.name;
    });
    return all;
}

void Uploads::remove_file(std::string_view name) {
    const bool is_name = !name.empty() && name.find('/') == name.npos && !name.starts_with('.');
    const fs::path path = folder_ / name;
    const std::lock_guard lock(mutex_);
    // Another program, or another request, may remove it between any two steps.
    std::error_code gone;
    std::error_code fault;
    std::uint64_t bytes = 0;
    bool removed = false;
    if (is_name && is_listed(fs::directory_entry(path, gone))) {
        bytes = fs::file_size(path, fault);
        removed = !fault && fs::remove(path, fault);
    }
    if (fault && fault != std::errc::no_such_file_or_directory) {
        throw_system(fault.value(), "cannot remove", path);
    }
    if (!removed) throw Problem{.status = 404, .detail = "there is no such file"};
    file_bytes_ -= std::min<std::uint64_t>(bytes, file_bytes_);
    if (file_count_ > 0) --file_count_;
}
