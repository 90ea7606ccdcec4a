// One request through one rule or filter, before a handler that says "hello".
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/http/site_loop.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::filter {

class FilterTest : public ::testing::Test, public Handler {
  protected:
    template <typename Part>
    testing::RecordedExchange& ask(Part& part, std::string_view method,
                                   testing::RecordedExchange::Fields fields = {}) {
        auto site = std::make_unique<SiteLoop>(*this);
        if constexpr (std::is_base_of_v<AccessRule, Part>) {
            site->add(static_cast<AccessRule&>(part));
        }
        if constexpr (std::is_base_of_v<ResponseFilter, Part>) {
            site->add(static_cast<ResponseFilter&>(part));
        }
        exchange_ =
            core::make_ref<testing::RecordedExchange>(*loop_, method, "/", std::move(fields));
        site->serve(*exchange_);
        site_ = std::move(site);
        return *exchange_;
    }

  private:
    void handle(Exchange& exchange) override {
        Response response;
        response.set_body("hello");
        exchange.respond(response);
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    std::unique_ptr<SiteLoop> site_;
    core::Ref<testing::RecordedExchange> exchange_;
};

}  // namespace tiderace::http::filter
