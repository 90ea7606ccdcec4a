// Internal. Layer: the part of one middleware on a loop. Setting: a middleware, or another setting
// of a scope, before there are loops.
//
//   Setting (one, shared) --make(LayerPlace)--> Layer (one per loop)
//
// Owner    Setting: a scope of the site. Layer: SiteLoop.
// Thread   Setting: any loop's, at once. Layer: the loop's.
// Errors   make() reports a fault to LayerPlace::refuse(); the loop must not serve then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/shared_function.h"
#include "tiderace/base/units.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/stages.h"
#include "tiderace/task/states.h"

namespace tiderace::json {
enum class Unknown : std::uint8_t;  // json/type.h
}
namespace tiderace::task {
class Runner;
}

namespace tiderace::http {

using task::state_key;
using task::States;

// The loop that a layer or an endpoint's handler is made for; all of it outlives them.
struct LayerPlace {
    core::EventLoop& loop;
    core::WorkerPool* pool;  // nullptr: none
    task::Runner& runner;
    const States& states;
    Duration timeout{};             // of a function that waits
    std::string_view pattern = {};  // of the endpoint whose handler is made
    std::optional<Error> fault = {};

    // The first reason counts.
    void refuse(Error error) {
        if (!fault) fault = std::move(error);
    }
};

// What a loop has of one middleware.
struct Layer {
    std::shared_ptr<void> owner;
    AccessRule* rule = nullptr;        // before; nullptr: nothing
    ResponseFilter* filter = nullptr;  // after
    bool goes_first = false;           // its rule runs before the rules of outer scopes
    bool goes_last = false;            // its filter runs after the filters of outer scopes
    bool authenticates = false;        // its rule checks a password

    Layer() = default;
    // Made of anything that is a rule, a filter, or both.
    template <typename T>
    explicit Layer(std::shared_ptr<T> made) {
        if constexpr (std::is_base_of_v<AccessRule, T>) rule = made.get();
        if constexpr (std::is_base_of_v<ResponseFilter, T>) filter = made.get();
        owner = std::move(made);
    }
};

// What a function takes that the program has to give: a state, or what a middleware leaves.
struct Need {
    const void* key;  // state_key of its type
    std::string_view type;
    bool constant = false;  // of a state: `const S&`
    bool left = false;      // by a middleware before it (Setting::leaves)
};

// What documents about the routes say of a setting, or of the routes below it.
struct RouteNotes {
    std::string summary = "";            // one line; the innermost one that is set counts, as for
    std::string description = "";        // these two
    std::string operation_id = "";       // a name for generated clients; unique in the App
    std::vector<std::string> tags = {};  // including the layers of all scopes around the route
    bool hidden = false;                 // left out
    std::vector<int> refusals = {};      // statuses that its rule may answer with
    std::vector<int> unsafe_refusals = {};  // and for methods other than GET, HEAD and OPTIONS
    std::string security = "";              // what it requires: "basic", "bearer"; "": nothing
};

// Of each kind but `any`, an inner scope's setting stands in the place of an outer one's. They run
// in this order.
enum class SettingKind : std::uint8_t {
    any,
    first,
    canonical_host,
    rate,
    fields,
    cors,
    password,
    compression,
    server_timing,
    log,
};

// What is set counts for its scope and the scopes inside; the innermost counts.
struct Setting {
    using Make = shared_function<Layer(LayerPlace&)>;

    Make make = {};  // called for each loop when it starts
    SettingKind kind = SettingKind::any;
    bool adds_up = false;  // both count, and the inner one last
    std::optional<std::uint64_t> body_bytes_max = {};
    std::optional<json::Unknown> unknown_members = {};
    std::optional<Duration> handler_timeout = {};
    std::shared_ptr<const AccessLogTarget> access_log = {};
    std::optional<Duration> slow = {};  // longer ones are a warning in the loop's log; 0: none
    std::vector<Need> needs = {};
    const void* leaves = nullptr;  // state_key of a type that functions behind it may take
    std::shared_ptr<const RouteNotes> notes = {};
};

}  // namespace tiderace::http
