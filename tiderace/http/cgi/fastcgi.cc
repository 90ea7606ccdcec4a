#include "tiderace/http/cgi/fastcgi.h"

#include <algorithm>
#include <utility>

#include "tiderace/http/cgi/fastcgi_peer.h"
#include "tiderace/http/cgi/request_facts.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::http::cgi {

Result<std::unique_ptr<FastCgi>> FastCgi::create(core::EventLoop& loop, FastCgiOptions options) {
    // "/app/" means all below /app, and "/" everything.
    while (options.pattern.size() > 0 && !route::is_glob(options.pattern) &&
           options.pattern.ends_with('/')) {
        options.pattern.pop_back();
    }
    std::optional<ProgramFolder> folder;
    // What a glob matches is the name of a file; a path may be all that the peer knows.
    if (!options.root.empty() || route::is_glob(options.pattern)) {
        auto opened = ProgramFolder::open(loop.kernel(), options.root);
        if (!opened) return fail(opened.error());
        folder.emplace(std::move(*opened));
    }
    return std::unique_ptr<FastCgi>(new FastCgi(loop, std::move(options), std::move(folder)));
}

FastCgi::FastCgi(core::EventLoop& loop, FastCgiOptions options, std::optional<ProgramFolder> folder)
    : loop_(&loop),
      options_(std::move(options)),
      folder_(std::move(folder)),
      room_(loop, options_.rules) {
    peer_ = std::make_unique<FastCgiPeer>(loop, options_);
}

FastCgi::~FastCgi() {
    peer_.reset();
    loop_->forget_turn_end(*this);
    for (IntrusiveList<FastCgiCall>* list : {&calls_, &retired_}) {
        while (!list->empty()) delete &list->pop_front();
    }
}

bool FastCgi::is_path() const {
    return !route::is_glob(options_.pattern);
}

bool FastCgi::is_script(ByteView path) const {
    return route::matches_glob(options_.pattern, path);
}

// The name that stands for a folder, if it is one of ours: the first that is there.
std::optional<std::string> FastCgi::index_of(ByteView folder, std::span<const std::string> names) {
    if (is_path() || !folder.ends_with('/')) return std::nullopt;
    // Most handlers have none, and then no request for a folder looks for files. A pattern of a
    // folder's scripts has an index there alone.
    const ByteView pattern = options_.pattern;
    const ByteView own = pattern.substr(pattern.rfind('/') + 1);
    const auto is_own = [&](const auto& name) { return route::matches_text(own, name); };
    if (std::ranges::none_of(names, is_own)) return std::nullopt;
    for (const std::string& name : names) {
        std::string file = std::string(folder) + name;
        if (!is_script(file)) {
            // Looked for each time: one that is put there is found at once.
            if (folder_->has_file(file)) return std::nullopt;
        } else if (known_.has(*folder_, file, loop_->now())) {
            return file;
        }
    }
    return std::nullopt;
}

std::optional<ByteView> FastCgi::script_in(ByteView path) const {
    if (is_path()) {
        const std::string& prefix = options_.pattern;
        return wire::is_below(path, prefix) ? std::optional<ByteView>(prefix) : std::nullopt;
    }
    // The shortest front that is a script; what follows it is PATH_INFO (RFC 3875, 4.1.5).
    for (std::size_t end = 0; end < path.size();) {
        end = std::min(path.find('/', end + 1), path.size());
        const ByteView front = path.substr(0, end);
        if (front.size() > 1 && is_script(front)) return front;
    }
    return std::nullopt;
}

void FastCgi::handle(Exchange& exchange) {
    if (!handle_as(exchange, exchange.request().path, options_.index)) exchange.respond_status(404);
}

bool FastCgi::handle_as(Exchange& exchange, ByteView path,
                        std::span<const std::string> index_names) {
    const std::optional<ByteView> front = script_in(path);
    const std::optional<std::string> index = front ? std::nullopt : index_of(path, index_names);
    if (!front && !index) return false;
    run(exchange, front ? *front : ByteView(*index));
    return true;
}

void FastCgi::run(Exchange& exchange, ByteView script) {
    if (exchange.request().method() == wire::Method::connect) {
        return exchange.respond_status(501);
    }
    // The peer gets no request for a missing script: it might run another file for it.
    if (!is_path() && !known_.has(*folder_, script, loop_->now())) {
        return exchange.respond_status(404);
    }
    auto* call = new FastCgiCall(*this, script);
    calls_.push_back(*call);
    call->begin(exchange);
}

// When it is sent, not before: a request that waits holds no copy of its variables.
ByteView FastCgi::begin_request(const Exchange& exchange, ByteView script, std::uint16_t id,
                                std::optional<std::uint64_t> content_length) {
    const Request& request = exchange.request();
    RequestTexts texts(request, is_authenticated(exchange));
    wire::cgi::RequestFacts& facts = texts.facts;
    facts.script_name = script;
    // An index is longer than the path of its folder, which has no PATH_INFO.
    if (request.path.starts_with(script)) facts.path_info = request.path.substr(script.size());
    if (folder_) {
        facts.document_root = folder_->path();
        facts.script_filename = file_.assign(folder_->path()).append(script);
        if (!facts.path_info.empty()) {
            facts.path_translated = translated_.assign(folder_->path()).append(facts.path_info);
        }
    }
    facts.server_software = options_.server_software;
    facts.content_length = content_length;
    params_.begin(id);
    add_meta_variables(params_, facts);
    return params_.end(content_length.value_or(0) > 0 ? wire::cgi::FcgiParams::Input::follows
                                                      : wire::cgi::FcgiParams::Input::empty);
}

void FastCgi::retire(FastCgiCall& call) {
    call.unlink();
    retired_.push_back(call);
    loop_->at_turn_end(*this);
}

void FastCgi::on_turn_end() {
    while (!retired_.empty()) delete &retired_.pop_front();
}

}  // namespace tiderace::http::cgi
