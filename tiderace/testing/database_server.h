// DatabaseServer: a real PostgreSQL or MariaDB for tests, on a Unix socket in a folder of its own.
//
//   if (const auto why = DatabaseServer::missing(db::Dialect::postgres); !why.empty()) skip(why);
//   auto db = db::open(DatabaseServer::shared(db::Dialect::postgres).fresh("shop"));
//
// It runs under an account without rights where we are root, because both refuse to be root.
//
// Owner    The test; the shared ones, the program. The server ends with its owner, its folder too.
// Thread   One at a time.
// Errors   std::runtime_error: a program that does not start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/db.h"

namespace tiderace::core {
class ChildProcess;
}

namespace tiderace::testing {

// The certificate that a server shows, as PEM files.
struct DatabaseTls {
    std::string certificate;
    std::string key;
};

class DatabaseServer {
  public:
    // Makes the folder of its data and starts it. With `tls` it is reached over TCP, too: at
    // 127.0.0.1, where accounts need their passwords.
    explicit DatabaseServer(db::Dialect dialect, const DatabaseTls& tls = {});
    ~DatabaseServer();
    DatabaseServer(const DatabaseServer&) = delete;
    DatabaseServer& operator=(const DatabaseServer&) = delete;
    // The one that all tests of this program share; started for the first of them.
    static DatabaseServer& shared(db::Dialect dialect);
    // Why there is none here; "" where there is.
    static std::string missing(db::Dialect dialect);

    // The URL of an empty database whose name begins so, which it makes.
    std::string fresh(const std::string& prefix);
    std::string url(const std::string& name) const;
    // With `tls`: of an account that may use this database; `host` is 127.0.0.1 by any name.
    std::string tcp_url(const std::string& name, const std::string& account,
                        const std::string& password, const std::string& host = "127.0.0.1") const;
    // Starts it again with another certificate.
    void show(const DatabaseTls& tls);
    // Makes an account with this password and all rights.
    void add_account(const std::string& account, const std::string& password);

    void start();
    // As when its machine fails.
    void kill();
    // Its processes stop where they are, and go on.
    void pause() const;
    void resume() const;

  private:
    std::vector<std::string> as_account(std::vector<std::string> command) const;
    std::vector<std::string> network_arguments();
    void put_certificate(const DatabaseTls& tls) const;
    bool answers();
    void signal_all(int number) const;

    db::Dialect dialect_;
    std::filesystem::path folder_;
    std::unique_ptr<core::ChildProcess> process_;
    bool tls_ = false;
    std::uint16_t port_ = 0;
    int made_ = 0;
};

}  // namespace tiderace::testing
