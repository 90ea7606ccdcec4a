#include "tiderace/http/files/path_resolver.h"

#include <algorithm>
#include <utility>

#include "tiderace/http/files/file_answer.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/route/regex.h"
#include "tiderace/http/wire/cache_control.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::http::files {
namespace {

using wire::ContentCoding;

// Times of change are ticks of some milliseconds on most file systems: a second change within one
// tick does not show. A file that changed this recently is read again at the next check.
constexpr UnixSeconds settled_after_s = 2;

bool is_settled(const FileIdentity& identity, UnixSeconds now) {
    return identity.changed + settled_after_s < now;
}

void set_failed(ResolvedPath& to, int error) {
    to.stands_for = StandsFor::failed;
    to.error = error;
    to.stable = false;
}

}  // namespace

ByteView suffix_of(ContentCoding coding) {
    switch (coding) {
        case ContentCoding::br:
            return ".br";
        case ContentCoding::zstd:
            return ".zst";
        case ContentCoding::gzip:
            return ".gz";
        case ContentCoding::identity:
            break;
    }
    return "";
}

PathResolver::PathResolver(FileLoader loader, PathRules rules, std::uint64_t sendfile_bytes_min)
    : loader_(loader), rules_(std::move(rules)), sendfile_bytes_min_(sendfile_bytes_min) {}

core::Ref<ResolvedPath> PathResolver::resolve(ByteView path, const ResolvedPath* previous,
                                              UnixSeconds now) const {
    auto resolved = core::make_ref<ResolvedPath>();
    resolved->path = path;
    // Not even opened: for clients a hidden name does not exist.
    if (!rules_.hidden && wire::has_hidden_segment(path)) return resolved;
    if (!is_sent(path)) return resolved;
    FileLoader::Opened opened = loader_.open(path);
    switch (opened.found) {
        case Found::file:
            resolve_file(*resolved, std::move(opened), previous, now);
            break;
        case Found::directory:
            resolve_directory(*resolved);
            break;
        case Found::missing:
            resolve_page(*resolved);
            break;
        case Found::refused:
            resolved->stands_for = StandsFor::refused;
            break;
        case Found::failed:
            set_failed(*resolved, opened.error);
            break;
    }
    return resolved;
}

void PathResolver::resolve_file(ResolvedPath& to, FileLoader::Opened&& opened,
                                const ResolvedPath* previous, UnixSeconds now) const {
    const CachedFile* known = previous != nullptr ? previous->file.get() : nullptr;
    // An unsettled file may have changed within the tick of its identity, so it is read again.
    if (previous != nullptr && !previous->settled) known = nullptr;
    FileLoader::Loaded loaded = take(to, std::move(opened), known, now);
    if (!loaded.file) return set_failed(to, loaded.error);
    to.stands_for = StandsFor::file;
    to.file = std::move(loaded.file);
    to.content_type = rules_.mime.type_of(to.path);
    to.cache_control = cache_control_of(to.path);
    if (wire::is_stored_as_gzip(to.path, to.content_type)) {
        to.stored = ContentCoding::gzip;
    } else {
        if (rules_.precompressed) resolve_siblings(to, previous, now);
        decide_compression(to, previous);
    }
    render_fields(to, now);
}

void PathResolver::resolve_siblings(ResolvedPath& to, const ResolvedPath* previous,
                                    UnixSeconds now) const {
    for (const ContentCoding coding :
         {ContentCoding::gzip, ContentCoding::zstd, ContentCoding::br}) {
        const auto index = static_cast<std::size_t>(coding) - 1;
        FileLoader::Opened opened = loader_.open(to.path, suffix_of(coding));
        // A sibling that cannot be opened now is treated as absent, and the file itself is sent;
        // but that is not remembered.
        if (opened.found == Found::failed) to.stable = false;
        if (opened.found != Found::file) continue;
        const CachedFile* known =
            previous != nullptr && previous->settled ? previous->siblings[index].get() : nullptr;
        FileLoader::Loaded loaded = take(to, std::move(opened), known, now);
        if (!loaded.file) to.stable = false;
        to.has_siblings |= static_cast<bool>(loaded.file);
        to.siblings[index] = std::move(loaded.file);
    }
}

// Precompressed siblings win over compression on the fly.
void PathResolver::decide_compression(ResolvedPath& to, const ResolvedPath* previous) const {
    to.varies = to.has_siblings;
    const CompressRules& rules = rules_.compress;
    const std::uint64_t bytes = to.file->size();
    if (to.has_siblings || bytes < rules.bytes_min || bytes > rules.bytes_max ||
        !wire::compressible(to.content_type) || wire::forbids_transform(to.cache_control)) {
        return;
    }
    to.makes = rules.codings_of ? rules.codings_of(to.path) : rules.codings;
    if (!to.makes.any()) return;
    to.varies = true;
    // The same file object: it has not changed since these variants were made of it.
    if (previous == nullptr || previous->file.get() != to.file.get() || previous->has_siblings) {
        return;
    }
    to.siblings = previous->siblings;
    to.declined = previous->declined;
}

FileLoader::Loaded PathResolver::take(ResolvedPath& to, FileLoader::Opened&& opened,
                                      const CachedFile* known, UnixSeconds now) const {
    FileLoader::Loaded loaded;
    // Unchanged: the object is kept, and with it its bytes, its descriptor and its variants.
    if (known != nullptr && known->identity() == opened.identity) {
        // Refs count inside their object, so one can be made from the bare object.
        loaded.file = core::Ref<CachedFile>(const_cast<CachedFile*>(known));
        return loaded;
    }
    const bool eager = opened.identity.bytes < sendfile_bytes_min_;
    to.settled &= is_settled(opened.identity, now);
    loaded = loader_.load(std::move(opened), eager);
    to.stable &= loaded.stable;
    return loaded;
}

void PathResolver::resolve_directory(ResolvedPath& to) const {
    // Relative links in a folder's page need the final slash.
    if (!to.path.ends_with('/')) {
        to.stands_for = StandsFor::redirect;
        // Site generators put the pages of a section into a folder beside its page.
        return resolve_page(to);
    }
    to.stands_for = StandsFor::directory;
    for (const std::string& name : rules_.index) {
        if (!is_sent(to.path + name)) continue;
        const FileLoader::Opened opened = loader_.open(to.path, name);
        // Without this a passing failure would show a listing in place of the page.
        if (opened.found == Found::failed) return set_failed(to, opened.error);
        if (opened.found != Found::file) continue;
        to.stands_for = StandsFor::alias;
        to.target = to.path + name;
        return;
    }
}

// Without such a page, `to` stays as it is.
void PathResolver::resolve_page(ResolvedPath& to) const {
    // "/about/" is a folder's name, not a page's.
    if (!rules_.clean_urls || to.path.ends_with('/')) return;
    constexpr ByteView suffix = ".html";
    if (!is_sent(to.path + std::string(suffix))) return;
    const FileLoader::Opened opened = loader_.open(to.path, suffix);
    if (opened.found == Found::failed) return set_failed(to, opened.error);
    if (opened.found != Found::file) return;
    to.stands_for = StandsFor::alias;
    to.target = to.path + std::string(suffix);
}

bool PathResolver::is_sent(ByteView path) const {
    const auto holds_from_outside = [&](const std::string& unsent) {
        return !rules_.unsent_from.empty() && route::is_glob(unsent) && unsent.contains('/') &&
               !unsent.starts_with('=') &&
               route::holds_at(unsent, rules_.unsent_from + std::string(path));
    };
    return std::ranges::none_of(rules_.unsent, [&](const std::string& unsent) {
        return route::holds_at(unsent, path) || holds_from_outside(unsent);
    });
}

ByteView PathResolver::cache_control_of(ByteView path) const {
    for (const CacheControlRule& rule : rules_.cache_control) {
        const bool holds = rule.regex != nullptr
                               ? rule.regex->match(path) == route::Regex::Answer::yes
                               : route::matches_glob(rule.pattern, path);
        if (holds) return rule.value;
    }
    return {};
}

}  // namespace tiderace::http::files
