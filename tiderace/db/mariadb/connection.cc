#include "tiderace/db/mariadb/connection.h"

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "tiderace/base/unique_function.h"
#include "tiderace/db/error.h"
#include "tiderace/db/execution.h"
#include "tiderace/db/lookup.h"
#include "tiderace/db/mariadb/fields.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db::mariadb {
namespace {

// How long the server may take to confirm that it ended a statement.
constexpr Duration kill_wait = 2s;
constexpr unsigned kill_seconds = 2;

// How often a connection that waits for its turn on a thread looks for it, and how long one may
// hold the thread in each of its steps.
constexpr Duration place_wait = 5ms;
constexpr Duration open_wait_max = 30s;

// Above it the server's max_allowed_packet is read, because it may take less.
constexpr std::uint64_t packet_sure = 64_KiB;
constexpr std::uint64_t packet_head = 16;

MYSQL* made() {
    static std::once_flag once;
    // mysql_init() would do this itself, but not safely from several loops at once.
    std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
    return mysql_init(nullptr);
}

// Whether the text has this word, in small or capital letters.
bool holds_word(std::string_view text, std::string_view word) {
    const auto same = [](char a, char b) { return (a | 0x20) == b; };
    return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

const char* text_or_null(const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
}

void set_network(MYSQL* mysql, const Url& url) {
    // Otherwise any server may request any file of ours, in answer to any statement.
    unsigned local_infile = 0;
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &local_infile);
    unsigned tcp = MYSQL_PROTOCOL_TCP;
    // Otherwise the library connects to its own Unix socket when the host is "localhost".
    if (url.socket.empty()) mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    my_bool enforce = url.tls != Tls::off ? 1 : 0;
    my_bool verify = url.tls == Tls::verify ? 1 : 0;
    if (enforce != 0) mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &enforce);
    mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (!url.ca.empty()) mysql_optionsv(mysql, MYSQL_OPT_SSL_CA, url.ca.c_str());
}

// The library has one number for all that TLS fails with. A certificate that is refused, a file
// that cannot be read and a server without TLS stay so; a handshake that was cut off is a lost
// connection.
bool is_refused_by_tls(std::string_view message) {
    for (const char* const text : {"certificate", "SSL is required", "No such file", "ermission"}) {
        if (message.find(text) != message.npos) return true;
    }
    return false;
}

// A call that blocks a thread has a limit for each step.
void set_limits(MYSQL* mysql, unsigned seconds) {
    for (const auto step :
         {MYSQL_OPT_CONNECT_TIMEOUT, MYSQL_OPT_READ_TIMEOUT, MYSQL_OPT_WRITE_TIMEOUT}) {
        mysql_optionsv(mysql, step, &seconds);
    }
}

void set_up(MYSQL* mysql, const Url& url) {
    // Gives the connection the stack on which its calls stand between _start and _cont.
    mysql_optionsv(mysql, MYSQL_OPT_NONBLOCK, nullptr);
    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    // TRADITIONAL: a value that does not fit is an error, as in the other databases, and not cut.
    mysql_optionsv(mysql, MYSQL_INIT_COMMAND, "set time_zone = '+00:00', sql_mode = 'TRADITIONAL'");
    set_network(mysql, url);
}

// FOUND_ROWS: an update counts the rows that it matched, as in the other databases, and not those
// alone that it changed.
constexpr unsigned long connect_flags = CLIENT_FOUND_ROWS;

// A connection that a thread opens: closed there if the task has gone meanwhile.
struct Opening {
    explicit Opening(MYSQL* m) : mysql(m) {}
    ~Opening() {
        if (mysql != nullptr) mysql_close(mysql);
    }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
    MYSQL* mysql;
    MYSQL* connected = nullptr;
    std::atomic<bool> ended = false;  // the thread has left both to the task
};

// "kill query" by a connection of its own. Blocks.
void kill_query_now(const Url& url, const std::string& address, unsigned long id) {
    MYSQL* const mysql = made();
    if (mysql == nullptr) return;
    set_limits(mysql, kill_seconds);
    set_network(mysql, url);
    if (mysql_real_connect(mysql, text_or_null(address), url.user.c_str(), url.password.c_str(),
                           nullptr, url.port, text_or_null(url.socket), 0) != nullptr) {
        const std::string sql = "kill query " + std::to_string(id);
        mysql_real_query(mysql, sql.data(), sql.size());
    }
    mysql_close(mysql);
}

}  // namespace

Connection::Connection(task::Runner& runner, Settings settings)
    : runner_(&runner),
      settings_(std::move(settings)),
      readiness_(runner.loop()),
      kills_(runner, PoolCalls::Kind::mariadb_kill),
      opens_(runner, PoolCalls::Kind::mariadb_open) {}

Connection::~Connection() {
    readiness_.forget();
    if (mysql_ == nullptr) return;
    // Closing a statement sends to the server, which only a connection between two commands may do.
    if (!within_ && !broken_) {
        for (const auto& [sql, prepared] : statements_) mysql_stmt_close(prepared.statement);
    } else {
        // The library forgets the connection's statements and frees them with no word to it.
        mysql_close(std::exchange(mysql_, nullptr));
        for (const auto& [sql, prepared] : statements_) mysql_stmt_close(prepared.statement);
        return;
    }
    mysql_close(mysql_);
}

bool Connection::clean() const {
    return !within_ && !unread_ && reading_ == nullptr && !broken_ && mysql_ != nullptr &&
           !isolation_pending_ && (mysql_->server_status & SERVER_STATUS_IN_TRANS) == 0;
}

bool Connection::gone() {
    if (readiness_.noticed()) broken_ = true;  // an idle server sends nothing but its end
    return broken_;
}

void Connection::fail(unsigned number, const char* message) {
    if (number == CR_SSL_CONNECTION_ERROR && is_refused_by_tls(message)) {
        throw Error(Fault::configuration, std::string(message) + "; " + settings_.url.trust());
    }
    const Fault fault =
        number == CR_SSL_CONNECTION_ERROR ? Fault::connection_lost : fault_of(number);
    if (fault == Fault::connection_lost) broken_ = true;
    const bool is_lost = broken_;
    end_statement(number);
    // The error of a killed statement depends on where it was.
    if (killed_ && !is_lost) throw Error(Fault::timeout, message);
    throw Error(fault, message);
}

// With the number of its error, or 0. A kill that it did not report hits the next statement, even
// when the server was idle in between.
void Connection::end_statement(unsigned number) {
    unread_ = false;
    if (kill_sent_ && (number != ER_QUERY_INTERRUPTED || kills_.pending())) broken_ = true;
}

void Connection::fail_statement(MYSQL_STMT* statement) {
    // A table has changed since it was prepared, and its rows have other columns than the library
    // has room for. They are on their way and cannot be skipped without waiting for them.
    if (mysql_stmt_errno(statement) == CR_NEW_STMT_METADATA) {
        broken_ = true;
        throw Error(Fault::connection_lost, "the columns of its rows have changed");
    }
    // Behind the first row the library leaves the error with the connection.
    if (mysql_stmt_errno(statement) == 0) fail(mysql_errno(mysql_), mysql_error(mysql_));
    fail(mysql_stmt_errno(statement), mysql_stmt_error(statement));
}

template <typename Start, typename Cont>
task::Task<> Connection::drive(Start start, Cont cont, Instant deadline) {
    within_ = true;
    // The steps after a kill have a time limit as well.
    if (kill_sent_) deadline = std::max(deadline, runner_->loop().now() + kill_wait);
    int status = start();
    while (status != 0) {
        const int got = co_await ready(status, deadline);
        if (connecting_) readiness_.forget();  // it may close the socket and open another
        status = cont(got);
    }
    within_ = false;
}

// Waits for what the library wants of its socket.
task::Task<int> Connection::ready(int wanted, Instant& deadline) {
    const core::Interest interest{.readable = (wanted & MYSQL_WAIT_READ) != 0,
                                  .writable = (wanted & MYSQL_WAIT_WRITE) != 0};
    while (true) {
        if (connecting_) readiness_.look_at(static_cast<int>(mysql_get_socket(mysql_)));
        if (co_await readiness_.wait(interest, deadline)) {
            co_return wanted&(MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
        }
        if (connecting_) {
            broken_ = true;
            throw Error(Fault::connection_lost, "no connection in time");
        }
        if (killed_) {
            broken_ = true;
            throw Error(Fault::unknown_outcome, "no answer in time, and none to a kill");
        }
        killed_ = true;
        kill_sent_ = true;
        co_await kill_query();
        deadline = runner_->loop().now() + kill_wait;
    }
}

task::Task<> Connection::kill_query() {
    const std::shared_ptr<void> place = kills_.take();
    if (place == nullptr) co_return;
    unique_function<void()> work([url = settings_.url, address = address_,
                                  id = mysql_thread_id(mysql_),
                                  place] { kill_query_now(url, address, id); });
    co_await call_apart(std::move(work), runner_->loop().now() + kill_wait);
}

task::Task<> Connection::open(Instant deadline) {
    const Url& url = settings_.url;
    if (!url.socket.empty()) co_return co_await connect("", deadline);
    // The library compares the certificate with the host that it was given to connect to.
    if (url.tls == Tls::verify && !is_address(url.host)) co_return co_await open_by_name(deadline);
    co_await open_one_of(
        *runner_, co_await addresses_of(url.host, deadline), deadline,
        [this](const std::string& address, Instant until) { return connect(address, until); });
}

void Connection::begin_open(std::string host) {
    readiness_.forget();
    if (mysql_ != nullptr) mysql_close(mysql_);
    mysql_ = made();
    if (mysql_ == nullptr) throw Error(Fault::connection_lost, "no memory is left");
    broken_ = false;
    address_ = std::move(host);
}

void Connection::end_open() {
    if (connected_ == nullptr) {
        broken_ = true;
        fail(mysql_errno(mysql_), mysql_error(mysql_));
    }
    readiness_.keep(static_cast<int>(mysql_get_socket(mysql_)));
}

// The library looks a name up by a call that blocks, so a thread opens the connection, which is
// then used on the loop as any other. An address instead of the name would be compared with the
// certificate; a comparison of our own would come behind the log-in, which a server with another
// certificate may pass on to the right one. (Connector/C 3.4 has a callback before it.)
task::Task<> Connection::open_by_name(Instant deadline) {
    const Url& url = settings_.url;
    begin_open(url.host);
    const auto opening = std::make_shared<Opening>(std::exchange(mysql_, nullptr));
    broken_ = true;  // until it is open
    std::shared_ptr<void> place = opens_.take();
    while (place == nullptr && runner_->loop().now() < deadline) {
        co_await task::sleep(place_wait);
        place = opens_.take();
    }
    const Duration left = deadline - runner_->loop().now();
    if (place == nullptr || left <= Duration::zero()) {
        throw Error(Fault::connection_lost, "no connection in time");
    }
    set_up(opening->mysql, url);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::min(left, open_wait_max));
    set_limits(opening->mysql, static_cast<unsigned>(seconds.count()));
    unique_function<void()> work([opening, place, url] {
        opening->connected = mysql_real_connect(opening->mysql, url.host.c_str(), url.user.c_str(),
                                                url.password.c_str(), url.name.c_str(), url.port,
                                                nullptr, connect_flags);
        opening->ended = true;
    });
    place = nullptr;  // the call's alone
    co_await call_apart(std::move(work), deadline);
    if (!opening->ended) {
        throw Error(Fault::connection_lost, "no connection in time, or no thread for it");
    }
    mysql_ = std::exchange(opening->mysql, nullptr);
    connected_ = opening->connected;
    broken_ = false;
    end_open();
}

task::Task<> Connection::connect(std::string host, Instant deadline) {
    begin_open(std::move(host));
    connecting_ = true;
    const Url& url = settings_.url;
    set_up(mysql_, url);
    const auto start = [&] {
        return mysql_real_connect_start(&connected_, mysql_, text_or_null(address_),
                                        url.user.c_str(), url.password.c_str(), url.name.c_str(),
                                        url.port, text_or_null(url.socket), connect_flags);
    };
    const auto cont = [&](int got) { return mysql_real_connect_cont(&connected_, mysql_, got); };
    co_await drive(start, cont, deadline);
    connecting_ = false;
    readiness_.forget();
    end_open();
}

void Connection::forget(MYSQL_STMT* statement) {
    for (auto at = statements_.begin(); at != statements_.end(); ++at) {
        if (at->second.statement != statement) continue;
        mysql_stmt_close(statement);
        statements_.erase(at);
        return;
    }
}

task::Task<MYSQL_STMT*> Connection::prepare(const Query& query, Instant deadline) {
    const auto found = statements_.find(query.scanned().text);
    if (found != statements_.end()) {
        found->second.used = ++uses_;
        co_return found->second.statement;
    }
    // The server keeps prepared statements as well (max_prepared_stmt_count): the one used longest
    // ago goes.
    if (statements_.size() >= std::max<std::size_t>(settings_.options.statements_max, 1)) {
        const auto older = [](const auto& a, const auto& b) {
            return a.second.used < b.second.used;
        };
        forget(std::min_element(statements_.begin(), statements_.end(), older)->second.statement);
    }
    const std::string& sql = query.scanned().text;
    Prepared& prepared = statements_[sql];  // before there is a statement, which would be lost
    MYSQL_STMT* const statement = mysql_stmt_init(mysql_);
    if (statement == nullptr) {
        statements_.erase(sql);
        throw Error(Fault::other, "no memory is left");
    }
    prepared = {.statement = statement, .used = ++uses_};
    const auto start = [&] {
        return mysql_stmt_prepare_start(&answer_, statement, sql.data(), sql.size());
    };
    const auto cont = [&](int got) { return mysql_stmt_prepare_cont(&answer_, statement, got); };
    try {
        co_await drive(start, cont, deadline);
    } catch (const std::bad_alloc&) {
        // Not begun, and yet known by its text: it would never be prepared.
        if (!within_) forget(statement);
        throw;
    }
    if (answer_ == 0) co_return statement;
    const unsigned number = mysql_stmt_errno(statement);
    // Copied: forget() frees it with the statement.
    const std::string message = mysql_stmt_error(statement);
    forget(statement);
    // The caller sends it as text, without escaping, as there are no values.
    if (number == ER_UNSUPPORTED_PS && query.values.empty()) co_return nullptr;
    fail(number, message.c_str());
}

// The server closes the connection for a packet that is too large, and then it is not known whether
// the statement was done.
task::Task<> Connection::check_packet(std::uint64_t bytes, Instant deadline) {
    if (packet_max_ == 0) {
        const Batch answer = co_await run(command("select @@max_allowed_packet"),
                                          {.rows_max = 2, .bytes_max = 1'024}, deadline);
        if (answer.rows() == 1) {
            packet_max_ = static_cast<std::uint64_t>(answer.cell(0, 0).integer);
        }
        sent_ = false;
    }
    if (bytes <= packet_max_) co_return;
    throw Error(Fault::parameters, std::to_string(bytes) +
                                       " bytes, and the server's max_allowed_packet is " +
                                       std::to_string(packet_max_));
}

task::Task<Batch> Connection::run(QueryRef query, Portion portion, Instant deadline) {
    sent_ = false;
    killed_ = false;
    kill_sent_ = false;
    if (gone()) throw Error(Fault::connection_lost, "the server closed the connection");
    const std::uint64_t bytes = bytes_of(*query) + packet_head;
    if (bytes > packet_sure) co_await check_packet(bytes, deadline);
    MYSQL_STMT* const statement = co_await prepare(*query, deadline);
    sent_ = true;
    if (statement == nullptr) {  // a command that older servers do not prepare
        co_await run_text(query->scanned().text, deadline);
        co_return Batch();
    }
    // Text that we took for a comment or for quotes: the library would read past our values.
    if (mysql_stmt_param_count(statement) != query->values.size()) {
        throw Error(Fault::parameters, "the server counts " +
                                           std::to_string(mysql_stmt_param_count(statement)) +
                                           " question marks, and there are " +
                                           std::to_string(query->values.size()) + " values");
    }
    Parameters parameters(query->values);
    if (!query->values.empty()) mysql_stmt_bind_param(statement, parameters.binds());
    const auto start = [&] { return mysql_stmt_execute_start(&answer_, statement); };
    const auto cont = [&](int got) { return mysql_stmt_execute_cont(&answer_, statement, got); };
    co_await drive(start, cont, deadline);
    if (answer_ != 0) fail_statement(statement);
    unread_ = true;
    fields_ = std::make_unique<Fields>(mysql_, statement);
    if (!fields_->columns()->empty()) {
        reading_ = statement;
        Batch rows = co_await read(portion, deadline);
        if (killed_ && query->scanned().reads) {  // a killed sleep() returns something all the same
            throw Error(Fault::timeout, "it took longer than it may");
        }
        co_return rows;
    }
    Batch batch;
    batch.done = {.rows = mysql_stmt_affected_rows(statement),
                  .last_id = static_cast<std::int64_t>(mysql_stmt_insert_id(statement))};
    co_await skip_results(statement, deadline);
    end_statement(0);
    co_return batch;
}

task::Task<Batch> Connection::more(Portion portion, Instant deadline) {
    return read(portion, deadline);
}

// The next row; answer_ is what mysql_stmt_fetch() returns. Most rows are there already, and cost
// no coroutine.
int Connection::start_fetch(MYSQL_STMT* statement) {
    return mysql_stmt_fetch_start(&answer_, statement);
}

task::Task<> Connection::finish_fetch(MYSQL_STMT* statement, int status, Instant deadline) {
    const auto begun = [status] { return status; };
    const auto cont = [&](int got) { return mysql_stmt_fetch_cont(&answer_, statement, got); };
    co_await drive(begun, cont, deadline);
}

task::Task<Batch> Connection::read(Portion portion, Instant deadline) {
    Batch batch(fields_->columns());
    MYSQL_STMT* const statement = reading_;
    while (batch.rows() < portion.rows_max && batch.bytes() < portion.bytes_max) {
        // Most rows are in the library's buffer already: a call without a frame for each.
        if (const int status = start_fetch(statement); status != 0) {
            co_await finish_fetch(statement, status, deadline);
        }
        if (answer_ == MYSQL_NO_DATA) {
            mysql_stmt_free_result(statement);  // all of it was read: it says nothing to the server
            co_await skip_results(statement, deadline);
            reading_ = nullptr;
            end_statement(0);
            co_return batch;
        }
        if (answer_ == 1) {
            reading_ = nullptr;
            fail_statement(statement);
        }
        fields_->add_row(batch, statement);
    }
    batch.more = true;
    co_return batch;
}

// A procedure gives one result for each of its queries, the values of its `out` parameters, and at
// last one without rows. The first was for the caller.
task::Task<> Connection::skip_results(MYSQL_STMT* statement, Instant deadline) {
    const auto start = [&] { return mysql_stmt_next_result_start(&answer_, statement); };
    const auto cont = [&](int got) {
        return mysql_stmt_next_result_cont(&answer_, statement, got);
    };
    while (mysql_stmt_more_results(statement) != 0) {
        // The server leaves the mark out where the values of `out` parameters come (MDEV-4604).
        mysql_->server_status |= SERVER_MORE_RESULTS_EXIST;
        co_await drive(start, cont, deadline);
        while (answer_ == 0 && mysql_stmt_field_count(statement) > 0) {
            // Nothing is bound: rows are only read.
            const int status = start_fetch(statement);
            if (status != 0) co_await finish_fetch(statement, status, deadline);
        }
        if (answer_ == 0 || answer_ == MYSQL_NO_DATA) continue;
        reading_ = nullptr;
        fail_statement(statement);
    }
}

// Statements that give no rows that anyone wants.
task::Task<> Connection::run_text(std::string sql, Instant deadline) {
    const auto start = [&] {
        return mysql_real_query_start(&answer_, mysql_, sql.data(), sql.size());
    };
    const auto cont = [&](int got) { return mysql_real_query_cont(&answer_, mysql_, got); };
    co_await drive(start, cont, deadline);
    unread_ = true;
    results_ = 0;
    while (answer_ == 0) {
        ++results_;
        if (mysql_field_count(mysql_) > 0) {
            MYSQL_RES* result = nullptr;
            const auto store = [&] { return mysql_store_result_start(&result, mysql_); };
            const auto on = [&](int got) { return mysql_store_result_cont(&result, mysql_, got); };
            co_await drive(store, on, deadline);
            mysql_free_result(result);
        }
        if (mysql_more_results(mysql_) == 0) co_return end_statement(0);
        const auto next = [&] { return mysql_next_result_start(&answer_, mysql_); };
        const auto on = [&](int got) { return mysql_next_result_cont(&answer_, mysql_, got); };
        co_await drive(next, on, deadline);
    }
    fail(mysql_errno(mysql_), mysql_error(mysql_));
}

task::Task<> Connection::script(std::string sql, Instant deadline) {
    sent_ = false;
    killed_ = false;
    kill_sent_ = false;
    if (gone()) throw Error(Fault::connection_lost, "the server closed the connection");
    const std::uint64_t bytes = sql.size() + packet_head;
    if (bytes > packet_sure) co_await check_packet(bytes, deadline);
    const auto set = [&](enum_mysql_set_option option) {
        return [this, option] { return mysql_set_server_option_start(&answer_, mysql_, option); };
    };
    const auto cont = [&](int got) { return mysql_set_server_option_cont(&answer_, mysql_, got); };
    const auto on = set(MYSQL_OPTION_MULTI_STATEMENTS_ON);
    const auto off = set(MYSQL_OPTION_MULTI_STATEMENTS_OFF);
    unread_ = true;
    co_await drive(on, cont, deadline);
    sent_ = true;
    std::optional<Error> failure;
    try {
        co_await run_text(sql, deadline);
    } catch (const Error& error) {
        failure = error;
        const std::size_t start = start_of_statement(sql, results_, Dialect::mariadb);
        const bool has_body = holds_word(sql, "begin");  // with semicolons that end no statement
        if (start != sql.npos && !has_body) failure = error.with_line(line_at(sql, start));
    }
    // Several statements in one text are what an injection needs: off again.
    unread_ = true;
    if (!broken_) co_await drive(off, cont, deadline);
    unread_ = false;
    if (failure) throw *failure;
}

task::Task<bool> Connection::recover() {
    if (broken_ || mysql_ == nullptr || connecting_) co_return false;
    if (within_ || unread_ || reading_ != nullptr) {
        broken_ = true;
        co_await kill_query();
        co_return false;
    }
    if (!clean()) {
        co_await run(command("rollback"), {.rows_max = 1, .bytes_max = 1},
                     runner_->loop().now() + kill_wait);
        isolation_pending_ = false;  // the server forgets it with the rollback
    }
    co_return clean();
}

task::Task<bool> Connection::answers(Instant deadline) {
    killed_ = true;  // no second connection for this
    const auto start = [&] { return mysql_ping_start(&answer_, mysql_); };
    const auto cont = [&](int got) { return mysql_ping_cont(&answer_, mysql_, got); };
    try {
        co_await drive(start, cont, deadline);
        co_return answer_ == 0;
    } catch (const Error&) {
        co_return false;
    }
}

}  // namespace tiderace::db::mariadb
