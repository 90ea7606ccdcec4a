#include "tiderace/http/files/file_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/files/file_answer.h"
#include "tiderace/http/files/file_watch.h"

namespace tiderace::http::files {
namespace {

// Memory of the table's node, the resolved path and its strings, roughly.
constexpr std::size_t path_overhead_bytes = sizeof(ResolvedPath) + 128;

bool is_missing(const ResolvedPath& path) {
    return path.stands_for == StandsFor::missing || path.stands_for == StandsFor::refused;
}

// A shortage that will pass (descriptors, memory). The cached answer is better than an error.
bool is_exhaustion(const ResolvedPath& path) {
    return path.stands_for == StandsFor::failed &&
           (path.error == EMFILE || path.error == ENFILE || path.error == ENOMEM ||
            path.error == EINTR || path.error == EAGAIN);
}

bool lacks_descriptors(const ResolvedPath& path) {
    return path.stands_for == StandsFor::failed && (path.error == EMFILE || path.error == ENFILE);
}

bool is_same_answer(const ResolvedPath& a, const ResolvedPath& b) {
    return a.stands_for == b.stands_for && a.file.get() == b.file.get() && a.target == b.target;
}

}  // namespace

FileCache::FileCache(PathResolver resolver, const FileCacheLimits& limits,
                     FileCacheCounters* counters)
    : resolver_(std::move(resolver)),
      limits_(limits),
      counters_(counters != nullptr ? counters : &own_) {}

FileCache::~FileCache() {
    // The hooks leave their lists before the lists are destroyed.
    for (auto& [path, resolved] : known_) resolved->unlink();
}

core::Ref<ResolvedPath> FileCache::find(ByteView path, Instant now, UnixSeconds unix_now) {
    ResolvedPath* const found = known(path);
    if (found == nullptr) {
        ++counters_->misses;
        return refresh(path, nullptr, now, unix_now);
    }
    ResolvedPath& known = *found;
    // Bytes in memory stay consistent with their length and tag. An open file may be cut or
    // overwritten at any moment, so it is checked in every turn of the loop. A write between two
    // requests of one turn could as well have come a moment after a check.
    const bool look = known.descriptors != 0 && known.looked_at != now;
    known.looked_at = now;
    const bool changed = look && !descriptors_unchanged(known);
    if (changed || known.expired || now - known.checked >= limits_.revalidate) {
        ++counters_->revalidated;
        return refresh(path, &known, now, unix_now);
    }
    ++counters_->hits;
    touch(known);
    // Held, because warm() may evict it.
    core::Ref<ResolvedPath> held(&known);
    if (known.descriptors != 0) warm(known, now);
    return held;
}

ResolvedPath* FileCache::known(ByteView path) {
    // The path of the last request, which often repeats, is found without a hash.
    if (last_ != nullptr && last_->path.size() == path.size() &&
        std::memcmp(last_->path.data(), path.data(), path.size()) == 0) {
        return last_;
    }
    const auto found = known_.find(path);
    if (found == known_.end()) return nullptr;
    last_ = found->second.get();
    return last_;
}

void FileCache::add_variant(ByteView path, const FileIdentity& of, wire::ContentCoding coding,
                            core::Ref<CachedFile> variant, UnixSeconds unix_now) {
    ResolvedPath* to = known(path);
    // Made in the background: the entry may describe another file by now, or be gone.
    if (to == nullptr || !to->file || to->file->identity() != of || !to->makes.any()) return;
    // One body must not push out half of the cache.
    if (variant->size() > limits_.bytes_max / 2) return;
    // Its size changes, so it is taken out of the counts and added again below.
    uncount(*to);
    to->siblings[static_cast<std::size_t>(coding) - 1] = std::move(variant);
    try {
        render_fields(*to, unix_now);
    } catch (const std::bad_alloc&) {  // the fields are made for each answer then
        for (FieldBlock& block : to->fields) block.clear();
    }
    count(*to);
    evict();
}

bool FileCache::descriptors_unchanged(const ResolvedPath& path) const {
    const auto unchanged = [&](const core::Ref<CachedFile>& file) {
        return !file || file->in_memory() || resolver_.loader().is_unchanged(*file);
    };
    return unchanged(path.file) && std::ranges::all_of(path.siblings, unchanged);
}

// Folders are watched before the disk is read, so that each change is seen by the read, or reported
// after it.
core::Ref<ResolvedPath> FileCache::ask_disk(ByteView path, ResolvedPath* previous,
                                            UnixSeconds unix_now) {
    if (watch_ == nullptr) return resolver_.resolve(path, previous, unix_now);
    watch_->cover(path);
    core::Ref<ResolvedPath> fresh = resolver_.resolve(path, previous, unix_now);
    if (!fresh->file) return fresh;
    bool again = watch_->follow(path);
    for (const wire::ContentCoding coding :
         {wire::ContentCoding::gzip, wire::ContentCoding::zstd, wire::ContentCoding::br}) {
        if (fresh->has_siblings && fresh->sibling(coding)) {
            again |= watch_->follow(path, suffix_of(coding));
        }
    }
    // A folder became watched after the read, which may have missed a change before that.
    return again ? resolver_.resolve(path, fresh.get(), unix_now) : fresh;
}

void FileCache::set_share(std::size_t bytes_max, std::size_t descriptors_max) {
    limits_.bytes_max = bytes_max;
    limits_.descriptors_max = descriptors_max;
    evict();
}

void FileCache::drop_all() {
    counters_->evicted += known_.size();
    for (auto& [path, resolved] : known_) uncount(*resolved);
    last_ = nullptr;
    known_.clear();
}

void FileCache::expire(ByteView path) {
    if (ResolvedPath* const found = known(path)) found->expired = true;
}

void FileCache::expire_beneath(ByteView folder) {
    // "/a" is the redirect to "/a/".
    const ByteView itself = folder.substr(0, folder.size() - 1);
    for (auto& [path, resolved] : known_) {
        if (path.starts_with(folder) || path == itself) resolved->expired = true;
    }
}

void FileCache::expire_missing() {
    missing_.for_each([](ResolvedPath& path) { path.expired = true; });
}

core::Ref<ResolvedPath> FileCache::refresh(ByteView path, ResolvedPath* previous, Instant now,
                                           UnixSeconds unix_now) {
    core::Ref<ResolvedPath> held(previous);
    core::Ref<ResolvedPath> fresh = ask_disk(path, previous, unix_now);
    // Descriptors that only the cache holds are worth less than an answer.
    if (lacks_descriptors(*fresh) && drop_unused_descriptors(previous)) {
        fresh = ask_disk(path, previous, unix_now);
    }
    fresh->checked = now;
    fresh->hits_since = now;
    if (previous != nullptr && is_exhaustion(*fresh)) {
        // Asked again after the next interval, not with each request.
        previous->checked = now;
        return held;
    }
    if (previous != nullptr) {
        if (is_same_answer(*previous, *fresh)) {
            fresh->hits = previous->hits;
            fresh->hits_since = previous->hits_since;
        } else {
            // A new answer, so earlier requests do not make it hot.
            ++counters_->changed;
        }
        forget(*previous);
    }
    // It changed while it was read: good for this request, but not for a later one.
    if (!fresh->stable) return fresh;
    keep(fresh);
    warm(*fresh, now);
    evict();
    return fresh;
}

// Counts a request for a file that is sent from its descriptor. Loads it into memory when it is
// hot, or when it is small and was only not in the page cache before.
void FileCache::warm(ResolvedPath& path, Instant now) {
    const auto may_load = [&](const core::Ref<CachedFile>& file) {
        return file && !file->in_memory() && file->size() <= limits_.memory_file_bytes_max &&
               file->size() <= limits_.bytes_max / 2;
    };
    // The usual case: everything that may be in memory is there.
    if (!may_load(path.file) && std::ranges::none_of(path.siblings, may_load)) return;
    if (now - path.hits_since >= limits_.hot_window) {
        path.hits = 0;
        path.hits_since = now;
    }
    const auto was_cold = [&](const core::Ref<CachedFile>& file) {
        return file && !file->in_memory() && file->size() < limits_.sendfile_bytes_min;
    };
    if (++path.hits < limits_.hot_requests && !was_cold(path.file) &&
        std::ranges::none_of(path.siblings, was_cold)) {
        return;
    }
    path.hits = 0;
    uncount(path);
    const auto load = [&](core::Ref<CachedFile>& file) {
        if (!may_load(file)) return;
        FileLoader::IntoMemory loaded;
        try {
            loaded = resolver_.loader().into_memory(*file);
        } catch (const std::bad_alloc&) {
            return;  // it goes from its descriptor
        }
        if (loaded.file) {
            file = std::move(loaded.file);
        } else if (!loaded.not_now) {
            path.checked = Instant{};  // it changed: read the disk at the next request
        }
    };
    load(path.file);
    for (core::Ref<CachedFile>& sibling : path.siblings) load(sibling);
    count(path);
    evict();
}

//   missing_          names that lead to nothing      limit missing_max
//   with_descriptor_  at least one open file          limit descriptors_max
//   in_memory_        all others                      limit bytes_max, of all three
//
// Each is in the order of use, so each limit evicts from the front of its own list.
IntrusiveList<ResolvedPath>& FileCache::list_of(const ResolvedPath& path) {
    if (is_missing(path)) return missing_;
    return path.descriptors != 0 ? with_descriptor_ : in_memory_;
}

// Moves it to the end of its list: the front is the least recently used.
void FileCache::touch(ResolvedPath& path) {
    path.unlink();
    list_of(path).push_back(path);
}

void FileCache::count(ResolvedPath& path) {
    path.memory_bytes = path_overhead_bytes + path.path.size() + path.target.size();
    path.descriptors = 0;
    const auto add = [&](const core::Ref<CachedFile>& file) {
        if (!file) return;
        path.memory_bytes += sizeof(CachedFile);
        if (file->in_memory()) {
            path.memory_bytes += static_cast<std::size_t>(file->size());
        } else {
            ++path.descriptors;
        }
    };
    add(path.file);
    for (const core::Ref<CachedFile>& sibling : path.siblings) add(sibling);
    bytes_ += path.memory_bytes;
    descriptors_ += path.descriptors;
    missing_count_ += is_missing(path);
    list_of(path).push_back(path);
}

void FileCache::uncount(ResolvedPath& path) {
    path.unlink();
    bytes_ -= path.memory_bytes;
    descriptors_ -= path.descriptors;
    missing_count_ -= is_missing(path);
}

void FileCache::keep(const core::Ref<ResolvedPath>& path) {
    const bool added = known_.emplace(path->path, path).second;
    TR_CHECK(added, "a path is known twice");
    count(*path);
}

void FileCache::forget(ResolvedPath& path) {
    uncount(path);
    if (last_ == &path) last_ = nullptr;
    known_.erase(ByteView(path.path));
}

// Drops descriptors of files that no answer is sending. False: there are none.
// A file that an answer holds keeps its descriptor whatever the cache does, so dropping it frees
// none.
bool FileCache::drop_unused_descriptors(const ResolvedPath* but) {
    const std::size_t before = descriptors_;
    const auto is_unused = [](const core::Ref<CachedFile>& file) {
        return !file || file->in_memory() || file.only_owner();
    };
    with_descriptor_.for_each([&](ResolvedPath& path) {
        if (&path == but || !is_unused(path.file)) return;
        if (!std::ranges::all_of(path.siblings, is_unused)) return;
        const core::Ref<ResolvedPath> held(&path);
        forget(path);
        ++counters_->evicted;
    });
    return descriptors_ < before;
}

void FileCache::evict() {
    const auto drop_first = [&](IntrusiveList<ResolvedPath>& list) {
        const core::Ref<ResolvedPath> oldest(&list.front());
        forget(*oldest);
        ++counters_->evicted;
    };
    // Clients choose the paths: without a bound of their own, made-up names would push real files
    // out.
    while (missing_count_ > limits_.missing_max) drop_first(missing_);
    while (descriptors_ > limits_.descriptors_max) drop_first(with_descriptor_);
    // Files in memory hold most of the bytes; entries with a descriptor are cheap to keep.
    while (bytes_ > limits_.bytes_max) {
        drop_first(!in_memory_.empty()         ? in_memory_
                   : !with_descriptor_.empty() ? with_descriptor_
                                               : missing_);
    }
}

}  // namespace tiderace::http::files
