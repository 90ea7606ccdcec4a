#include "server/config/config.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "server/command_line/tls_flags.h"
#include "server/config/observe_reader.h"
#include "server/config/site_reader.h"
#include "server/config/table_reader.h"
#include "server/site/fixed_answer.h"
#include "tiderace/core/address.h"
#include "tiderace/http/request_metrics.h"
#include "tiderace/net/listening.h"

namespace tiderace::server::config {
namespace {

// The pairs of a folder, by their names: NAME.pem and NAME.key, or what ACME clients write into
// NAME.
std::vector<CertificateFiles> certificates_in(const std::string& folder) {
    std::vector<CertificateFiles> found;
    std::error_code fault;
    for (const auto& entry : std::filesystem::directory_iterator(folder, fault)) {
        const std::filesystem::path& path = entry.path();
        if (path.filename().string().starts_with('.')) continue;
        std::error_code none;
        if (path.extension() == ".pem") {
            found.push_back({path, std::filesystem::path(path).replace_extension(".key")});
        } else if (std::filesystem::exists(path / "fullchain.pem", none)) {
            found.push_back({path / "fullchain.pem", path / "privkey.pem"});
        }
    }
    std::ranges::sort(found, {}, &CertificateFiles::certificate);
    return found;
}

// The tables that hold for all sites.
class ServerReader {
  public:
    ServerReader(const Reading& reading, ServeOptions& server)
        : reading_(reading), server_(&server) {}

    void read(const Table& top) {
        if (const Table* const table = part(top, "server")) read_server(*table);
        if (const Table* const table = part(top, "log")) {
            read_table(TableKind::log, *table, *server_, reading_, [&](const Member& member) {
                return read_log_key(member, *server_, reading_);
            });
            check_log(*table, *server_, reading_);
        }
        read_plain(top, "limits", TableKind::limits);
        read_plain(top, "cgi", TableKind::cgi);
        if (const Table* const table = part(top, "mime")) read_mime(*table);
        if (const Table* const table = part(top, "admin")) {
            read_admin(*table, top.find("admin")->at);
        }
        if (const Table* const table = part(top, "tls")) read_tls(*table);
        for_each_table(top, "listen", reading_,
                       [&](const Member& key, const Table& table) { read_listen(key, table); });
        check_tls(top);
        if (const Table* const table = part(top, "metrics")) {
            read_metrics(*table, *server_, reading_);
        }
    }

  private:
    const Table* part(const Table& table, std::string_view name) {
        return table_in(table, name, reading_);
    }

    void read_plain(const Table& top, std::string_view name, TableKind kind) {
        if (const Table* const table = part(top, name)) {
            read_table(kind, *table, *server_, reading_, [](const Member&) { return false; });
        }
    }

    void read_server(const Table& table) {
        read_table(TableKind::server, table, *server_, reading_, [&](const Member& member) {
            if (member.key == "trusted_proxies") {
                read_proxies(member);
                return true;
            }
            if (member.key == "watch") {
                server_->watch = read_truth(member, reading_.problems);
                return true;
            }
            if (member.key != "file_cache") return false;
            if (const Table* const inner = part(table, "file_cache")) {
                read_table(TableKind::file_cache, *inner, *server_, reading_,
                           [](const Member&) { return false; });
            }
            return true;
        });
    }

    void read_proxies(const Member& member) {
        const Array* const all = member.value.get<Array>();
        if (all == nullptr) {
            reading_.problems.error(member.value.at,
                                    type_fault("trusted_proxies", "a list", member.value),
                                    "trusted_proxies = [\"10.0.0.0/8\", \"::1\"]");
            return;
        }
        for (const Value& each : *all) {
            const auto* const text = each.get<std::string>();
            std::string fault = "trusted_proxies expects networks, as strings";
            if (text != nullptr) {
                fault.clear();
                http::filter::TrustedProxies({.networks = {*text}}, fault);
            }
            if (fault.empty()) {
                server_->trusted_proxies.push_back(*text);
                continue;
            }
            reading_.problems.error(each.at, fault,
                                    "\"10.0.0.0/8\", \"::1\", or \"unix\" for whatever comes over "
                                    "a Unix socket");
        }
    }

    void read_admin(const Table& table, Place at) {
        read_table(TableKind::admin, table, *server_, reading_, [&](const Member& member) {
            const auto* const text = member.value.get<std::string>();
            if (member.key == "mode") {
                read_admin_mode(member.value);
            } else if (text == nullptr || text->empty()) {
                reading_.problems.error(member.value.at, "socket expects the path of a socket");
            } else {
                read_admin_socket(*text, member.value.at);
            }
            return true;
        });
        if (table.find("socket") == nullptr) {
            reading_.problems.error(at, "[admin] needs a socket",
                                    "socket = \"/run/tiderace.sock\"");
        }
    }

    void read_admin_socket(const std::string& text, Place at) {
        server_->admin_socket = reading_.path_of(text, at);
        const auto address = core::Address::parse("unix:" + server_->admin_socket);
        if (!address) return reading_.problems.error(at, address.error().message());
        look_at_folder_of(*address, at);
    }

    // The server makes the socket, and no folder.
    void look_at_folder_of(const core::Address& socket, Place at) {
        if (!reading_.world.looks_closely || !socket.is_unix()) return;
        const std::string folder = std::filesystem::path(socket.path()).parent_path().string();
        if (folder.empty()) return;
        const auto found = reading_.world.look(folder, FileKind::folder);
        // A reload does not open it again, and may not look into it.
        if (found || (found.error().code() != ENOENT && found.error().code() != ENOTDIR)) return;
        reading_.problems.error(at, "cannot " + found.error().message(),
                                "the folder of a socket must exist");
    }

    void read_admin_mode(const Value& value) {
        const auto* const text = value.get<std::string>();
        const bool is_mode = text != nullptr && (text->size() == 3 || text->size() == 4) &&
                             (text->size() == 3 || text->starts_with('0')) &&
                             text->find_first_not_of("01234567") == text->npos;
        if (!is_mode) {
            reading_.problems.error(value.at,
                                    "mode expects the permissions of a file, such as \"0660\"");
            return;
        }
        server_->admin_mode = static_cast<std::uint32_t>(std::stoul(*text, nullptr, 8));
    }

    void read_mime(const Table& table) {
        for (const Member& each : table.members) {
            const auto* const type = each.value.get<std::string>();
            if (type == nullptr) {
                reading_.problems.error(each.value.at,
                                        "[mime] expects a type, such as \"text/plain\"");
                continue;
            }
            read_flag_text("mime", each.key + "=" + *type, each.at, *server_, reading_.problems);
        }
    }

    void read_tls(const Table& table) {
        read_table(TableKind::tls, table, *server_, reading_, [&](const Member& member) {
            if (member.key == "folder") {
                folder_ = &member;
                return true;
            }
            if (member.key != "certificate") return false;
            for_each_table(
                table, "certificate", reading_,
                [&](const Member& key, const Table& each) { read_certificate(key, each); });
            return true;
        });
        // Behind the named certificates, the first of which serves clients without SNI.
        if (folder_ != nullptr) read_certificate_folder(folder_->value);
    }

    void read_certificate_folder(const Value& value) {
        const auto* const text = value.get<std::string>();
        if (text == nullptr || text->empty()) {
            reading_.problems.error(value.at, type_fault("folder", "a folder", value));
            return;
        }
        const std::size_t before = reading_.problems.errors();
        const std::string folder = reading_.path_of(*text, value.at, FileKind::folder);
        if (reading_.problems.errors() > before) return;
        const std::vector<CertificateFiles> found = certificates_in(folder);
        for (const CertificateFiles& pair : found) {
            for (const std::string* const file : {&pair.certificate, &pair.key}) {
                reading_.path_of(*file, value.at, FileKind::file);
            }
            auto& all = server_->tls.certificates;
            if (std::ranges::find(all, pair) == all.end()) all.push_back(pair);
        }
        // Without one, all would be served in clear text.
        if (!found.empty()) return;
        reading_.problems.error(value.at, "there is no certificate in this folder",
                                "NAME.pem with NAME.key, or NAME/fullchain.pem with "
                                "NAME/privkey.pem");
    }

    void read_certificate(const Member& key, const Table& table) {
        std::string files;
        for (const std::string_view name : {"cert", "key"}) {
            const Member* const member = table.find(name);
            const auto* const file = member != nullptr ? member->value.get<std::string>() : nullptr;
            if (file == nullptr || file->empty()) {
                if (name == "cert" || member != nullptr) {
                    reading_.problems.error(member != nullptr ? member->value.at : key.at,
                                            "a certificate has the PEM files `cert` and `key`");
                    return;
                }
                continue;
            }
            files += files.empty() ? "" : ",";
            files += reading_.path_of(*file, member->value.at, FileKind::file);
        }
        refuse_unknown(TableKind::certificate, table, reading_);
        read_flag_text("tls", files, key.at, *server_, reading_.problems);
    }

    void read_listen(const Member& key, const Table& table) {
        const Member* const address = table.find("address");
        const auto* const text = address != nullptr ? address->value.get<std::string>() : nullptr;
        bool redirects = false;
        read_table(TableKind::listen, table, *server_, reading_, [&](const Member& member) {
            if (member.key != "redirect_to_https") return member.key == "address";
            const bool* const truth = member.value.get<bool>();
            if (truth == nullptr) {
                reading_.problems.error(member.value.at, "redirect_to_https expects true or false");
            }
            redirects = truth != nullptr && *truth;
            return true;
        });
        if (text == nullptr) {
            reading_.problems.error(address != nullptr ? address->value.at : key.at,
                                    "[[listen]] needs an address", "address = \":8080\"");
            return;
        }
        for (const char* const name : {"http2", "backlog"}) {
            if (const Member* const member = table.find(name)) check_common(*member);
        }
        serves_ |= !redirects;
        if (read_flag_text(redirects ? "https-redirect" : "listen", *text, address->value.at,
                           *server_, reading_.problems, "address")) {
            check_address(*text, address->value.at);
        }
    }

    // Whether it can be had is seen only when it is bound.
    void check_address(const std::string& text, Place at) {
        const auto address = core::Address::parse(text);
        if (!address) return reading_.problems.error(at, "cannot " + address.error().message());
        look_at_folder_of(*address, at);
        for (const auto& [other, place] : addresses_) {
            const bool is_chosen = !other.is_unix() && other.port() == 0;  // by the kernel
            if (is_chosen || !net::overlap(other, *address)) continue;
            return reading_.problems.error(
                at, "connections to this address come to another",
                "that is at " + reading_.sources.name_of(place) + ": leave one of the two out");
        }
        addresses_.emplace_back(*address, at);
    }

    // What the flags are checked for together.
    void settle(const Table& top) {
        const auto settled = settle_tls(*server_, true);
        const Member* const at = top.find("tls") != nullptr ? top.find("tls") : top.find("listen");
        if (settled || at == nullptr) return;
        reading_.problems.error(at->at, in_words_of_the_file(settled.error()));
    }

    // What holds for all addresses is the same in each [[listen]] that says it.
    void check_common(const Member& member) {
        const auto [known, is_new] = common_.emplace(member.key, member.value);
        const Value& other = known->second;
        const auto* const text = member.value.get<std::string>();
        const auto* const number = member.value.get<std::int64_t>();
        const bool is_same =
            (text != nullptr && other.get<std::string>() && *text == *other.get<std::string>()) ||
            (number != nullptr && other.get<std::int64_t>() &&
             *number == *other.get<std::int64_t>());
        if (is_new || is_same) return;
        reading_.problems.error(member.at, member.key + " holds for all addresses",
                                "it is another at " + reading_.sources.name_of(other.at));
    }

    void check_tls(const Table& top) {
        const Member* const listen = top.find("listen");
        if (listen == nullptr) return settle(top);
        if (!server_->tls.https_redirect.empty() && !server_->tls.on()) {
            reading_.problems.error(listen->at, "redirect_to_https needs a certificate",
                                    "name one in [[tls.certificate]]");
            return;
        }
        settle(top);
        if (server_->tls.on() && !server_->tls.https_redirect.empty() && !serves_) {
            reading_.problems.error(listen->at, "every [[listen]] only redirects to https",
                                    "add the address that serves it: address = \":443\"");
        }
    }

    Reading reading_;
    ServeOptions* server_;
    std::map<std::string, Value> common_;
    const Member* folder_ = nullptr;  // of [tls]
    std::vector<std::pair<core::Address, Place>> addresses_;
    bool serves_ = false;  // an address that does not only redirect
};

// What would have no effect, or would lead on for ever.
void check_site(const SiteConfig& site, const ServeOptions& server, Problems& problems) {
    const bool has_hsts = site.options.tls.hsts > Duration::zero();
    if (has_hsts && (!server.tls.on() || server.tls.self_signed)) {
        problems.error(site.at, "hsts needs a certificate that browsers trust",
                       "name one in [[tls.certificate]]");
    }
    std::vector<Route> routes = site.options.routes;
    if (site.options.whole.reply) routes.push_back(site.options.whole);
    const std::string circle = redirect_circle(routes);
    if (!circle.empty()) {
        problems.error(site.at, "redirects lead in a circle: " + circle + " and so on");
    }
    const bool has_scripts = std::ranges::any_of(site.options.routes, &Route::has_scripts);
    if (has_scripts && site.options.root.empty()) {
        problems.error(site.at, "the scripts of a pattern lie in the site's root",
                       "root = \"www\"");
    }
}

void check_hosts(const Config& config, Problems& problems, const Sources& sources) {
    std::map<std::string, Place, std::less<>> seen;
    for (const SiteConfig& site : config.sites) {
        std::vector<std::string> names = site.hosts;
        if (site.is_default) names.emplace_back();
        for (const std::string& name : names) {
            const auto [known, is_new] = seen.emplace(name, site.at);
            if (is_new) continue;
            const std::string what =
                name.empty() ? "two sites are the default" : "two sites have the host " + name;
            if (known->second.file == site.at.file && known->second.line == site.at.line) {
                problems.error(site.at, "the host " + name + " is named twice");
                continue;
            }
            problems.error(site.at, what, "the other is at " + sources.name_of(known->second));
        }
    }
}

std::unique_ptr<ActingAs> act_as_server(const Table& top, const ServeOptions& server,
                                        const Reading& reading) {
    if (!reading.world.act) return nullptr;
    auto acting = reading.world.act(server.user.value_or(""));
    if (acting) return std::move(*acting);
    const Member* at = top.find("server");
    const Table* const table = at != nullptr ? at->value.get<Table>() : nullptr;
    if (const Member* const user = table != nullptr ? table->find("user") : nullptr) at = user;
    reading.problems.error(at != nullptr ? at->value.at : Place{},
                           "cannot " + in_words_of_the_file(acting.error().message()));
    return nullptr;
}

// One series for each path that a route answers, and one for all other requests.
std::size_t counted_routes(const Config& config) {
    std::size_t count = 1;
    for (const SiteConfig& site : config.sites) {
        std::set<std::string_view> paths{""};  // the site itself
        for (const Route& route : site.options.routes) {
            if (route.answers_itself() || route.files.any()) {
                paths.insert(route.match.path);
            }
        }
        count += paths.size();
    }
    return count;
}

}  // namespace

std::size_t series_of(const Config& config) {
    return config.server.metrics.on ? counted_routes(config) * http::SiteMetrics::series_of_a_route
                                    : 0;
}

namespace {

// The page is on an address of its own, on the admin socket, or on a route.
void check_metrics(const Table& top, const Config& config, Problems& problems) {
    const ServeOptions& server = config.server;
    const Table* const table =
        server.metrics.on ? top.find("metrics")->value.get<Table>() : nullptr;
    const bool has_address = table != nullptr && table->find("listen") != nullptr;
    bool is_shown = has_address || !server.admin_socket.empty();
    for (const SiteConfig& site : config.sites) {
        for (std::size_t i = 0; i < site.options.routes.size(); ++i) {
            if (!site.options.routes[i].shows_metrics) continue;
            is_shown = true;
            if (server.metrics.on) continue;
            problems.error(site.routes_at[i], "this route shows metrics, and nothing is counted",
                           "a table [metrics] counts requests and connections");
        }
    }
    if (!server.metrics.on) return;
    if (!is_shown) {
        problems.error(top.find("metrics")->at, "nothing shows what [metrics] counts",
                       "listen = \"127.0.0.1:9100\"");
    } else if (!has_address && table->find("remote") != nullptr) {
        problems.error(table->find("remote")->at, "remote is about `listen`, which is not there");
    }
    if (series_of(config) <= metrics_series_aim) return;
    problems.warning(top.find("metrics")->at,
                     "the page of [metrics] has " + std::to_string(series_of(config)) +
                         " series, and one for each method, status and version of a route",
                     "the monitoring system keeps them all: give it fewer routes");
}

}  // namespace

std::optional<Config> read_config(const std::string& path, Sources& sources, Problems& problems,
                                  const DocumentWorld& world) {
    const Reading reading{sources, problems, world};
    const Table top = DocumentReader(reading).read(path);
    // The parser read nothing behind a syntax error, so a key that is missing there is no fault.
    if (problems.errors() > 0 && top.members.empty()) return std::nullopt;
    return read_config(top, reading);
}

std::optional<Config> read_config(const Table& top, const Reading& reading) {
    Problems& problems = reading.problems;
    Config config;
    refuse_unknown(TableKind::top, top, reading);
    ServerReader(reading, config.server).read(top);
    const auto acting = act_as_server(top, config.server, reading);
    SiteReader reader(top, config.server, reading);
    for_each_table(top, "site", reading, [&](const Member& key, const Table& table) {
        if (config.sites.size() < Config::sites_max) {
            config.sites.push_back(reader.read(key.at, table));
        } else if (config.sites.size() == Config::sites_max) {
            problems.error(key.at, "more than " + std::to_string(Config::sites_max) + " sites");
        }
    });
    if (config.sites.empty() && problems.errors() == 0) {
        problems.error({}, "no [[site]] says what to serve", "[[site]] with root = \"/srv/www\"");
    }
    check_hosts(config, problems, reading.sources);
    for (const SiteConfig& site : config.sites) check_site(site, config.server, problems);
    check_metrics(top, config, problems);
    if (problems.errors() > 0) return std::nullopt;
    return config;
}

}  // namespace tiderace::server::config
