// todo [ADDRESS [CERTIFICATE KEY]]
//
// TODO_PASSWORD is the password of the sign-in, TODO_DATABASE the database of the lists
// (sqlite:todo.db). With TODO_DEVELOPMENT, templates are read again for each page.
#include <tiderace/task.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "examples/todo/todo.h"

int main(int argc, char** argv) {
    const char* const password = std::getenv("TODO_PASSWORD");
    if (password == nullptr) {
        std::fputs("todo: set TODO_PASSWORD\n", stderr);
        return 1;
    }
    const char* const url = std::getenv("TODO_DATABASE");
    try {
        const auto db = tiderace::db::open(url != nullptr ? url : "sqlite:todo.db");
        tiderace::run(prepare(db));
        auto app = make_todo(db, password, std::getenv("TODO_DEVELOPMENT") != nullptr);
        tiderace::http::ServeOptions options{.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"};
        if (argc > 3) options.tls.certificates = {{argv[2], argv[3]}};
        return app.serve(options);
    } catch (const std::exception& fault) {
        std::fprintf(stderr, "todo: %s\n", fault.what());
        return 1;
    }
}
