#include "tiderace/testing/database_server.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tiderace/core/child_process.h"
#include "tiderace/task.h"
#include "tiderace/testing/socket_world.h"

namespace tiderace::testing {

using db::Dialect;

namespace {

// PostgreSQL's programs are outside of PATH on Debian, and MariaDB's may be.
std::string find_program(Dialect dialect, const std::string& name) {
    std::vector<std::filesystem::path> folders = {"/usr/sbin", "/usr/bin", "/usr/local/bin",
                                                  "/opt/homebrew/bin"};
    std::error_code ignored;
    if (dialect == Dialect::postgres) {
        for (const auto& version :
             std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
            folders.insert(folders.begin(), version.path() / "bin");
        }
    }
    for (const auto& folder : folders) {
        if (std::filesystem::exists(folder / name, ignored)) return folder / name;
    }
    return "";
}

std::string server_program(Dialect dialect) {
    return find_program(dialect, dialect == Dialect::postgres ? "postgres" : "mariadbd");
}

void run_program(std::vector<std::string> command) {
    core::ChildOptions options;
    options.arguments = std::move(command);
    const std::string name = options.arguments.back();
    auto process = core::ChildProcess::start(options);
    if (!process) throw std::runtime_error(process.error().message());
    const auto ended = process->wait(60s);
    if (!ended || !ended->ok()) throw std::runtime_error("a program failed: " + name);
}

// Both servers refuse to run as root.
const char* account(Dialect dialect) {
    return dialect == Dialect::postgres ? "postgres" : "mysql";
}

// These servers reject port 0. Another program may take this one before they do: then they end at
// once, and are started with another.
std::uint16_t free_port() {
    SocketWorld world("auto");
    const core::Descriptor listener = world.listen();
    return world.listening_at().port();
}

std::array<std::unique_ptr<DatabaseServer>, 3>& servers() {
    static std::array<std::unique_ptr<DatabaseServer>, 3> all;
    return all;
}

}  // namespace

std::string DatabaseServer::missing(Dialect dialect) {
    if (server_program(dialect).empty()) {
        return std::string(db::name_of(dialect)) + " is not installed: its server is not tested";
    }
    try {
        // Connects to nothing yet, but refuses a dialect that is not built in.
        db::open(dialect == Dialect::postgres ? "postgres://x/y" : "mariadb://x/y");
    } catch (const db::Error& error) {
        return error.message();
    }
    return "";
}

DatabaseServer& DatabaseServer::shared(Dialect dialect) {
    auto& server = servers()[static_cast<std::size_t>(dialect)];
    if (server == nullptr) server = std::make_unique<DatabaseServer>(dialect);
    return *server;
}

std::vector<std::string> DatabaseServer::as_account(std::vector<std::string> command) const {
    // Ours may be a folder that the account cannot write to.
    std::vector<std::string> whole = {"env", "TMPDIR=" + folder_.string()};
    if (::geteuid() == 0) {
        // The change of accounts makes the kernel forget which signal follows our death.
        whole.insert(whole.end(), {"setpriv", "--reuid=" + std::string(account(dialect_)),
                                   "--regid=" + std::string(account(dialect_)), "--clear-groups",
                                   "--pdeathsig=KILL"});
    }
    whole.insert(whole.end(), command.begin(), command.end());
    return whole;
}

DatabaseServer::DatabaseServer(Dialect dialect, const DatabaseTls& tls)
    : dialect_(dialect), tls_(!tls.certificate.empty()) {
    std::string name = (std::filesystem::temp_directory_path() / "tiderace-db-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for a database");
    folder_ = name;
    const std::string& folder = name;
    if (::geteuid() == 0) run_program({"chown", account(dialect), folder});
    if (tls_) put_certificate(tls);
    if (dialect == Dialect::postgres) {
        // No syncs, here and in start(): the data ends with the test.
        run_program(as_account({find_program(dialect, "initdb"), "--no-sync", "--auth-local=trust",
                                "--auth-host=scram-sha-256", "-U", "tester", "-E", "UTF8",
                                "--locale=C", "-D", folder + "/data"}));
    } else {
        run_program(as_account({find_program(dialect, "mariadb-install-db"), "--no-defaults",
                                "--auth-root-authentication-method=normal", "--skip-test-db",
                                "--datadir=" + folder + "/data"}));
    }
    start();
}

void DatabaseServer::put_certificate(const DatabaseTls& tls) const {
    const std::string certificate = folder_ / "server.pem";
    const std::string key = folder_ / "server.key";
    std::filesystem::remove(key);
    const auto over = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(tls.certificate, certificate, over);
    std::filesystem::copy_file(tls.key, key);
    // PostgreSQL refuses a key that others may read.
    std::filesystem::permissions(key, std::filesystem::perms::owner_read);
    if (::geteuid() == 0) run_program({"chown", account(dialect_), certificate, key});
}

void DatabaseServer::show(const DatabaseTls& tls) {
    kill();
    put_certificate(tls);
    start();
}

std::vector<std::string> DatabaseServer::network_arguments() {
    const bool is_postgres = dialect_ == Dialect::postgres;
    if (!tls_) {
        if (is_postgres) return {"-c", "listen_addresses="};
        return {"--skip-networking"};
    }
    port_ = free_port();
    const std::string port = std::to_string(port_);
    const std::string certificate = folder_ / "server.pem";
    const std::string key = folder_ / "server.key";
    if (is_postgres) {
        return {"-p", port,
                "-c", "listen_addresses=127.0.0.1",
                "-c", "ssl=on",
                "-c", "ssl_cert_file=" + certificate,
                "-c", "ssl_key_file=" + key};
    }
    return {"--bind-address=127.0.0.1", "--port=" + port, "--skip-name-resolve",
            "--ssl-cert=" + certificate, "--ssl-key=" + key};
}

void DatabaseServer::start() {
    const std::string folder = folder_;
    // A server that was killed a moment ago may still hold what the new one needs: again, then.
    for (int attempt = 0; attempt < 100; ++attempt) {
        std::vector<std::string> command = {server_program(dialect_)};
        if (dialect_ == Dialect::postgres) {
            command.insert(command.end(), {"-D", folder + "/data", "-k", folder, "-c", "fsync=off",
                                           "-c", "max_connections=50"});
        } else {
            command.insert(command.end(), {"--no-defaults", "--datadir=" + folder + "/data",
                                           "--socket=" + folder + "/server.sock",
                                           "--innodb-flush-log-at-trx-commit=2",
                                           "--pid-file=" + folder + "/server.pid"});
        }
        const std::vector<std::string> network = network_arguments();
        command.insert(command.end(), network.begin(), network.end());
        core::ChildOptions options;
        options.arguments = as_account(command);
        auto process = core::ChildProcess::start(options);
        if (!process) throw std::runtime_error(process.error().message());
        process_ = std::make_unique<core::ChildProcess>(std::move(*process));
        if (answers()) return;
    }
    throw std::runtime_error("the server does not start");
}

void DatabaseServer::kill() {
    // Stopped first: a child that it made behind the search would live on, wait a minute for its
    // client, and keep the next server from starting.
    ::kill(process_->pid(), SIGSTOP);
    signal_all(SIGKILL);
    process_.reset();
}

DatabaseServer::~DatabaseServer() {
    if (process_ != nullptr) {
        // Without waiting for connections that a test has left open: PostgreSQL would, on SIGTERM.
        process_->signal(dialect_ == Dialect::postgres ? SIGINT : SIGTERM);
        process_->wait(10s);
        process_.reset();
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void DatabaseServer::resume() const {
    signal_all(SIGCONT);
}

// PostgreSQL has a process for each connection, in groups of their own.
void DatabaseServer::signal_all(int number) const {
    const std::string parent = std::to_string(process_->pid());
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string number_text = each.path().filename();
        if (number_text.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream file(each.path() / "stat");
        std::string text((std::istreambuf_iterator<char>(file)), {});
        // The last one: a name may hold parentheses as well.
        const std::size_t name_end = text.rfind(')');  // "123 (postgres) S 122 …"
        if (name_end == text.npos || text.compare(name_end + 4, parent.size(), parent) != 0 ||
            text[name_end + 4 + parent.size()] != ' ') {
            continue;
        }
        ::kill(std::stoi(number_text), number);
    }
    // The parent last: the children of a dead one belong to another, and would not be found.
    ::kill(process_->pid(), number);
}

std::string DatabaseServer::url(const std::string& name) const {
    const std::string folder = folder_;
    if (dialect_ == Dialect::postgres) {
        return "postgres://tester@" + (tls_ ? ":" + std::to_string(port_) : "") + "/" + name +
               "?socket=" + folder;  // the port is part of the socket's name
    }
    return "mariadb://root@/" + name + "?socket=" + folder + "/server.sock";
}

std::string DatabaseServer::tcp_url(const std::string& name, const std::string& account,
                                    const std::string& password, const std::string& host) const {
    const std::string scheme(db::name_of(dialect_));
    return scheme + "://" + account + ":" + password + "@" + host + ":" + std::to_string(port_) +
           "/" + name;
}

void DatabaseServer::add_account(const std::string& account, const std::string& password) {
    const bool is_postgres = dialect_ == Dialect::postgres;
    db::Database database = db::open(url(is_postgres ? "postgres" : "mysql"));
    const std::string sql =
        is_postgres
            ? "create role " + account + " superuser login password '" + password + "'"
            : "grant all on *.* to '" + account + "'@'127.0.0.1' identified by '" + password + "'";
    task::run([](db::Database& base, const std::string& text) -> Task<> {
        co_await base.exec(text);
    }(database, sql));
}

// False: it has ended instead.
bool DatabaseServer::answers() {
    db::Options options;
    options.waiting_timeout = 500ms;
    db::Database database =
        db::open(url(dialect_ == Dialect::postgres ? "postgres" : "mysql"), options);
    // No end but the server's own: on a busy machine it may take long, and a hung one is the test
    // run's to find.
    while (!process_->exit()) {
        bool answered = false;
        // On a thread of its own: the test's may be a loop's.
        std::thread([&] {
            try {
                task::run(database.ping());
                answered = true;
            } catch (const db::Error&) {  // not yet
            }
        }).join();
        if (answered) return true;
    }
    return false;
}

void DatabaseServer::pause() const {
    signal_all(SIGSTOP);
    // It stops when the kernel gets to it.
    const std::string stat = "/proc/" + std::to_string(process_->pid()) + "/stat";
    for (int i = 0; i < 1'000; ++i) {
        std::ifstream file(stat);
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        if (text.find(") T ") != text.npos) return;
        std::this_thread::sleep_for(1ms);
    }
    throw std::runtime_error("the server did not stop");
}

std::string DatabaseServer::fresh(const std::string& prefix) {
    const std::string name = prefix + std::to_string(++made_);
    db::Database database = db::open(url(dialect_ == Dialect::postgres ? "postgres" : "mysql"));
    task::run([](db::Database& base, const std::string& made) -> Task<> {
        const bool is_mariadb = base.dialect() == Dialect::mariadb;
        co_await base.exec("create database " + made +
                           (is_mariadb ? " character set utf8mb4" : ""));
    }(database, name));
    return url(name);
}

}  // namespace tiderace::testing
