/* floor_mariadb: single-row queries by Connector/C alone.
 *
 *   floor_mariadb SOCKET NAME CONNECTIONS SECONDS
 *
 * Connections with one prepared statement under way on each (the protocol has no pipeline), by the
 * calls that begin, wait and go on. Each row is copied and looked at. */
#include <mysql.h>
#include <poll.h>

#include "floor.h"

enum { connections_max = 64 };

struct line {
    MYSQL* connection;
    MYSQL_STMT* statement;
    MYSQL_BIND parameter, columns[3];
    long long wanted, id;
    char name[64], motto[256];
    unsigned long name_size, motto_size;
    my_bool motto_is_null;
    int within; /* what it waits for; 0: nothing */
};

static unsigned long answers, wrong;

static void check(struct line* line, int failed) {
    if (failed) give_up(mysql_stmt_error(line->statement));
}

static void open_line(struct line* line, const char* socket, const char* name) {
    static const char sql[] = "select id, name, motto from member where id = ?";
    line->connection = mysql_init(NULL);
    mysql_optionsv(line->connection, MYSQL_OPT_NONBLOCK, NULL);
    if (!mysql_real_connect(line->connection, NULL, "root", "", name, 0, socket, 0)) {
        give_up(mysql_error(line->connection));
    }
    line->statement = mysql_stmt_init(line->connection);
    check(line, mysql_stmt_prepare(line->statement, sql, sizeof sql - 1));
    line->parameter.buffer_type = MYSQL_TYPE_LONGLONG;
    line->parameter.buffer = &line->wanted;
    check(line, mysql_stmt_bind_param(line->statement, &line->parameter));
    line->columns[0].buffer_type = MYSQL_TYPE_LONGLONG;
    line->columns[0].buffer = &line->id;
    line->columns[1].buffer_type = line->columns[2].buffer_type = MYSQL_TYPE_STRING;
    line->columns[1].buffer = line->name;
    line->columns[1].buffer_length = sizeof line->name;
    line->columns[1].length = &line->name_size;
    line->columns[2].buffer = line->motto;
    line->columns[2].buffer_length = sizeof line->motto;
    line->columns[2].length = &line->motto_size;
    line->columns[2].is_null = &line->motto_is_null;
    check(line, mysql_stmt_bind_result(line->statement, line->columns));
}

/* The rows are read to their end. The answer is one packet: nothing waits for the rest of it. */
static void look_at(struct line* line) {
    int failed = 0;
    unsigned long rows = 0;
    while ((failed = mysql_stmt_fetch(line->statement)) == 0) {
        ++rows;
        if (line->id != line->wanted || strncmp(line->name, "member ", 7) != 0) ++wrong;
    }
    check(line, failed != MYSQL_NO_DATA);
    if (rows != 1) ++wrong;
    mysql_stmt_free_result(line->statement);
    ++answers;
}

/* Asks until an answer is waited for, or none is to be asked for. */
static void go_on(struct line* line, int ready, int again) {
    int failed = 0;
    if (line->within) line->within = mysql_stmt_execute_cont(&failed, line->statement, ready);
    while (line->within == 0) {
        check(line, failed);
        if (line->wanted != 0) look_at(line);
        if (!again) return;
        line->wanted = next_id();
        line->within = mysql_stmt_execute_start(&failed, line->statement);
    }
}

int main(int count, char** words) {
    static struct line lines[connections_max];
    struct pollfd polled[connections_max];
    if (count != 5) give_up("usage: floor_mariadb SOCKET NAME CONNECTIONS SECONDS");
    const int connections = atoi(words[3]);
    if (connections < 1 || connections > connections_max) give_up("too many connections");
    for (int i = 0; i < connections; ++i) {
        open_line(&lines[i], words[1], words[2]);
        polled[i] =
            (struct pollfd){.fd = (int)mysql_get_socket(lines[i].connection), .events = POLLIN};
    }
    const double begun = now(), end = begun + atof(words[4]);
    for (int i = 0; i < connections; ++i) go_on(&lines[i], 0, 1);
    for (int left = connections; left > 0;) {
        if (poll(polled, (nfds_t)connections, 5000) < 1) give_up("no answer in time");
        const int again = now() < end;
        for (int i = 0; i < connections; ++i) {
            if (polled[i].revents == 0) continue;
            go_on(&lines[i], MYSQL_WAIT_READ, again);
            if (lines[i].within == 0) {
                polled[i].fd = -1;
                --left;
            }
        }
    }
    say(answers, wrong, now() - begun);
    return 0;
}
