#include "tiderace/http/app/ready_middleware.h"

#include "tiderace/base/ascii.h"
#include "tiderace/http/filter/allowed_hosts.h"
#include "tiderace/http/filter/compress.h"
#include "tiderace/http/filter/cross_origin.h"
#include "tiderace/http/filter/made_tag.h"
#include "tiderace/http/filter/request_id.h"

namespace tiderace::http {
namespace {

class SecurityHeadersFilter final : public ResponseFilter {
  public:
    explicit SecurityHeadersFilter(const SecurityHeaders& headers)
        : policy_("Content-Security-Policy", headers.content_security_policy),
          frames_("X-Frame-Options", headers.frame_options),
          referrer_("Referrer-Policy", headers.referrer_policy),
          types_("X-Content-Type-Options", headers.content_type_options),
          transport_("Strict-Transport-Security", headers.strict_transport_security) {}

    void filter(Exchange& exchange, Response& response) override {
        policy_.add_to(response);
        frames_.add_to(response);
        referrer_.add_to(response);
        // Files have it among the fields that are rendered beforehand.
        if (!response.find(wire::FieldName::x_content_type_options)) {
            types_.add_to(response);
        }
        // RFC 6797, 7.2: never over plain HTTP.
        if (exchange.request().secure) {
            transport_.add_to(response);
        }
    }

  private:
    // Its name is looked up once.
    class Field {
      public:
        Field(ByteView name, std::string value)
            : id_(wire::intern_field_name(name)), name_(name), value_(std::move(value)) {}

        void add_to(Response& response) const {
            if (value_.empty()) return;
            for (const ResponseField& field : response.fields()) {
                // A handler that set the field itself knows better.
                if (is_named(field)) return;
            }
            id_ == wire::FieldName::other ? response.add(name_, value_) : response.add(id_, value_);
        }

      private:
        bool is_named(const ResponseField& field) const {
            return field.id == id_ &&
                   (id_ != wire::FieldName::other || equals_ignoring_case(field.name, name_));
        }

        wire::FieldName id_;
        ByteView name_;  // a literal
        std::string value_;
    };

    Field policy_, frames_, referrer_, types_, transport_;
};

// With encoders of its loop, which its answers may keep for longer than it lives.
class Compression final : public ResponseFilter {
  public:
    explicit Compression(const CompressionOptions& options)
        : compress_(core::make_ref<coding::EncoderPool>(), {.bytes_min = options.bytes_min}),
          with_cookies_(options.with_cookies) {}

    void filter(Exchange& exchange, Response& response) override {
        // The length of a compressed answer could give away a secret beside an attacker's text
        // (BREACH).
        if (!with_cookies_ && response.find(wire::FieldName::set_cookie)) return;
        compress_.filter(exchange, response);
    }

  private:
    filter::Compress compress_;
    bool with_cookies_;
};

}  // namespace

Middleware describe(RouteNotes notes) {
    return Middleware(Setting()).noted(std::move(notes));
}
Middleware body_limit(std::uint64_t bytes_max) {
    return Middleware(Setting{.body_bytes_max = bytes_max});
}
Middleware unknown_members(json::Unknown unknown) {
    return Middleware(Setting{.unknown_members = unknown});
}
Middleware time_limit(Duration timeout) {
    return Middleware(Setting{.handler_timeout = timeout}).noted({.refusals = {503}});
}
Middleware access_log(std::string path, AccessLogFormat format) {
    return Middleware(
        Setting{.access_log = std::make_shared<const AccessLogTarget>(std::move(path), format)});
}
Middleware request_ids(bool trust_client) {
    return rule_for_each_loop(
        [=](LayerPlace&) { return std::make_shared<filter::RequestId>(trust_client); });
}
Middleware security_headers(SecurityHeaders headers) {
    return rule_for_each_loop([headers = std::move(headers)](LayerPlace&) {
        return std::make_shared<SecurityHeadersFilter>(headers);
    });
}
Middleware cors(filter::CorsOptions options) {
    return Middleware(Middleware::Make([options = std::move(options)](LayerPlace&) {
        Layer layer(std::make_shared<filter::Cors>(options));
        // A browser sends a preflight without credentials (Fetch standard).
        layer.goes_first = true;
        return layer;
    }));
}
Middleware allowed_hosts(std::vector<std::string> names) {
    return rule_for_each_loop([names = std::move(names)](LayerPlace&) {
               return std::make_shared<filter::AllowedHosts>(names);
           })
        .noted({.refusals = {421}});
}
Middleware basic_auth(filter::BasicAuthOptions options) {
    return rule_for_each_loop([options = std::move(options)](LayerPlace& place) {
               // A password's hash is slow on purpose, and would hold up all other requests.
               TR_CHECK(place.pool != nullptr, "basic_auth verifies on the threads of a pool");
               Layer layer(std::make_shared<filter::BasicAuth>(place.loop, *place.pool, options));
               layer.authenticates = true;
               return layer;
           })
        .noted({.refusals = {401}, .security = "basic"});
}
Middleware bearer_auth(filter::BearerAuthOptions options) {
    return rule_for_each_loop([options = std::move(options)](LayerPlace&) {
               return std::make_shared<filter::BearerAuth>(options);
           })
        .noted({.refusals = {401}, .security = "bearer"});
}
Middleware cross_origin(std::vector<std::string> trusted) {
    return rule_for_each_loop([trusted = std::move(trusted)](LayerPlace&) {
               return std::make_shared<filter::CrossOrigin>(trusted);
           })
        .noted({.unsafe_refusals = {403}});
}
Middleware compress(CompressionOptions options) {
    return Middleware(Middleware::Make([options](LayerPlace&) {
        Layer layer(std::make_shared<Compression>(options));
        // Others decide by the bytes (entity_tags), and it decides by what they add (a cookie).
        layer.goes_last = true;
        return layer;
    }));
}
Middleware entity_tags() {
    return rule_for_each_loop([](LayerPlace&) { return std::make_shared<filter::MadeTag>(); });
}

}  // namespace tiderace::http
