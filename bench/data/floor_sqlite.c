/* floor_sqlite: single-row queries by SQLite alone, one prepared statement in one thread.
 *
 *   floor_sqlite FILE SECONDS */
#include <sqlite3.h>

#include "floor.h"

int main(int count, char** words) {
    static const char sql[] = "select id, name, motto from member where id = ?";
    sqlite3* database = NULL;
    sqlite3_stmt* statement = NULL;
    unsigned long answers = 0, wrong = 0;
    if (count != 3) give_up("usage: floor_sqlite FILE SECONDS");
    if (sqlite3_open_v2(words[1], &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
        sqlite3_prepare_v2(database, sql, -1, &statement, NULL)) {
        give_up(sqlite3_errmsg(database));
    }
    const double begun = now(), end = begun + atof(words[2]);
    while (now() < end) {
        char name[64], motto[256];
        const long id = next_id();
        sqlite3_bind_int64(statement, 1, id);
        if (sqlite3_step(statement) != SQLITE_ROW) give_up(sqlite3_errmsg(database));
        const char* const text = (const char*)sqlite3_column_text(statement, 2);
        snprintf(motto, sizeof motto, "%s", text != NULL ? text : "");
        snprintf(name, sizeof name, "%s", (const char*)sqlite3_column_text(statement, 1));
        if (sqlite3_column_int64(statement, 0) != id || strncmp(name, "member ", 7) != 0) ++wrong;
        if (sqlite3_step(statement) != SQLITE_DONE) ++wrong;
        sqlite3_reset(statement);
        ++answers;
    }
    say(answers, wrong, now() - begun);
    return 0;
}
