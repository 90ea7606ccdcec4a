#include "tiderace/http/handler/static_files.h"

#include <cerrno>
#include <new>
#include <utility>

#include "tiderace/http/files/file_answer.h"
#include "tiderace/http/listing/listing.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/percent.h"
#include "tiderace/log/logger.h"

namespace tiderace::http::handler {
namespace {

using wire::FieldName;
using wire::Method;

constexpr ByteView allowed_methods = "GET, HEAD, OPTIONS";

void answer_other_method(Exchange& exchange) {
    const Method method = exchange.request().method();
    // An unregistered method is not implemented (501); a registered one is not allowed here (405).
    if (method == Method::other) return exchange.respond_status(501);
    Response response(method == Method::options ? 204 : 405);
    response.add(FieldName::allow, allowed_methods);
    exchange.respond(response);
}

bool has_extension(ByteView path) {
    return path.substr(path.rfind('/') + 1).find('.') != ByteView::npos;
}

}  // namespace

Result<std::unique_ptr<StaticFiles>> StaticFiles::create(core::EventLoop& loop,
                                                         StaticFilesOptions options) {
    auto root = files::RootDirectory::open(loop.kernel(), options.root);
    if (!root) return fail(root.error());
    return std::unique_ptr<StaticFiles>(
        new StaticFiles(loop, std::move(*root), std::move(options)));
}

StaticFiles::StaticFiles(core::EventLoop& loop, files::RootDirectory root,
                         StaticFilesOptions options)
    : loop_(&loop),
      root_(std::move(root)),
      root_looked_at_(loop.now()),
      options_(std::move(options)),
      room_(core::make_ref<files::FileBudget>(options_.cache.room)),
      cache_(files::PathResolver(
                 files::FileLoader(loop.kernel(), root_.descriptor(), options_.links, room_.get()),
                 options_.paths, options_.cache.sendfile_bytes_min),
             options_.cache, options_.cache_counters),
      disk_(loop, options_.pool),
      listings_(std::make_shared<listing::ListingRoom>(options_.listings)) {
    if (options_.watch.on && options_.cache.revalidate > Duration::zero()) {
        watch_.emplace(loop, cache_, options_.root, options_.links, options_.cache.revalidate,
                       options_.watch);
        cache_.set_watch(&*watch_);
        compare_root();  // it was opened before it was watched
    }
    if (options_.variants == nullptr || options_.compress_pool == nullptr) return;
    variants_.emplace(loop, cache_, *options_.variants, *options_.compress_pool);
}

void StaticFiles::compare_root() {
    root_looked_at_ = loop_->now();
    bool is_watched_anew = true;
    // Once more behind new watches, which do not report what changed before them.
    while (is_watched_anew) {
        const bool replaced = root_.follow();
        if (replaced) cache_.expire_all();
        is_watched_anew = watch_ && watch_->root_was_compared(replaced);
    }
}

core::Ref<files::ResolvedPath> StaticFiles::resolve(ByteView path) {
    follow_root();
    core::Ref<files::ResolvedPath> resolved = cache_.find(path, loop_->now(), loop_->unix_now());
    if (resolved->stands_for != files::StandsFor::alias) return resolved;
    return cache_.find(resolved->target, loop_->now(), loop_->unix_now());
}

// When memory runs out, the cache is dropped and the request is tried once more.
void StaticFiles::handle_as(Exchange& exchange, ByteView path) {
    // Twice: after drop_caches() there is nothing left to give.
    for (int attempts = 0; attempts < 2; ++attempts) {
        try {
            return answer(exchange, path);
        } catch (const std::bad_alloc&) {
            if (exchange.responded()) throw;  // it cannot be answered twice
            drop_caches();
        }
    }
    files::answer_fault(exchange, ENOMEM);
}

void StaticFiles::drop_caches() {
    cache_.drop_all();
    if (options_.variants != nullptr) options_.variants->drop_all();
    log::Logger* const log = loop_->log();
    if (log == nullptr) return;
    if (const auto left_out = log->may_log(log::Often::out_of_memory)) {
        log->warning("files", "out of memory: the file cache was dropped",
                     log::field("more_before", *left_out));
    }
}

void StaticFiles::begin(const Request& request) {
    room_->set_asker(request.connection);
    if (watch_) watch_->catch_up(request.connection);
}

files::StandsFor StaticFiles::look(Exchange& exchange, ByteView path) {
    begin(exchange.request());
    follow_root();
    return cache_.find(path, loop_->now(), loop_->unix_now())->stands_for;
}

void StaticFiles::answer(Exchange& exchange, ByteView path) {
    const Request& request = exchange.request();
    if (!request.is_get_or_head()) return answer_other_method(exchange);
    begin(request);
    const core::Ref<files::ResolvedPath> resolved = resolve(path);
    switch (resolved->stands_for) {
        case files::StandsFor::file:
            return files::answer_file(exchange, *resolved, options_.small_copy_bytes_max, disk_,
                                      variants());
        case files::StandsFor::directory:
            return answer_directory(exchange, path);
        case files::StandsFor::redirect:
            return redirect_to_slash(exchange);
        case files::StandsFor::refused:
            return exchange.respond_status(403);
        case files::StandsFor::failed:
            return files::answer_fault(exchange, resolved->error);
        case files::StandsFor::alias:  // what it led to was replaced between two looks
        case files::StandsFor::missing:
            return answer_missing(exchange);
    }
}

void StaticFiles::handle_only_beneath(ByteView folder, Exchange& exchange) {
    const Request& request = exchange.request();
    if (!request.is_get_or_head()) return answer_other_method(exchange);
    TR_CHECK(folder.ends_with('/') && request.path.starts_with(folder));
    begin(request);
    if (wire::has_hidden_segment(request.path)) return exchange.respond_status(404);
    follow_root();
    const files::FileLoader::Opened directory = cache_.loader().open(folder);
    if (directory.found == files::Found::failed)
        return files::answer_fault(exchange, directory.error);
    if (directory.found != files::Found::directory) return exchange.respond_status(404);
    // Past the cache, which knows paths beneath the root only: here no link may leave the folder.
    const files::FileLoader loader = cache_.loader().beneath(directory.descriptor.get());
    files::FileLoader::Opened opened = loader.open(request.path.substr(folder.size() - 1));
    if (opened.found == files::Found::failed) return files::answer_fault(exchange, opened.error);
    if (opened.found != files::Found::file) return exchange.respond_status(404);
    files::answer_opened(exchange, loader, std::move(opened),
                         {.name = request.path,
                          .content_type = options_.paths.mime.type_of(request.path),
                          .sendfile_bytes_min = options_.cache.sendfile_bytes_min,
                          .small_copy_bytes_max = options_.small_copy_bytes_max},
                         disk_);
}

void StaticFiles::answer_missing(Exchange& exchange) {
    const Request& request = exchange.request();
    // An absent script or picture stays a 404: the page in its place would hide the fault.
    const bool asks_for_page =
        !has_extension(request.path) ||
        request.header(FieldName::accept).find("text/html") != ByteView::npos;
    if (!options_.spa.empty() && asks_for_page) {
        const core::Ref<files::ResolvedPath> page = resolve(options_.spa);
        if (page->stands_for == files::StandsFor::file) {
            return files::answer_file(exchange, *page, options_.small_copy_bytes_max, disk_,
                                      variants());
        }
    }
    exchange.respond_status(404);
}

void StaticFiles::answer_directory(Exchange& exchange, ByteView path) {
    if (!options_.listing) return answer_missing(exchange);
    listing::answer_listing(exchange, cache_.loader(),
                            {.path = path, .hidden = options_.paths.hidden, .room = listings_},
                            disk_.jobs());
}

void StaticFiles::redirect_to_slash(Exchange& exchange) const {
    // The canonical path begins with exactly one slash, so this can never be read as "//host".
    const Request& request = exchange.request();
    std::string location(request.path.size() * 3 + request.query.size() + 2, '\0');
    wire::BoundedText text(location);
    bool fits = wire::append_path(text, request.path) && text.append('/');
    if (request.has_query) fits = fits && text.append('?') && text.append(request.query);
    TR_CHECK(fits, "an escape is three bytes at most");
    Response response(301);
    response.add(FieldName::location, text.view());
    exchange.respond(response);
}

}  // namespace tiderace::http::handler
