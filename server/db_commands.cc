#include "server/db_commands.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "server/command_line/command_words.h"
#include "server/command_line/help_text.h"
#include "server/terminal.h"
#include "server/version.h"
#include "tiderace/db.h"
#include "tiderace/task.h"

namespace tiderace::server {
namespace {

constexpr std::string_view program = "tiderace db";
constexpr const char* url_variable = "DATABASE_URL";
constexpr std::string_view operands = "URL DIR";

std::string help_page() {
    return "tiderace db " + std::string(version()) +
           ": migrations of a database\n\n"
           "Usage: tiderace db COMMAND\n\nCommands\n" +
           command_list(database_commands()) +
           "\nDIR holds files called NUMBER_NAME.sql; NUMBER_NAME.postgres.sql takes the place\n"
           "of one on PostgreSQL. URL is the database:\n"
           "  sqlite:app.db\n"
           "  postgres://user:password@host:5432/name   or /name?socket=/run/postgresql\n"
           "  mariadb://user:password@host:3306/name    mysql:// is the same\n"
           "  -                                         what DATABASE_URL says\n"
           "\nExamples\n"
           "  tiderace db migrate sqlite:app.db migrations\n"
           "  tiderace db status postgres://app@db.example.org/app migrations\n";
}

std::expected<DatabaseCommand, CliFailure> parse_help(const CommandWords& words) {
    if (words.operands.empty()) return DatabaseCommand(Printout{help_page()});
    const CommandSpec* const about = find_command(words.operands[0], database_commands());
    if (about == nullptr) return refuse(unknown_command(words.operands[0], database_commands()));
    return DatabaseCommand(Printout{command_help(*about)});
}

std::expected<DatabaseCommand, CliFailure> parse_one(const CommandSpec& command,
                                                     std::span<const std::string_view> rest) {
    const auto words = split_command_words(command, rest);
    if (!words) return refuse(words.error());
    if (words->has("help")) return DatabaseCommand(Printout{command_help(command)});
    const std::string name(command.name);
    const std::size_t allowed = name == "help" ? 1 : 2;
    if (words->operands.size() > allowed) {
        return refuse(name + " does not take the word " + words->operands[allowed]);
    }
    if (name == "help") return parse_help(*words);
    if (words->operands.size() < 2) {
        return refuse(name + " expects a database and a folder, as in tiderace db " + name +
                      " sqlite:app.db migrations");
    }
    DatabaseOptions options{
        .status_only = name == "status", .url = words->operands[0], .folder = words->operands[1]};
    if (options.url == "-") {
        // A password in the arguments would be seen by ps.
        const char* const url = std::getenv(url_variable);
        if (url == nullptr || *url == '\0') return refuse("- needs a URL in DATABASE_URL");
        options.url = url;
    }
    // A URL that is none is a wrong word; whether the database is there is another matter.
    try {
        (void)db::Url::parse(options.url);
    } catch (const db::Error& error) {
        return refuse(error.message());
    }
    return DatabaseCommand(std::move(options));
}

std::string_view shown_state(db::MigrationState state) {
    switch (state) {
        case db::MigrationState::done:
            return "done";
        case db::MigrationState::pending:
            return "pending";
        case db::MigrationState::changed:
            return "changed after it was done";
        case db::MigrationState::removed:
            return "done, but its file is missing";
        case db::MigrationState::half_done:
            break;
    }
    return "half done";
}

std::string shown_name(const db::Migration& migration) {
    std::string number = std::to_string(migration.number);
    // As the files are called: 0007_name.sql.
    if (number.size() < 4) number.insert(0, 4 - number.size(), '0');
    return number + "_" + migration.name;
}

DatabaseOutcome report_migrations(const std::vector<db::Migration>& all, std::string_view where) {
    DatabaseOutcome outcome;
    std::size_t now = 0;
    for (const db::Migration& each : all) {
        // Earlier ones are counted, not listed: what this run has changed would be lost among them.
        if (!each.done_now) continue;
        ++now;
        outcome.text.append("done  ").append(shown_name(each)).append("\n");
    }
    outcome.text.append(where).append(": ");
    if (now == 0) {
        outcome.text.append("nothing to do, ").append(counted(all.size(), "migration"));
        outcome.text.append(all.size() == 1 ? " was done before\n" : " were done before\n");
    } else {
        outcome.text.append(counted(now, "migration")).append(" done, ");
        outcome.text.append(std::to_string(all.size() - now)).append(" before\n");
    }
    return outcome;
}

DatabaseOutcome report_states(const std::vector<db::Migration>& all,
                              const DatabaseOptions& options) {
    DatabaseOutcome outcome;
    // Most likely the wrong folder was named, and a script should not take that for success.
    if (all.empty()) {
        outcome.complaint = "no file in " + options.folder + " is called NUMBER_NAME.sql";
        return outcome;
    }
    std::size_t longest = 0;
    for (const db::Migration& each : all) longest = std::max(longest, shown_name(each).size());
    std::size_t wrong = 0;
    for (const db::Migration& each : all) {
        std::string name = shown_name(each);
        name.resize(longest + 2, ' ');
        outcome.text.append(name).append(shown_state(each.state)).append("\n");
        wrong += each.state != db::MigrationState::done && each.state != db::MigrationState::pending
                     ? 1
                     : 0;
    }
    if (wrong > 0) {
        outcome.complaint = counted(wrong, "migration") +
                            " cannot stay so: docs/databases.md says what to do about each state";
    }
    return outcome;
}

}  // namespace

std::span<const CommandSpec> database_commands() {
    static const std::array<CommandSpec, 3> all{{
        {.name = "migrate",
         .operand = operands,
         .about = "run the files of SQL in DIR that the database has not seen, in the order of "
                  "their numbers",
         .program = program},
        {.name = "status",
         .operand = operands,
         .about = "list them with their states; changes nothing",
         .program = program},
        {.name = "help",
         .operand = "[COMMAND]",
         .about = "this page, or a command's",
         .program = program},
    }};
    return all;
}

std::expected<DatabaseCommand, CliFailure> parse_database_command_line(
    std::span<const std::string_view> words) {
    if (words.empty() || words[0] == "--help" || words[0] == "-h") {
        return DatabaseCommand(Printout{help_page()});
    }
    if (words[0] == "--version" || words[0] == "-V") {
        return DatabaseCommand(Printout{version_line()});
    }
    const CommandSpec* const command = find_command(words[0], database_commands());
    if (command == nullptr) return refuse(unknown_command(words[0], database_commands()));
    return parse_one(*command, words.subspan(1));
}

// The database's faults are exceptions (tiderace/db.h); here they become the complaint. A thread or
// a file that the machine refuses is a std::system_error.
DatabaseOutcome run_database_command(const DatabaseOptions& options) {
    std::string where;
    try {
        const db::Database database = db::open(options.url);
        where = database.shown();
        if (options.status_only) {
            return report_states(run(db::migration_states(database, options.folder)), options);
        }
        return report_migrations(run(db::migrate(database, options.folder)), where);
    } catch (const db::Error& error) {
        // The database's name without its password (Database::shown), so that the message may be
        // logged.
        if (!where.empty()) where += ": ";
        return {.text = "", .complaint = where + error.message()};
    } catch (const std::system_error& error) {
        return {.text = "", .complaint = error.what()};
    }
}

}  // namespace tiderace::server
