// rival_httplib PORT: the text of lib_app with cpp-httplib, which has a thread for each connection.
#include <httplib.h>

#include <cstdlib>

int main(int argc, char** argv) {
    httplib::Server server;
    // A connection keeps its thread, so that there are as many as connections; they share one core.
    server.new_task_queue = [] { return new httplib::ThreadPool(80); };
    server.set_keep_alive_max_count(1'000'000'000);
    server.set_keep_alive_timeout(60);
    server.set_tcp_nodelay(true);
    server.Get("/hello.txt", [](const httplib::Request&, httplib::Response& response) {
        response.set_content("hello\n", "text/plain");
    });
    return argc > 1 && server.listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}
