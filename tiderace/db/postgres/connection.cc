#include "tiderace/db/postgres/connection.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "tiderace/base/unique_function.h"
#include "tiderace/db/lookup.h"
#include "tiderace/db/postgres/fields.h"

namespace tiderace::db::postgres {
namespace {

// How long the server may take to confirm a cancellation.
constexpr Duration cancel_wait = 2s;
// When a task has gone: how long its read and those with it may take before they are cancelled.
constexpr Duration abandoned_wait = 50ms;

// The five characters behind "FATAL:  ", in a message of the verbose kind.
std::string_view state_in(std::string_view message) {
    for (std::size_t at = message.find(":  "); at != message.npos;
         at = message.find(":  ", at + 1)) {
        const std::string_view state = message.substr(at + 3, 5);
        const bool is_state =
            state.size() == 5 && message.substr(at + 8, 1) == ":" &&
            state.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == state.npos;
        if (is_state) return state;
    }
    return "";
}

std::string first_line(const char* message) {
    const std::string_view text(message);
    return std::string(text.substr(0, text.find('\n')));
}

// libpq has no number for these: the certificate, the file of authorities, a server without TLS.
// Trying again does not help. "SSL SYSCALL error" and an unexpected end are handshakes that were
// cut off: lost connections.
bool is_refused_by_tls(std::string_view message, Tls tls) {
    if (tls == Tls::off || message.find("unexpected eof") != message.npos) return false;
    return message.find("SSL error:") != message.npos ||
           message.find("certificate") != message.npos ||
           message.find("SSL was required") != message.npos;
}

const char* mode_of(Tls tls) {
    switch (tls) {
        case Tls::off:
            return "disable";
        case Tls::require:
            return "require";
        case Tls::verify:
            break;
    }
    return "verify-full";
}

std::string_view text_of(const char* field) {
    return field == nullptr ? std::string_view() : field;
}

}  // namespace

void Connection::Freed::operator()(pg_result* result) const {
    PQclear(result);
}

Connection::Connection(task::Runner& runner, Settings settings)
    : runner_(&runner),
      settings_(std::move(settings)),
      readiness_(runner.loop()),
      cancels_(runner, PoolCalls::Kind::postgres_cancel) {}

Connection::~Connection() {
    readiness_.forget();
    PQfinish(connection_);
}

bool Connection::clean() const {
    return !reading_ && !broken_ && connection_ != nullptr &&
           PQtransactionStatus(connection_) == PQTRANS_IDLE;
}

void Connection::lose(std::string_view why) {
    broken_ = true;
    readiness_.forget();
    throw Error(Fault::connection_lost, why);
}

task::Task<> Connection::open(Instant deadline) {
    const Url& url = settings_.url;
    if (url.socket.empty()) {
        co_await open_one_of(
            *runner_, co_await addresses_of(url.host, deadline), deadline,
            [this](const std::string& address, Instant until) { return connect(address, until); });
    } else {
        co_await connect("", deadline);
    }
    readiness_.keep(PQsocket(connection_));
    PQsetErrorVerbosity(connection_, PQERRORS_DEFAULT);  // results have their state apart
    if (PQsetnonblocking(connection_, 1) != 0 || PQenterPipelineMode(connection_) != 1) {
        lose(first_line(PQerrorMessage(connection_)));
    }
}

task::Task<> Connection::connect(std::string address, Instant deadline) {
    const Url& url = settings_.url;
    // The certificate is compared with the name; beside an address libpq does not look it up, which
    // would block the loop.
    const std::string& host = url.socket.empty() ? url.host : url.socket;
    const std::string port = std::to_string(url.port);
    const std::array<std::pair<const char*, const char*>, 15> settings = {{
        {"host", host.c_str()},
        {"hostaddr", address.c_str()},
        {"port", port.c_str()},
        {"user", url.user.c_str()},
        {"password", url.password.c_str()},
        {"dbname", url.name.c_str()},
        {"sslmode", url.socket.empty() ? mode_of(url.tls) : "disable"},
        {"sslrootcert", url.ca.c_str()},  // "": libpq's own
        // Each try of GSS encryption would cost a round trip before the first byte.
        {"gssencmode", "disable"},
        {"client_encoding", "UTF8"},
        {"application_name", "tiderace"},
        // The forms of values on the wire: fields.cc reads and writes these forms only.
        {"options",
         "-c timezone=UTC -c datestyle=ISO -c bytea_output=hex"
         " -c standard_conforming_strings=on -c extra_float_digits=1"},
        // A server that vanished is noticed after a minute and a half, also by a connection that
        // only listens.
        {"keepalives_idle", "60"},
        {"keepalives_interval", "10"},
        {"keepalives_count", "3"},
    }};
    std::vector<const char*> names;
    std::vector<const char*> values;
    for (const auto& [name, value] : settings) {
        names.push_back(name);
        values.push_back(value);
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    readiness_.forget();
    PQfinish(std::exchange(connection_, nullptr));  // of an address that did not answer
    broken_ = false;
    connection_ = PQconnectStartParams(names.data(), values.data(), 0);
    if (connection_ == nullptr) lose("no memory is left");
    PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);
    PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);  // SQLSTATE is in the message alone
    auto state = PGRES_POLLING_WRITING;
    while (PQstatus(connection_) != CONNECTION_BAD && state != PGRES_POLLING_OK &&
           state != PGRES_POLLING_FAILED) {
        readiness_.look_at(PQsocket(connection_));
        const core::Interest interest{.readable = state == PGRES_POLLING_READING,
                                      .writable = state == PGRES_POLLING_WRITING};
        if (!co_await readiness_.wait(interest, deadline)) lose("no connection in time");
        readiness_.forget();  // the next call may close the socket and open another
        state = PQconnectPoll(connection_);
    }
    if (state == PGRES_POLLING_OK) co_return;
    const std::string message = first_line(PQerrorMessage(connection_));
    const std::string_view sql_state = state_in(message);
    broken_ = true;
    if (!sql_state.empty()) throw Error(fault_of(sql_state), message);
    if (is_refused_by_tls(message, url.tls)) {
        throw Error(Fault::configuration, message + "; " + url.trust());
    }
    // Without a number, too: the library itself misses a password.
    const bool lacks_password = PQconnectionNeedsPassword(connection_) == 1;
    throw Error(lacks_password ? Fault::configuration : Fault::connection_lost, message);
}

bool Connection::gone() {
    if (broken_ || connection_ == nullptr) return true;
    // One call that finds nothing, or a last word and then the end.
    const int times = readiness_.noticed() ? 2 : 1;
    for (int i = 0; i < times && !broken_; ++i) {
        broken_ = PQconsumeInput(connection_) == 0 || PQstatus(connection_) == CONNECTION_BAD;
    }
    return broken_;
}

// A statement that was not sent was not done.
void Connection::check_there() {
    sent_ = false;
    // A connection that answered in this turn is there: no system call for it.
    if (broken_ || connection_ == nullptr || (used_ != runner_->loop().now() && gone()))
        lose("the server closed the connection");
}

// Ends a statement that the server knows by this name.
void Connection::send_deallocation(const std::string& name) {
    const std::string sql = "deallocate " + name;
    if (PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) !=
        1) {
        lose(first_line(PQerrorMessage(connection_)));
    }
    ++before_;
}

void Connection::send_preparation(const Query& query) {
    // In a failed transaction it would also fail, and so would the messages behind it.
    const bool may_deallocate = PQtransactionStatus(connection_) != PQTRANS_INERROR;
    if (may_deallocate) {
        for (const std::string& name : std::exchange(outdated_, {})) send_deallocation(name);
    }
    if (may_deallocate &&
        prepared_.size() >= std::max<std::size_t>(settings_.options.statements_max, 1)) {
        auto oldest = prepared_.begin();
        for (auto at = prepared_.begin(); at != prepared_.end(); ++at) {
            if (at->second.used < oldest->second.used) oldest = at;
        }
        send_deallocation(oldest->second.name);
        prepared_.erase(oldest);
    }
    const std::string& text = preparing_.emplace_back(query.scanned().text);
    // Never used twice, so that a preparation that failed cannot be taken for another.
    const std::string name = "t" + std::to_string(++names_);
    prepared_[text] = {.name = name, .used = 0};
    if (PQsendPrepare(connection_, name.c_str(), text.c_str(), 0, nullptr) != 1) {
        lose(first_line(PQerrorMessage(connection_)));
    }
    ++before_;
}

// Before what is sent next.
void Connection::begin() {
    check_there();
    failure_.reset();
    is_outdated_ = false;
    columns_ = nullptr;
    cancelled_ = false;
    preparing_.clear();
    synced_ = false;
    reading_ = true;
}

void Connection::send(const Query& query) {
    before_ = 0;
    auto found = prepared_.find(query.scanned().text);
    if (found == prepared_.end()) {
        send_preparation(query);
        found = prepared_.find(query.scanned().text);
    }
    found->second.used = ++uses_;
    // libpq copies them into its buffer, so they may end with this call.
    const Parameters values(query.values);
    sent_ = true;
    const int ok = PQsendQueryPrepared(
        connection_, found->second.name.c_str(), static_cast<int>(query.values.size()),
        values.pointers.data(), values.sizes.data(), values.formats.data(), 0);
    if (ok != 1) lose(first_line(PQerrorMessage(connection_)));
}

void Connection::sync() {
    if (PQpipelineSync(connection_) != 1) lose(first_line(PQerrorMessage(connection_)));
    unflushed_ = true;
    synced_ = true;
}

task::Task<> Connection::fill(const Instant& deadline) {
    // The steps after a cancel have a time limit as well.
    Instant until = cancelled_ ? std::max(deadline, cancelled_until_) : deadline;
    while (true) {
        if (unflushed_) {
            const int flushed = PQflush(connection_);
            if (flushed < 0) lose(first_line(PQerrorMessage(connection_)));
            unflushed_ = flushed == 1;
        }
        if (PQisBusy(connection_) == 0) co_return;
        const core::Interest interest{.readable = true, .writable = unflushed_};
        if (co_await readiness_.wait(interest, until)) {
            if (PQconsumeInput(connection_) == 0) lose("the server closed the connection");
        } else if (!cancelled_ && runner_->loop().now() < deadline) {
            until = deadline;  // which came nearer: a task has gone
        } else if (!cancelled_) {
            co_await send_cancel();
            until = cancelled_until_;
        } else {
            broken_ = true;
            readiness_.forget();
            throw Error(Fault::unknown_outcome, "no answer in time, and none to a cancel");
        }
    }
}

task::Task<Connection::Result> Connection::next(const Instant& deadline) {
    if (unflushed_ || PQisBusy(connection_) != 0) co_await fill(deadline);
    co_return Result(PQgetResult(connection_));
}

// PQcancel blocks for as long as a server does not answer. A statement whose cancel is not sent
// ends with its connection.
task::Task<> Connection::send_cancel() {
    const std::shared_ptr<PGcancel> cancel(PQgetCancel(connection_), PQfreeCancel);
    const std::shared_ptr<void> place = cancel != nullptr ? cancels_.take() : nullptr;
    if (place != nullptr) {
        unique_function<void()> work([cancel, place] {
            std::array<char, 256> why;
            PQcancel(cancel.get(), why.data(), static_cast<int>(why.size()));
        });
        co_await call_apart(std::move(work), runner_->loop().now() + cancel_wait);
    }
    cancelled_ = true;
    cancelled_until_ = runner_->loop().now() + cancel_wait;
}

task::Task<> Connection::skip_preparations(const Instant& deadline) {
    for (; before_ > 0; --before_) {
        while (Result result = co_await next(deadline)) {
            const auto status = PQresultStatus(result.get());
            if (status == PGRES_FATAL_ERROR && !failure_) failure_ = error_of(result.get());
            // The last of them is the statement's own.
            if (status == PGRES_COMMAND_OK && before_ == 1) preparing_.pop_front();
        }
    }
    // The rows come one at a time: the connection never holds all of them.
    if (!failure_) PQsetSingleRowMode(connection_);
}

task::Task<Batch> Connection::run(QueryRef query, Portion portion, Instant deadline) {
    listens_ = listens_ || query->scanned().listens;
    Batch batch = co_await run_once(*query, portion, deadline);
    if (is_outdated_) {
        forget_outdated(*query);
        // It was not done. A transaction has failed with it; the whole may begin again.
        if (PQtransactionStatus(connection_) == PQTRANS_IDLE) {
            batch = co_await run_once(*query, portion, deadline);
        } else if (failure_) {
            failure_ = failure_->with_kind(Fault::serialization);
        }
    }
    if (!batch.more && failure_) throw *std::exchange(failure_, std::nullopt);
    co_return batch;
}

// Up to the end of its rows, or further ones. failure_ is set if it failed.
task::Task<Batch> Connection::run_once(const Query& query, Portion portion,
                                       const Instant& deadline) {
    begin();
    send(query);
    sync();
    co_await skip_preparations(deadline);
    if (failure_) forget_preparing();
    co_return co_await read(portion, deadline);
}

// A table has changed since it was prepared, so that its rows would be others: the server refuses
// it from then on. Or another statement has ended all that were prepared.
void Connection::forget_outdated(const Query& query) {
    const auto found = prepared_.find(query.scanned().text);
    if (found == prepared_.end()) return;
    if (is_known_by_server_) outdated_.push_back(found->second.name);
    prepared_.erase(found);
}

// Prepared or not: their names are not used again.
void Connection::forget_preparing() {
    for (const std::string& text : preparing_) prepared_.erase(text);
    preparing_.clear();
}

task::Task<> Connection::run_together(Reads reads) {
    begin();
    std::vector<unsigned> before;
    for (const ReadRef& each : reads) {
        send(*each->query);
        before.push_back(before_);
    }
    sync();
    // The server keeps all answers until the sync: it is not seen which of them it works on.
    together_until_ = Instant::max();
    for (const ReadRef& each : reads) together_until_ = std::min(together_until_, each->deadline);
    bool all_read = true;
    for (std::size_t i = 0; i < reads.size() && all_read; ++i) {
        before_ = before[i];
        all_read = co_await read_one_of(*reads[i]);
    }
    // One that has more rows than are wanted is stopped by recover(), and all others with it.
    const auto stopped = [](const ReadRef& each) { return each->batch && each->batch->more; };
    const bool is_stopped = std::any_of(reads.begin(), reads.end(), stopped);
    if (!is_stopped) co_await drain(runner_->loop().now() + cancel_wait);
    if (all_read) co_return;
    forget_preparing();
    // The others were part of the transaction that failed.
    for (const ReadRef& each : reads) {
        if (!each->batch || !each->batch->more) each->batch.reset();
    }
    failure_.reset();
}

// False: it failed, or has more rows.
task::Task<bool> Connection::read_one_of(Read& read) {
    const Instant begun = runner_->loop().now();
    columns_ = nullptr;
    co_await skip_preparations(together_until_);
    read.batch = co_await read_rows(read.portion, together_until_);
    read.took = runner_->loop().now() - begun;
    if (failure_) {
        read.batch.reset();
        // The cancel of one that took too long may hit the next one, which is done again.
        const bool others = cancelled_ && failure_->kind() == Fault::timeout &&
                            runner_->loop().now() < read.deadline;
        if (is_outdated_) forget_outdated(*read.query);  // so is this one
        if (!others && !is_outdated_) read.failure = *failure_;
        failure_.reset();
        co_return false;
    }
    co_return !read.batch->more;
}

void Connection::abandoned(const Read&) {
    together_until_ = std::min(together_until_, runner_->loop().now() + abandoned_wait);
    // The read in progress looks at its deadline again (fill()).
    readiness_.expire();
}

void Connection::note_failure(const pg_result* result) {
    failure_ = error_of(result);
    const std::string_view state = text_of(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    // feature_not_supported has many causes. In every version this function reports it for a plan
    // that is out of date.
    const std::string_view function = text_of(PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION));
    is_known_by_server_ = state == "0A000" && function == "RevalidateCachedQuery";
    is_outdated_ = is_known_by_server_ || state == "26000";  // no such prepared statement
}

task::Task<Batch> Connection::more(Portion portion, Instant deadline) {
    Batch batch = co_await read(portion, deadline);
    if (!batch.more && failure_) throw *std::exchange(failure_, std::nullopt);
    co_return batch;
}

task::Task<Batch> Connection::read_rows(Portion portion, const Instant& deadline) {
    Batch batch(columns_ != nullptr ? columns_ : std::make_shared<std::vector<std::string>>());
    while (Result result = co_await next(deadline)) {
        const auto status = PQresultStatus(result.get());
        if (status == PGRES_FATAL_ERROR) {
            if (!failure_) note_failure(result.get());
            continue;
        }
        refuse_copy(result.get());
        if (status == PGRES_EMPTY_QUERY) {
            failure_ = Error(Fault::syntax, "there is no statement in the text");
        }
        if (columns_ == nullptr && PQnfields(result.get()) > 0) {
            columns_ = columns_of(result.get());
            batch = Batch(columns_);
        }
        add_rows(batch, result.get());
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
            batch.done.rows = rows_changed(result.get());
        }
        batch.more = status == PGRES_SINGLE_TUPLE &&
                     (batch.rows() >= portion.rows_max || batch.bytes() >= portion.bytes_max);
        if (batch.more) co_return batch;
    }
    co_return batch;
}

// The server now waits for data that we lack, or sends some that we do not read: the connection has
// no further use. (The columns of such a result have no names.)
void Connection::refuse_copy(const pg_result* result) {
    const auto status = PQresultStatus(result);
    if (status != PGRES_COPY_IN && status != PGRES_COPY_OUT && status != PGRES_COPY_BOTH) return;
    broken_ = true;
    readiness_.forget();
    throw Error(Fault::syntax, "copy is not supported here; psql has \\copy");
}

// failure_ is set if it failed.
task::Task<Batch> Connection::read(Portion portion, const Instant& deadline) {
    Batch batch = co_await read_rows(portion, deadline);
    if (!batch.more) co_await drain(deadline);
    co_return batch;
}

// Up to the sync that ends the statement.
task::Task<> Connection::drain(Instant deadline) {
    while (true) {
        const Result result = co_await next(deadline);
        if (result == nullptr) continue;  // libpq's mark between the results of two commands
        const auto status = PQresultStatus(result.get());
        if (status == PGRES_PIPELINE_SYNC) break;
        if (status == PGRES_FATAL_ERROR && PQstatus(connection_) == CONNECTION_BAD) {
            lose("the server closed the connection");
        }
    }
    end_statement();
}

void Connection::end_statement() {
    reading_ = false;
    used_ = runner_->loop().now();
    if (failure_ && failure_->kind() == Fault::connection_lost) broken_ = true;
    // A cancel that is still under way would hit the next statement.
    if (cancels_.pending()) broken_ = true;
    if (listens_) return;
    // A script may have begun to listen, and these notifications have no reader.
    while (PGnotify* const each = PQnotifies(connection_)) PQfreemem(each);
}

task::Task<> Connection::script(std::string sql, Instant deadline) {
    if (sql.find('\0') != sql.npos) throw Error(Fault::syntax, "there is a zero byte in the text");
    check_there();
    // A pipeline takes one statement a message (the extended protocol); a script has several.
    if (PQexitPipelineMode(connection_) != 1) lose(first_line(PQerrorMessage(connection_)));
    reading_ = true;
    sent_ = true;
    cancelled_ = false;
    failure_.reset();
    if (PQsendQuery(connection_, sql.c_str()) != 1) {
        lose(first_line(PQerrorMessage(connection_)));
    }
    unflushed_ = true;
    std::size_t done = 0;
    while (Result result = co_await next(deadline)) {
        const auto status = PQresultStatus(result.get());
        if (status == PGRES_FATAL_ERROR && !failure_) {
            const std::size_t line = line_of(result.get(), sql, done);
            failure_ = error_of(result.get());
            if (line > 0) failure_ = failure_->with_line(line);
        }
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) ++done;
        refuse_copy(result.get());
    }
    end_statement();
    if (PQenterPipelineMode(connection_) != 1) lose(first_line(PQerrorMessage(connection_)));
    if (failure_) throw *std::exchange(failure_, std::nullopt);
}

task::Task<bool> Connection::recover() {
    if (broken_ || connection_ == nullptr) co_return false;
    // Within a script. What is left of it would have to be read before the pipeline mode can begin
    // again, and it may be a statement of hours.
    if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) co_return false;
    // Memory ran out before all of it was sent: no answer has an end.
    if (reading_ && !synced_) co_return false;
    if (reading_) {
        co_await send_cancel();
        failure_.reset();
        co_await drain(cancelled_until_);
        forget_preparing();
        if (broken_) co_return false;
    }
    if (PQtransactionStatus(connection_) != PQTRANS_IDLE) {
        const Instant until = runner_->loop().now() + cancel_wait;
        co_await run(command("rollback"), {.rows_max = 1, .bytes_max = 1}, until);
    }
    co_return clean();
}

task::Task<bool> Connection::answers(Instant deadline) {
    try {
        co_await run(command("select 1"), {.rows_max = 2, .bytes_max = 1'024}, deadline);
        co_return clean();
    } catch (const Error&) {
        co_return false;
    }
}

task::Task<std::vector<Notification>> Connection::notifications(Instant deadline) {
    std::vector<Notification> found;
    while (true) {
        while (PGnotify* const each = PQnotifies(connection_)) {
            found.push_back({.channel = each->relname, .payload = each->extra});
            PQfreemem(each);
        }
        if (!found.empty()) co_return found;
        if (!co_await readiness_.listen(deadline)) co_return found;
        if (PQconsumeInput(connection_) == 0) lose("the server closed the connection");
    }
}

}  // namespace tiderace::db::postgres
