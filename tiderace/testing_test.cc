// The example at the top of tiderace/testing.h: its tests are tests of this program.
#include "tiderace/testing.h"

#include "testing_example.h"

TEST(TestingHeader, GivesWhatItsExampleUses) {
    const auto app = make_app();
    tiderace::testing::Client client(app);
    EXPECT_EQ(client.get("/todos").json<std::vector<Todo>>().size(), 0U);
}
