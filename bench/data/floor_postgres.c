/* floor_postgres: single-row queries by libpq alone, in pipeline mode.
 *
 *   floor_postgres SOCKET_FOLDER NAME CONNECTIONS DEPTH SECONDS
 *
 * Connections with DEPTH statements under way on each, and one sync behind each statement: what
 * tasks need that know nothing of one another. Each row is copied and looked at. */
#include <libpq-fe.h>
#include <poll.h>

#include "floor.h"

enum { connections_max = 64, depth_max = 256 };

struct line {
    PGconn* connection;
    long ids[depth_max]; /* asked for, in order */
    unsigned asked, answered;
};

static unsigned long answers, wrong;

static void ask(struct line* line) {
    char text[24];
    const char* values[1] = {text};
    const long id = next_id();
    line->ids[line->asked++ % depth_max] = id;
    snprintf(text, sizeof text, "%ld", id);
    if (PQsendQueryPrepared(line->connection, "one", 1, values, NULL, NULL, 0) != 1 ||
        PQpipelineSync(line->connection) != 1) {
        give_up(PQerrorMessage(line->connection));
    }
}

static void look_at(struct line* line, PGresult* result) {
    char name[64], motto[256];
    const long wanted = line->ids[line->answered++ % depth_max];
    ++answers;
    if (PQntuples(result) != 1 || strtol(PQgetvalue(result, 0, 0), NULL, 10) != wanted) {
        ++wrong;
        return;
    }
    snprintf(name, sizeof name, "%s", PQgetvalue(result, 0, 1));
    snprintf(motto, sizeof motto, "%s", PQgetisnull(result, 0, 2) ? "" : PQgetvalue(result, 0, 2));
    if (strncmp(name, "member ", 7) != 0) ++wrong;
}

/* All that has come. */
static void take(struct line* line, int again) {
    if (PQconsumeInput(line->connection) != 1) give_up(PQerrorMessage(line->connection));
    while (line->asked > line->answered && !PQisBusy(line->connection)) {
        PGresult* const result = PQgetResult(line->connection);
        if (result == NULL) continue; /* the end of a statement's results */
        const ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_TUPLES_OK) {
            look_at(line, result);
            if (again) ask(line);
        } else if (status != PGRES_PIPELINE_SYNC) {
            give_up(PQresultErrorMessage(result));
        }
        PQclear(result);
    }
    if (PQflush(line->connection) < 0) give_up(PQerrorMessage(line->connection));
}

static void open_line(struct line* line, const char* folder, const char* name) {
    const char* keys[] = {"host", "dbname", "user", NULL};
    const char* values[] = {folder, name, "tester", NULL};
    line->connection = PQconnectdbParams(keys, values, 0);
    if (PQstatus(line->connection) != CONNECTION_OK) give_up(PQerrorMessage(line->connection));
    PQclear(PQprepare(line->connection, "one", "select id, name, motto from member where id = $1",
                      0, NULL));
    if (PQsetnonblocking(line->connection, 1) != 0 || PQenterPipelineMode(line->connection) != 1) {
        give_up(PQerrorMessage(line->connection));
    }
}

int main(int count, char** words) {
    static struct line lines[connections_max];
    struct pollfd polled[connections_max];
    if (count != 6) give_up("usage: floor_postgres SOCKET_FOLDER NAME CONNECTIONS DEPTH SECONDS");
    const int connections = atoi(words[3]), depth = atoi(words[4]);
    if (connections < 1 || connections > connections_max || depth < 1 || depth > depth_max) {
        give_up("too many");
    }
    for (int i = 0; i < connections; ++i) {
        open_line(&lines[i], words[1], words[2]);
        polled[i] = (struct pollfd){.fd = PQsocket(lines[i].connection), .events = POLLIN};
    }
    const double begun = now(), end = begun + atof(words[5]);
    for (int i = 0; i < connections; ++i) {
        for (int each = 0; each < depth; ++each) ask(&lines[i]);
    }
    for (int left = connections; left > 0;) {
        if (poll(polled, (nfds_t)connections, 5000) < 1) give_up("no answer in time");
        const int again = now() < end;
        for (int i = 0; i < connections; ++i) {
            if (polled[i].revents == 0) continue;
            take(&lines[i], again);
            if (lines[i].asked == lines[i].answered) {
                polled[i].fd = -1;
                --left;
            }
        }
    }
    say(answers, wrong, now() - begun);
    return 0;
}
