#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"
#include "tiderace/tls/client_context.h"
#include "tiderace/tls/library.h"
#include "tiderace/tls/self_signed.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::tls {
namespace {

TEST(OpensslAbsent, EverythingSaysSoInOneSentence) {
    testing::FakeWorld world;
    const std::string all[]{ServerContext::create(world.loop(), {}).error().message(),
                            ClientContext::create(world.loop(), {}).error().message(),
                            TicketKeys::fresh().error().message(),
                            TicketKeys().rotated().error().message(),
                            self_signed_folder().error().message(),
                            self_signed("folder", "host", {}, 0).error().message()};
    for (const std::string& said : all) {
        EXPECT_NE(said.find("this program was built without TLS"), std::string::npos) << said;
    }
    EXPECT_FALSE(is_built_in());
    EXPECT_EQ(library_text(), "none, built without it");
}

}  // namespace
}  // namespace tiderace::tls
