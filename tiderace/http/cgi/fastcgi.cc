#include "tiderace/http/cgi/fastcgi.h"

#include <algorithm>
#include <utility>

#include "tiderace/http/cgi/fastcgi_peer.h"
#include "tiderace/http/cgi/request_facts.h"
#include "tiderace/http/files/glob.h"

namespace tiderace::http::cgi {
namespace {

bool is_glob(ByteView pattern) {
    return pattern.find_first_of("*?") != ByteView::npos;
}

}  // namespace

Result<std::unique_ptr<FastCgi>> FastCgi::create(core::EventLoop& loop, FastCgiOptions options) {
    while (options.pattern.size() > 0 && !is_glob(options.pattern) &&
           options.pattern.ends_with('/')) {
        options.pattern.pop_back();
    }
    std::optional<ProgramFolder> folder;
    if (!options.root.empty() || is_glob(options.pattern)) {
        auto opened = ProgramFolder::open(loop.kernel(), options.root);
        if (!opened) return fail(opened.error());
        folder.emplace(std::move(*opened));
    }
    return std::unique_ptr<FastCgi>(new FastCgi(loop, std::move(options), std::move(folder)));
}

FastCgi::FastCgi(core::EventLoop& loop, FastCgiOptions options, std::optional<ProgramFolder> folder)
    : loop_(&loop), options_(std::move(options)), folder_(std::move(folder)) {
    has_index_ = !is_path() && std::ranges::any_of(options_.index, [this](const auto& name) {
        return is_script("/" + name);
    });
    room_.rules = options_.rules;
    peer_ = std::make_unique<FastCgiPeer>(loop, options_);
    if (options_.local == nullptr) return;
    local_ = std::make_unique<Site>(*options_.local);
    if (options_.local_access != nullptr) local_->add(*options_.local_access);
    room_.local = local_.get();
}

FastCgi::~FastCgi() {
    peer_.reset();
    loop_->forget_turn_end(*this);
    for (IntrusiveList<FastCgiCall>* list : {&calls_, &retired_}) {
        while (!list->empty()) delete &list->pop_front();
    }
}

bool FastCgi::is_path() const {
    return !is_glob(options_.pattern);
}

bool FastCgi::is_script(ByteView path) const {
    return files::matches_glob(options_.pattern, path);
}

// The name that stands for a folder, if it is one of ours: the first that is there.
std::optional<std::string> FastCgi::index_of(ByteView folder) const {
    if (!has_index_ || !folder.ends_with('/')) return std::nullopt;
    for (const std::string& name : options_.index) {
        std::string file = std::string(folder) + name;
        if (!folder_->has_file(file)) continue;
        return is_script(file) ? std::optional(std::move(file)) : std::nullopt;
    }
    return std::nullopt;
}

std::optional<FastCgi::Script> FastCgi::find(ByteView path) const {
    if (is_path()) {
        const std::string& prefix = options_.pattern;
        const bool below = path.starts_with(prefix) &&
                           (path.size() == prefix.size() || path[prefix.size()] == '/');
        if (!below) return std::nullopt;
        return Script{prefix, std::string(path.substr(prefix.size()))};
    }
    // The shortest front that is a script; what follows it is PATH_INFO (RFC 3875, 4.1.5).
    for (std::size_t end = 0; end < path.size();) {
        end = std::min(path.find('/', end + 1), path.size());
        const ByteView front = path.substr(0, end);
        if (front.size() > 1 && is_script(front)) {
            return Script{std::string(front), std::string(path.substr(end))};
        }
    }
    if (auto index = index_of(path)) return Script{std::move(*index), {}};
    return std::nullopt;
}

bool FastCgi::answers(ByteView path) const {
    return find(path).has_value();
}

void FastCgi::handle(Exchange& exchange) {
    const Request& request = exchange.request();
    if (request.method() == wire::Method::connect) return exchange.respond_status(501);
    const std::optional<Script> script = find(request.path);
    // The peer is not asked for a script that is not there: it might run another file for it.
    if (!script || (!is_path() && !known_.has(*folder_, script->name, loop_->now()))) {
        return exchange.respond_status(404);
    }
    RequestTexts texts(request, options_.server_authenticates != nullptr &&
                                    options_.server_authenticates(request.path));
    std::string file, translated;
    if (folder_) {
        file = folder_->path() + script->name;
        if (!script->path_info.empty()) translated = folder_->path() + script->path_info;
        texts.facts.document_root = folder_->path();
    }
    texts.facts.script_name = script->name;
    texts.facts.script_filename = file;
    texts.facts.path_info = script->path_info;
    texts.facts.path_translated = translated;
    texts.facts.server_software = options_.server_software;
    auto* call = new FastCgiCall(*this, script->name);
    calls_.push_back(*call);
    call->begin(exchange, make_meta_variables(texts.facts));
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
