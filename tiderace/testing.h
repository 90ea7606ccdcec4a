// Tests of applications: an App driven in memory, without a port, under a clock that the test owns.
//
//     #include <gtest/gtest.h>
//     #include <tiderace/app.h>
//     #include <tiderace/testing.h>
//
//     struct Todo { std::string title; bool done; };
//     struct Todos { std::vector<Todo> all; };
//
//     tiderace::http::App make_app() {
//         using namespace tiderace::http;
//         App app;
//         app.state<Todos>([](tiderace::core::EventLoop&) { return std::make_unique<Todos>(); });
//         app.get<"/todos">([](Todos& todos) { return todos.all; });
//         app.post<"/todos">([](Json<Todo> todo, Todos& todos) {
//             todos.all.push_back(*todo);
//             return Response(201);
//         });
//         app.get<"/ticks">([]() -> Events {
//             for (int i = 0;; ++i) {
//                 co_yield {.data = std::to_string(i)};
//                 co_await tiderace::sleep(std::chrono::seconds(1));
//             }
//         });
//         return app;
//     }
//
//     TEST(Todos, AreKept) {
//         auto app = make_app();
//         tiderace::testing::Client client(app);
//         EXPECT_EQ(client.post("/todos", Todo{"write a test", false}).status, 201);
//         const auto answer = client.get("/todos");
//         EXPECT_EQ(answer.status, 200);
//         EXPECT_EQ(answer.header("Content-Type"), "application/json");
//         EXPECT_EQ(answer.json<std::vector<Todo>>().at(0).title, "write a test");
//         EXPECT_EQ(client.post("/todos", "no JSON").status, 415);
//     }
//
//     TEST(Ticks, ComeOnceASecond) {
//         auto app = make_app();
//         tiderace::testing::Client client(app);
//         auto ticks = client.open("/ticks");
//         EXPECT_EQ(ticks.next_event()->data, "0");
//         EXPECT_FALSE(ticks.next_event());  // no time has passed
//         client.advance(std::chrono::seconds(1));
//         EXPECT_EQ(ticks.next_event()->data, "1");
//     }
//
// Link `tiderace::testing`. Requests go through the real HTTP/1.1 server, over a network in memory:
// limits, deadlines and refusals are the real ones. testing/client.h says the rest. A real
// PostgreSQL or MariaDB: testing/database_server.h.
#pragma once

#include "tiderace/testing/client.h"
#include "tiderace/testing/temporary_folder.h"
