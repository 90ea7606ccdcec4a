#include "tiderace/http/cgi/cgi.h"

#include <csignal>
#include <utility>

#include "tiderace/http/cgi/cgi_run.h"
#include "tiderace/http/cgi/request_facts.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::http::cgi {
namespace {

constexpr std::size_t places_default = 32;
constexpr std::size_t waiting_default = 256;

// A program that reads no input must not end the server.
void ignore_broken_pipes() {
    struct sigaction now{};
    if (::sigaction(SIGPIPE, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
    now.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &now, nullptr);
}

}  // namespace

Result<std::unique_ptr<Cgi>> Cgi::create(core::EventLoop& loop, CgiOptions options) {
    auto folder = ProgramFolder::open(loop.kernel(), options.folder);
    if (!folder) return fail(folder.error());
    if (options.places == nullptr) {
        options.places = std::make_shared<ProgramPlaces>(places_default, waiting_default);
    }
    ignore_broken_pipes();
    return std::unique_ptr<Cgi>(new Cgi(loop, std::move(options), std::move(*folder)));
}

Cgi::Cgi(core::EventLoop& loop, CgiOptions options, ProgramFolder folder)
    : loop_(&loop),
      options_(std::move(options)),
      folder_(std::move(folder)),
      room_(loop, options_.rules) {}

Cgi::~Cgi() {
    loop_->forget_turn_end(*this);
    for (IntrusiveList<CgiRun>* list : {&runs_, &retired_}) {
        while (!list->empty()) delete &list->pop_front();
    }
}

bool Cgi::answers(ByteView path) const {
    // Below "" are paths: the rest, as "*", is no program's.
    return path.starts_with('/') && wire::is_below(path, options_.prefix);
}

void Cgi::handle(Exchange& exchange) {
    const Request& request = exchange.request();
    if (request.method() == wire::Method::connect) return exchange.respond_status(501);
    if (!answers(request.path)) return exchange.respond_status(404);
    const ByteView path = request.path.substr(options_.prefix.size());
    ProgramFolder::Opened opened = folder_.find(path, options_.arguments_by_ampersand);
    switch (opened.found) {
        case ProgramFolder::Found::missing:
            return exchange.respond_status(404);
        case ProgramFolder::Found::refused:
            return exchange.respond_status(403);
        case ProgramFolder::Found::failed:
            return exchange.respond_status(503);
        case ProgramFolder::Found::program:
            break;
    }
    RequestTexts texts(request, is_authenticated(exchange));
    const std::string script_name = options_.prefix + opened.script;
    const std::string file = folder_.path() + opened.script;
    texts.facts.script_name = script_name;
    texts.facts.script_filename = file;
    texts.facts.path_info = opened.path_info;
    std::string translated;
    if (!options_.document_root.empty() && !opened.path_info.empty()) {
        translated = options_.document_root + opened.path_info;
    }
    texts.facts.path_translated = translated;
    texts.facts.document_root = options_.document_root;
    texts.facts.server_software = options_.server_software;
    wire::cgi::MetaVariables variables = make_meta_variables(texts.facts);
    // Not ours: a program gets nothing of the server's environment.
    variables.add("PATH", "/usr/local/bin:/usr/bin:/bin");

    // "Non-parsed header" scripts write a whole HTTP answer (RFC 3875, 5).
    const bool whole = opened.script.substr(opened.script.rfind('/') + 1).starts_with("nph-");
    auto* run =
        new CgiRun(*this, std::string(path), script_name, std::move(opened), std::move(variables));
    runs_.push_back(*run);
    ++calls_;
    if (whole) run->read_whole_answer();
    run->begin(exchange);
    // Unless it started inside begin(), which has used them; one that waits holds none.
    run->close_files();
}

void Cgi::retire(CgiRun& run) {
    run.unlink();
    retired_.push_back(run);
    --calls_;
    loop_->at_turn_end(*this);
}

void Cgi::on_turn_end() {
    while (!retired_.empty()) delete &retired_.pop_front();
}

}  // namespace tiderace::http::cgi
