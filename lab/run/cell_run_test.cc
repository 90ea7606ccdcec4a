#include "lab/run/cell_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lab/run/fake_servers_fixture.h"

namespace tiderace::lab::run {
namespace {

using report::Cell;
using report::CellState;
using ::testing::HasSubstr;

bool wait_a_while(Duration time) {
    std::this_thread::sleep_for(time);
    return false;
}

class CellRun : public ::testing::Test {
  protected:
    // A server that answers is waited for as long as a loaded machine may take; only one that never
    // answers uses all of it.
    static constexpr Patience patient{.stall = 60s, .answer = 60s, .others = 60s};
    static constexpr Patience impatient{.stall = 1s, .answer = 1500ms, .others = 1s};

    Cell run(const RunSubject& subject, std::string_view workload = "churn",
             std::uint64_t connections = 4, const Patience& patience = patient) {
        auto cell = run_cell({.subject = &subject,
                              .workload = find_workload(workload),
                              .site = &site_,
                              .connections = connections,
                              .round = 2,
                              .time = 150ms,
                              .patience = patience},
                             wait_a_while);
        EXPECT_TRUE(cell);
        return cell ? *cell : Cell{};
    }

    SiteFolder site_ = *SiteFolder::make();
};

TEST_F(CellRun, AServerThatAnswersHasFigures) {
    const Cell cell = run(fake_subject("fake", Manner::right), "scale");
    EXPECT_EQ(cell.state, CellState::ok) << cell.reason;
    EXPECT_EQ(cell.subject, "fake");
    EXPECT_EQ(cell.workload, "scale");
    EXPECT_EQ(cell.round, 2U);
    EXPECT_GT(cell.answers, 0U);
    EXPECT_GT(cell.per_second, 0);
    EXPECT_GT(cell.cpu_us, 0);
    EXPECT_GT(cell.memory_bytes, 0U);
    EXPECT_EQ(cell.open_max, 4U);
    ASSERT_FALSE(cell.latency_us.empty());
    EXPECT_GT(cell.latency_us[0][1], 0);
    EXPECT_TRUE(cell.errors.empty());
}

TEST_F(CellRun, ConnectionsThatCloseAreCountedAsTheyOpen) {
    const Cell cell = run(fake_subject("fake", Manner::right), "churn");
    EXPECT_EQ(cell.state, CellState::ok) << cell.reason;
    EXPECT_GT(cell.opened, 4U);
    EXPECT_GT(cell.opened_per_second, 0);
}

TEST_F(CellRun, IdleConnectionsAskOnce) {
    const Cell cell = run(fake_subject("fake", Manner::right), "idle", 20);
    EXPECT_EQ(cell.state, CellState::ok) << cell.reason;
    EXPECT_EQ(cell.open_max, 20U);
    EXPECT_EQ(cell.answers, 0U) << "all were answered before the time that is measured";
    EXPECT_FALSE(cell.latency_us.empty());
}

// All its answers come while the connections settle, and none in the measured time.
TEST_F(CellRun, TheLatencyIsThatOfTheMeasuredTime) {
    constexpr Duration time = 150ms;
    const FakeServer* server = nullptr;
    RunSubject subject;
    subject.facts.name = "fake";
    subject.start = [&](const ServerPlan& plan) -> Result<std::unique_ptr<RunningServer>> {
        auto made = std::make_unique<FakeServer>(Manner::mute_after_some,
                                                 bytes_of(plan.folder + file_of(plan.path)));
        server = made.get();
        return made;
    };
    // The only client has its answers once its next request has arrived.
    const Wait until_muted = [&](Duration wanted) {
        while (wanted == time / 10 && !server->has_muted()) wait_a_while(1ms);
        return wait_a_while(wanted);
    };
    const auto cell = run_cell({.subject = &subject,
                                .workload = find_workload("scale"),
                                .site = &site_,
                                .connections = 1,
                                .time = time,
                                .patience = impatient},
                               until_muted);
    ASSERT_TRUE(cell);
    EXPECT_EQ(cell->state, CellState::hung) << cell->reason;
    EXPECT_EQ(cell->answers, 0U);
    EXPECT_TRUE(cell->latency_us.empty());
}

TEST_F(CellRun, AWrongByteIsFoundBeforeTheLoad) {
    const Cell cell = run(fake_subject("fake", Manner::wrong_at_once));
    EXPECT_EQ(cell.state, CellState::wrong);
    EXPECT_THAT(cell.reason, HasSubstr("first answer"));
    EXPECT_THAT(cell.reason, HasSubstr("wrong hash"));
}

// The patience is for answers that may still come. Once one is wrong, no other changes the verdict,
// and the load would take the CPUs for nothing.
TEST_F(CellRun, AWrongLengthUnderLoadEndsTheCellAtOnce) {
    const RunSubject subject = fake_subject("fake", Manner::wrong_later);
    constexpr int looks_most = 6'000;  // `patient` would make 24,000
    int looks = 0;
    const auto cell = run_cell({.subject = &subject,
                                .workload = find_workload("scale"),
                                .site = &site_,
                                .connections = 4,
                                .time = 150ms,
                                .patience = patient},
                               [&](Duration time) {
                                   std::this_thread::sleep_for(time);
                                   return ++looks > looks_most;
                               });
    ASSERT_TRUE(cell) << "it waited for answers that change nothing";
    EXPECT_EQ(cell->state, CellState::wrong);
    EXPECT_THAT(cell->reason, HasSubstr("wrong length"));
}

TEST_F(CellRun, AServerThatStopsAnsweringHangs) {
    const Cell cell = run(fake_subject("fake", Manner::mute_later), "scale", 4, impatient);
    EXPECT_EQ(cell.state, CellState::hung) << cell.reason;
}

TEST_F(CellRun, AServerThatStopsInTheMiddleHangsToo) {
    const Cell cell = run(fake_subject("fake", Manner::mute_while_measured), "scale", 4, impatient);
    EXPECT_EQ(cell.state, CellState::hung) << cell.reason;
}

TEST_F(CellRun, AServerThatEndsDied) {
    const Cell cell = run(fake_subject("fake", Manner::dies), "scale");
    EXPECT_EQ(cell.state, CellState::died);
    EXPECT_THAT(cell.reason, HasSubstr("status 3"));
}

TEST_F(CellRun, AServerThatTakesOnlySomeRefusedTheOthers) {
    const Cell cell = run(fake_subject("fake", Manner::refuses_two), "scale", 4, impatient);
    EXPECT_EQ(cell.state, CellState::refused) << cell.reason;
    EXPECT_THAT(cell.reason, HasSubstr("2 of 4 connections"));
    EXPECT_GT(cell.answers, 0U);
}

TEST_F(CellRun, AServerThatDoesNotStartSaysWhy) {
    RunSubject subject = fake_subject("fake", Manner::right);
    subject.start = [](const ServerPlan&) -> Result<std::unique_ptr<RunningServer>> {
        return fail(Error(0, "start", "fake", "no legs"));
    };
    const Cell cell = run(subject);
    EXPECT_EQ(cell.state, CellState::failed);
    EXPECT_THAT(cell.reason, HasSubstr("no legs"));
}

TEST_F(CellRun, AnInterruptedRunMakesNoCell) {
    const RunSubject subject = fake_subject("fake", Manner::right);
    int looks = 0;
    const auto cell = run_cell({.subject = &subject,
                                .workload = find_workload("scale"),
                                .site = &site_,
                                .connections = 4,
                                .time = 10s},
                               [&](Duration time) {
                                   std::this_thread::sleep_for(std::min<Duration>(time, 1ms));
                                   return ++looks > 3;
                               });
    EXPECT_FALSE(cell);
}

load::LoadTally tally_of(std::uint64_t connections, std::uint64_t open, std::uint64_t starved) {
    load::LoadTally tally;
    tally.connections = connections;
    tally.open_max = open;
    tally.starved = starved;
    tally.answers = 100'000;
    return tally;
}

TEST_F(CellRun, AnInterruptedStartMakesNoCell) {
    RunSubject subject = fake_subject("fake", Manner::right);
    subject.start = [](const ServerPlan& plan) -> Result<std::unique_ptr<RunningServer>> {
        EXPECT_TRUE(plan.wait(1h));
        return fail(Error(0, "start", "fake", "was not wanted any more"));
    };
    EXPECT_FALSE(run_cell({.subject = &subject,
                           .workload = find_workload("scale"),
                           .site = &site_,
                           .connections = 4,
                           .time = 10s},
                          [](Duration) { return true; }));
}

TEST(Judge, LooksAtTheWorstFirst) {
    Observed seen{.tally = tally_of(100, 100, 0), .asked = 100, .answers = 5000};
    EXPECT_EQ(judge(seen), Verdict{});
    seen.tally.error(load::LoadError::reset) = 50;
    EXPECT_EQ(judge(seen), Verdict{}) << "one error in two thousand is reported, but fails nothing";
    seen.tally.error(load::LoadError::reset) = 500;
    EXPECT_EQ(judge(seen).state, CellState::failed);
    seen.tally.error(load::LoadError::wrong_status) = 1;
    EXPECT_EQ(judge(seen).state, CellState::wrong);
    seen.tally.error(load::LoadError::wrong_status) = 0;
    seen.stopped = true;
    EXPECT_EQ(judge(seen), (Verdict{CellState::hung, "after 5,000 answers no other one came"}));
    seen.ended = "it was ended by signal 11";
    EXPECT_EQ(judge(seen), (Verdict{CellState::died, "it was ended by signal 11"}));
}

TEST(Judge, TellsRefusedFromStarvedFromHung) {
    Observed seen{.tally = tally_of(10'000, 1'012, 8'988), .asked = 10'000, .answers = 5000};
    EXPECT_EQ(judge(seen).state, CellState::refused);
    EXPECT_THAT(judge(seen).reason, HasSubstr("1,012 of 10,000"));
    seen.closes = true;
    EXPECT_EQ(judge(seen).state, CellState::starved) << "few are open at once where each closes";
    seen = {.tally = tally_of(10'000, 10'000, 9'936), .asked = 10'000, .answers = 5000};
    EXPECT_EQ(judge(seen).state, CellState::starved);
    EXPECT_THAT(judge(seen).reason, HasSubstr("9,936 of 10,000"));
    seen.tally.starved = 5;
    EXPECT_EQ(judge(seen).state, CellState::ok);
    seen = {.tally = load::LoadTally{}, .asked = 10, .answers = 0};
    EXPECT_EQ(judge(seen).state, CellState::hung);
    seen.tally.error(load::ConnectError::refused) = 10;
    EXPECT_EQ(judge(seen), (Verdict{CellState::failed, "no connection could be opened"}));
}

// The engine `queue` at 10,000 connections: 74 of them met a full queue, before they had asked.
TEST(Judge, AFullQueueIsNoWrongAnswer) {
    Observed seen{.tally = tally_of(10'000, 10'000, 0), .asked = 10'000, .answers = 5000};
    seen.tally.error(load::LoadError::turned_away) = 74;
    EXPECT_EQ(seen.tally.wrong_status, 0);
    EXPECT_EQ(judge(seen), Verdict{}) << "they came in at a later try";
    seen.tally.answers = 5'000;
    EXPECT_EQ(judge(seen),
              (Verdict{CellState::refused, "requests without an answer: 74 answers of 503"}));
    seen.tally.open_max = 9'926;
    seen.tally.starved = 74;
    EXPECT_EQ(judge(seen), (Verdict{CellState::refused,
                                    "it served 9,926 of 10,000 connections, the others: 74 "
                                    "answers of 503"}));
    seen.tally.error(load::LoadError::unasked) = 1;
    EXPECT_EQ(judge(seen), (Verdict{CellState::wrong, "answers: 1 unasked bytes"}));
}

TEST(Judge, AServerWithoutRoomMaySaySo) {
    Observed seen{.tally = tally_of(1'000, 1'000, 600), .asked = 1'000, .answers = 5000};
    seen.tally.error(load::LoadError::wrong_status) = 3'000;
    seen.tally.wrong_status = 503;
    EXPECT_EQ(judge(seen).state, CellState::refused);
    EXPECT_THAT(judge(seen).reason, HasSubstr("400 of 1,000"));
    EXPECT_THAT(judge(seen).reason, HasSubstr("3,000 answers of 503"));
    // Refused before a request.
    seen.tally.error(load::LoadError::turned_away) = 500;
    EXPECT_THAT(judge(seen).reason, HasSubstr("3,500 answers of 503"));
    seen.tally.error(load::LoadError::turned_away) = 0;
    seen.tally.starved = 0;
    EXPECT_EQ(judge(seen).state, CellState::refused) << "three of a hundred";
    seen.tally.error(load::LoadError::wrong_status) = 3;
    EXPECT_EQ(judge(seen).state, CellState::ok);
    seen.tally.wrong_status = 404;
    EXPECT_EQ(judge(seen).state, CellState::wrong);
    EXPECT_THAT(judge(seen).reason, HasSubstr("(404)"));
}

}  // namespace
}  // namespace tiderace::lab::run
