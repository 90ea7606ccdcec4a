#include "server/assemble.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>

#include "server/config/keys.h"
#include "server/root_folder.h"
#include "server/terminal.h"
#include "tiderace/core/cpu_count.h"
#include "tiderace/core/startup_memory.h"
#include "tiderace/tls/read_file.h"

namespace tiderace::server {
namespace {

// Requests that wait for a program, of all loops.
constexpr std::size_t programs_waiting_max = 1'024;
// From the default port on.
constexpr std::uint16_t default_ports_tried_max = 20;

}  // namespace

Assembly::~Assembly() {
    tls::set_file_opener({});
}

Result<> Assembly::open() {
    // Before any thread: they inherit the blocked signals.
    serving_.emplace(net::ServingOptions{.drain_timeout = options_.timeouts.drain_or_never(),
                                         .on_sighup =
                                             [this] {
                                                 look_at_files();
                                                 if (reloader_) reloader_->request();
                                             },
                                         .on_sigusr1 = [this] { look_at_files(); },
                                         .on_drain =
                                             [this] {
                                                 if (reloader_) reloader_->stop();
                                             }});
    if (auto taken = serving_->signals(); !taken) return fail(taken.error());
    if (auto raised = core::raise_descriptor_limit()) descriptors_ = *raised;

    // In this order: the helper that stays root is forked before there are threads or open files,
    // and sockets are bound before the processes are split.
    if (auto done = settle(wanted_); !done) return done;
    if (auto done = find_account(); !done) return done;
    if (auto done = find_certificates(options_.tls); !done) return done;
    wanted_.options.tls = options_.tls;
    if (auto done = keep_root_files(); !done) return done;
    if (auto done = open_logs(); !done) return done;
    return open_sockets();
}

Result<> Assembly::prepare() {
    if (auto done = make_loops(); !done) return done;
    if (auto done = make_parts(); !done) return done;
    if (auto done = make_workers(); !done) return done;
    return give_up_root();
}

Result<> Assembly::open_sockets() {
    net::ListeningOptions wanted{.backlog = static_cast<int>(options_.backlog)};
    const auto add = [&](const std::vector<std::string>& addresses, const char* flag) {
        for (const std::string& address : addresses) {
            wanted.addresses.push_back(address);
            wanted.named_by.emplace_back(flag);
        }
    };
    add(options_.listen, "--listen");
    add(options_.tls.https_redirect, "--https-redirect");
    if (options_.listen_is_default) wanted.ports_tried_max = default_ports_tried_max;
    wanted.remove_name = [this](const std::string& path, dev_t device, ino_t inode) {
        if (root_files_ != nullptr) root_files_->remove(path, device, inode);
    };
    const net::SocketName::Remover remover = wanted.remove_name;
    listening_.emplace(std::move(wanted));
    if (auto bound = listening_->bind(); !bound) return bound;
    auto admin = AdminSocket::bind(options_, {}, remover);
    if (!admin) return fail(admin.error());
    admin_bound_ = std::move(*admin);
    return {};
}

std::span<const core::Address> Assembly::addresses() const {
    return std::span(listening_->addresses()).first(options_.listen.size());
}

std::span<const core::Address> Assembly::redirecting() const {
    return std::span(listening_->addresses()).subspan(options_.listen.size());
}

// A Unix socket has no port; a proxy in front of it uses the scheme's default.
std::uint16_t Assembly::encrypted_port(const ServeOptions& options) const {
    if (options.tls.https_port) return static_cast<std::uint16_t>(*options.tls.https_port);
    // Of several addresses the first: a redirect names one port.
    for (const std::string& text : options.listen) {
        const auto bound = listening_->address_of(text);
        const auto address = bound ? bound : core::Address::parse(text).value_or(core::Address());
        if (!address->is_unix()) return address->port();
    }
    return 443;
}

// The process that watches has printed the banner and removes the names of the sockets.
Result<> Assembly::become_one_of_many() {
    listening_->forget_names();
    options_.quiet = true;
    options_.open_browser = false;
    // Each process inherits the sockets, so they share one queue of connections.
    options_.accept = AcceptMode::shared;
    // Through one socket to root's helper, one would get what another has asked for.
    return keep_root_files();
}

Result<> Assembly::find_account() {
    auto account = account_to_become(options_.user.value_or(""), ::geteuid(), ::getegid());
    if (!account) return fail(account.error());
    account_ = std::move(*account);
    return {};
}

// While we are root, and before there is anything that the helper should not inherit.
Result<> Assembly::keep_root_files() {
    if (!account_) return {};
    std::vector<RootFiles::File> files;
    const auto keep = [&](const std::string& path, RootFiles::Use use) {
        if (!path.empty()) files.push_back({path, use});
    };
    for (const CertificateFiles& pair : options_.tls.certificates) {
        for (const std::string* file : {&pair.certificate, &pair.key}) {
            keep(*file, RootFiles::Use::read);
        }
    }
    if (options_.tls.client_ca) keep(*options_.tls.client_ca, RootFiles::Use::read);
    for (const std::string& file : log_files(sites())) keep(file, RootFiles::Use::append);
    keep(options_.admin_socket, RootFiles::Use::remove);
    for (const auto* addresses : {&options_.listen, &options_.tls.https_redirect}) {
        for (const std::string& text : *addresses) {
            const auto address = core::Address::parse(text);
            if (!address || !address->is_unix()) continue;
            keep(std::string(address->path()), RootFiles::Use::remove);
        }
    }
    if (files.empty()) return {};
    auto started = RootFiles::start(std::move(files));
    if (!started) return fail(started.error());
    root_files_ = std::move(*started);
    tls::set_file_opener(
        [this](const std::string& path) { return root_files_->open(path, RootFiles::Use::read); });
    return {};
}

// The last step before there are threads: all that needed root is open.
//
// What the account may read is judged behind it: root may read everything, so any earlier look
// would pass. The helper that stays root ends here where the account may use all files itself: a
// process with root's rights that is not needed is only a risk.
Result<> Assembly::give_up_root() {
    if (!account_) return {};
    if (auto became = become(*account_); !became) return became;
    for (const ServedSite& site : sites()) {
        if (!site.has_files()) continue;
        auto checked = check_readable_folder(site.options.root, *account_);
        if (!checked) return checked;
    }
    for (const std::string& file : log_files(sites())) {
        // Without rotation no file is renamed, and the helper opens the log again.
        if (options_.log_rotate_bytes == 0) break;
        if (auto checked = check_log_folder(file, *account_); !checked) return checked;
    }
    if (root_files_ != nullptr && !root_files_->needed()) {
        tls::set_file_opener({});
        root_files_.reset();
    }
    logger_->info("server",
                  options_.user ? "root rights given up"
                                : "root rights given up; --user chooses another user",
                  log::field("user", account_->name));
    return {};
}

// Each thread that logs has a ring of its own, and so no lock.
Result<> Assembly::open_logs() {
    const auto open = [this](const std::string& path) {
        // Where root's rights are given up, rotation opens the next file through the helper that
        // keeps them.
        if (root_files_ != nullptr) return root_files_->open(path, RootFiles::Use::append);
        return RootFiles::open_directly(path, RootFiles::Use::append);
    };
    log_level_ = options_.log_level;
    logs_.emplace(serve::LogFileOptions{.level = &log_level_,
                                        .flush_interval = options_.log_flush_interval,
                                        .rotate_bytes = options_.log_rotate_bytes,
                                        .files_kept = options_.log_files_kept,
                                        .open = open});
    logger_ = logs_->make_logger();
    for (const std::string& log : access_logs(sites())) {
        if (auto opened = logs_->open(log); !opened) return opened;
    }
    return {};
}

// A certificate of our own making lies in the home of the user that starts the server, so it is
// made, or found, before root is given up; as a file it is reloaded like any other.
Result<> Assembly::find_certificates(TlsOptions& tls) {
    if (!tls.self_signed) return {};
    if (!self_signed_) {
        auto made = tls::self_signed();
        if (!made) return fail(made.error());
        self_signed_ = std::move(*made);
    }
    tls.certificates = {
        {.certificate = self_signed_->certificate_file, .key = self_signed_->key_file}};
    return {};
}

// Checked here, because here we can advise the user: a loop that lacks a descriptor aborts.
Result<> Assembly::check_descriptors(const Wanted& wanted) const {
    const DescriptorNeeds needs = descriptor_needs(wanted);
    const std::size_t needed = descriptors_needed(needs);
    if (descriptors_.after == 0 || descriptors_.after >= needed) return {};
    return fail(Error(
        EMFILE, "start",
        std::to_string(needs.loops) + (needs.loops == 1 ? " loop" : " loops") +
            (needs.folders > 1 ? " of " + std::to_string(needs.folders) + " folders" : ""),
        "this process may open " + std::to_string(descriptors_.after) + " descriptors and needs " +
            std::to_string(needed) + ": raise ulimit -n, or give a smaller --threads"));
}

Result<> Assembly::make_loops() {
    if (plan_.listens_apart) options_.accept = AcceptMode::queue;
    if (auto enough = check_descriptors(wanted_); !enough) return enough;
    core::LoopOptions loop{.engine = options_.engine,
                           .send_bytes_max = options_.limits.send_bytes_max};
    auto loops = plan_.make(loop);
    if (!loops && options_.engine == "io_uring") {
        // A kernel may be too old or its administrator careful; the site is served all the same.
        logger_->warning("server", "using epoll instead: " + loops.error().message());
        loop.engine = options_.engine = "epoll";
        loops = plan_.make(loop);
    }
    if (!loops) return fail(loops.error());
    loops_ = std::move(*loops);
    return {};
}

Result<> Assembly::make_parts() {
    parts_.options = &options_;
    parts_.loops = plan_.count;
    parts_.small = plan_.small;
    // A thread with one connection waits for the disk itself.
    parts_.disk_pool = parts_.small ? nullptr : &disk_pool_;
    // A reading may bring the first of them.
    if (read_ ||
        any_site(sites(), [](const ServeOptions& options) { return Programs::wanted(options); })) {
        parts_.places = std::make_shared<http::cgi::ProgramPlaces>(options_.cgi.programs_max,
                                                                   programs_waiting_max);
    }
    parts_.notices = std::make_shared<core::SharedNotices>();
    // A session that began on one loop is resumed on any.
    parts_.tickets = std::make_shared<tls::TicketShare>();
    if (auto done = open_variants(); !done) return done;
    parts_.logs = &*logs_;
    parts_.metrics_page = metrics_route_;
    pool_.emplace(2, 256);
    const GenerationParts parts = generation_parts(wanted_);
    auto first = make_generation(std::move(wanted_), nullptr, parts);
    if (!first) return fail(first.error());
    parts_.generation = std::move(*first);
    return {};
}

GenerationParts Assembly::generation_parts(const Wanted& wanted) {
    return {.facts = {engine_name(), parts_.loops},
            .password_pool = &*pool_,
            .redirects = !options_.tls.https_redirect.empty() || (read_ && options_.tls.on()),
            .encrypted_port = encrypted_port(wanted.options),
            .shares = share_descriptors(descriptors_.after, descriptor_needs(wanted))};
}

DescriptorNeeds Assembly::descriptor_needs(const Wanted& wanted) const {
    const ServeOptions& options = wanted.options;
    return {.loops = plan_.count,
            .folders = count_folders(wanted.sites),
            .small_loops = plan_.small,
            .path_logs = log_files(wanted.sites).size(),
            .side_servers =
                std::size_t{!options.admin_socket.empty()} + !options.metrics.listen.empty(),
            .redirects = !options.tls.https_redirect.empty(),
            .connections_max = options.connections_max};
}

// The requested number of connections is reduced to what the descriptor limit allows.
void Assembly::warn_of_fewer_connections(const Generation& generation) {
    const std::size_t most = generation.shares.connections_max_of_all;
    if (generation.options.connections_max.value_or(0) <= most) return;
    logger_->warning("server", "fewer --max-connections than requested: raise ulimit -n",
                     log::field("allowed", most));
}

net::Serving::Plan Assembly::bound_connections() {
    warn_of_fewer_connections(*parts_.generation);
    const DescriptorShares& shares = parts_.generation->shares;
    const std::size_t most = shares.connections_max_of_all;
    net::TcpServerOptions site{.connection = connection_limits(options_),
                               .connections_max = shares.connections_max,
                               .refusal = busy_answer()};
    // With a limit of its own: clients that still come to http shall not take the site's
    // connections.
    net::TcpServerOptions redirect = site;
    redirect.connections_max = shares.redirects_max;
    if (!parts_.small) site.room = room_ = std::make_shared<net::ConnectionRoom>(most);
    net::Serving::Plan plan{
        .loops = loops_.get(),
        .listening = &*listening_,
        .spread = {
            .mode = options_.accept,
            .engine = plan_.listening_engine.empty() ? options_.engine : plan_.listening_engine,
            .intake = {.connections_max = most, .refusal = busy_answer()}}};
    plan.of_place.assign(addresses().size(), site);
    // Another reading may have the first address of these.
    const bool may_redirect = parts_.generation->redirects && options_.tls.https_redirect.empty();
    plan.of_place.resize(listening_->addresses().size() + (may_redirect ? 1 : 0), redirect);
    return plan;
}

// On this thread and before any loop runs: a worker that cannot be made is an error of the start,
// and its files are opened with root's rights.
Result<> Assembly::make_workers() {
    const net::Serving::Plan plan = bound_connections();
    const auto prepared = serving_->prepare(
        plan, [&](core::EventLoop& loop) -> Result<std::unique_ptr<net::LoopService>> {
            loop_loggers_.push_back(logs_->make_logger());
            loop.set_log(loop_loggers_.back().get());
            auto worker = Worker::create(loop, parts_, workers_.empty());
            if (!worker) return fail(worker.error());
            workers_.push_back(worker->get());
            return std::move(*worker);
        });
    if (!prepared) return prepared;
    if (!options_.tls.on()) return {};
    for (const std::string& warning : workers_[0]->encryption()->warnings()) {
        logger_->warning("tls", warning);
    }
    return {};
}

// nullptr: they are kept in memory only.
Result<std::shared_ptr<http::files::VariantFiles>> Assembly::open_variant_files(
    const CompressOptions& compress) {
    if (!compress.folder) return nullptr;
    auto opened = http::files::VariantFiles::open(*compress.folder, compress.folder_bytes_max);
    if (!opened) return fail(opened.error());
    return std::move(*opened);
}

// What all loops know of compressed files.
Result<> Assembly::open_variants() {
    const CompressOptions& compress = options_.compress;
    if (!read_ && !any_site(sites(), compresses)) return {};
    // A folder must be the user's own, whom we become only later.
    Result<std::unique_ptr<ActingAs>> acting;
    if (compress.folder && account_) {
        if (auto made = make_folder(*compress.folder, *account_); !made) return made;
        acting = ActingAs::begin(*account_);
        if (!acting) return fail(acting.error());
    }
    auto files = open_variant_files(compress);
    if (!files) return fail(files.error());
    variants_ =
        std::make_unique<http::files::VariantStore>(compress.memory_bytes_max, std::move(*files));
    parts_.variants = variants_.get();
    parts_.compress_pool = &compress_pool_;
    return {};
}

// For "auto", the engine that was chosen.
std::string_view Assembly::engine_name() const {
    if (options_.engine == "auto") return loops_->loop(0).backend().name();
    return options_.engine;
}

// The log's thread comes first, because it alone empties the rings, which drop lines when they are
// full.
Result<> Assembly::run() {
    if (auto started = logs_->writer().start(); !started) return started;
    if (read_) {
        reloader_.emplace(Reloader::Parts{
            .read =
                [this] {
                    return read_.read([this](const std::string& path, RootFiles::Use use) {
                        return opens_as_root(path, use);
                    });
                },
            .has_changed = read_.has_changed,
            .make = [this](
                        Wanted wanted,
                        const Generation& before) { return make_next(std::move(wanted), before); },
            .tidy =
                [this](const Generation& only) { logs_->close_all_but(access_logs(only.sites)); },
            .workers = workers_,
            .now = parts_.generation});
        if (auto done = serve_operators(); !done) return done;
    }
    if (auto started = serving_->start(); !started) return started;
    // Once connections are accepted: the address that is printed can be opened at once.
    announce(loops_->size());
    if (plan_.on_serving) plan_.on_serving();
    parts_.generation.reset();  // its trees keep it for as long as it is served
    core::give_back_startup_memory();
    log_counters(serving_->serve());
    reloader_.reset();
    serving_->end();
    admin_.reset();
    metrics_route_->show(nullptr, nullptr);
    metrics_.reset();
    workers_.clear();
    pool_.reset();  // its tasks end with a post to a loop
    loops_.reset();
    logs_->writer().stop();
    return {};
}

Result<> Assembly::serve_operators() {
    metrics_.emplace(MetricsPage::Parts{workers_, &*reloader_, &*parts_.metrics, &logs_->writer(),
                                        std::string(engine_name())});
    metrics_route_->show(&*metrics_, &workers_.front()->loop());
    const auto page = MetricsPage::bind(options_.metrics);
    if (!page) return fail(page.error());
    if (auto listens = MetricsPage::listen(**page); !listens) return listens;
    metrics_->take(**page);
    admin_.emplace(AdminSocket::Parts{workers_, &*listening_, &*reloader_, &*metrics_});
    parts_.admin = &*admin_;
    if (auto listens = admin_->listen(*admin_bound_); !listens) return listens;
    admin_->take(std::move(admin_bound_));
    return {};
}

// What the connections came to, so that an operator sees whether peers were cut off, and why.
void Assembly::log_counters(const net::ServingReport& ended) const {
    // The first loop, whose thread has ended, has logged that it stops. Only lines of one ring keep
    // their order: from the main thread's ring, these would often come out first.
    log::Logger& logger = *loop_loggers_.front();
    if (ended.cut_off > 0) {
        logger.warning("server", "connections were cut off before they were done",
                       log::field("count", ended.cut_off));
    }
    logger.info("server", "stopped", log::field("connections", ended.opened),
                log::field("refused", ended.refused), log::field("closed", ended.reasons()));
}

// SIGHUP and SIGUSR1, on the first loop. The log's file is reopened by the writer's thread, and
// each loop reads the certificates itself: a context belongs to its loop.
void Assembly::look_at_files() {
    logs_->writer().reopen();
    for (Worker* worker : workers_) {
        if (worker->encryption() == nullptr) continue;
        worker->loop().post([worker] { worker->encryption()->reload_if_changed(); });
    }
}

Result<> Assembly::serve(Loops loops) {
    plan_ = std::move(loops);
    if (auto done = prepare(); !done) return done;
    return run();
}

int serve(Wanted wanted, ReadAgain read) {
    const std::size_t threads = wanted.options.threads;
    const std::size_t count = threads > 0 ? threads : core::count_cpus().usable;
    const bool is_of_file = static_cast<bool>(read);
    const auto assemble = [&]() -> Result<int> {
        Assembly assembly(std::move(wanted), std::move(read));
        if (auto opened = assembly.open(); !opened) return fail(opened.error());
        auto served = assembly.serve({.count = count, .make = [=](const core::LoopOptions& each) {
                                          return net::LoopGroup::create(count, each);
                                      }});
        if (!served) return fail(served.error());
        return 0;
    };
    return report(assemble, is_of_file);
}

int report(const std::function<Result<int>()>& assemble, bool is_of_file) {
    Result<int> status = 1;
    try {
        status = assemble();
    } catch (const std::bad_alloc&) {
        status = fail(Error(ENOMEM, "start", "the server"));
    }
    if (status) return *status;
    const std::string fault = status.error().message();
    complain("tiderace", is_of_file ? config::in_words_of_the_file(fault) : fault);
    return 1;
}

}  // namespace tiderace::server
