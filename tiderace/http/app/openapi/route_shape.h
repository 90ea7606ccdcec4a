// Internal. RouteShape: what a handler takes and returns, by its types, for documents about an App.
//
//   [](int id, Query<Page> page, Json<User> user) -> std::expected<Created<User>, Problem>
//
//   parameter integer;  query Page;  body application/json User
//   answer 201 application/json User;  answer of any status application/problem+json
//
// Thread   Any; built from constants.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tiderace/http/app/arguments.h"
#include "tiderace/http/app/from_request/from_request.h"
#include "tiderace/http/app/results.h"

namespace tiderace::http {

template <typename T>
class Query;  // form.h
template <typename T>
class Form;
class BodyStream;
class Multipart;

namespace app_parts {

struct RouteItem {
    enum class Role : std::uint8_t { parameter, query, body, answer };
    Role role;
    int status = 0;                    // of an answer; 0: any
    std::string_view media = {};       // "": none, or not known
    const json::Type* type = nullptr;  // null: a text, or bytes
};
using RouteShape = std::vector<RouteItem>;

// A type's description of an argument; most add nothing.
template <typename A>
struct ArgumentShape {
    static void list(RouteShape& shape) {
        if constexpr (json::CharacterLike<A>) {
            shape.push_back({.role = RouteItem::Role::parameter});
        } else if constexpr (PathParameter<A>) {
            shape.push_back({.role = RouteItem::Role::parameter, .type = &json::type_of<A>});
        }
    }
};
template <typename T>
struct ArgumentShape<Query<T>> {
    static void list(RouteShape& shape) {
        shape.push_back({.role = RouteItem::Role::query, .type = &json::type_of<T>});
    }
};
template <typename T>
struct ArgumentShape<Json<T>> {
    static void list(RouteShape& shape) {
        shape.push_back({.role = RouteItem::Role::body,
                         .media = "application/json",
                         .type = &json::type_of<T>});
    }
};
template <typename T>
struct ArgumentShape<Form<T>> {
    static void list(RouteShape& shape) {
        shape.push_back({.role = RouteItem::Role::body,
                         .media = "application/x-www-form-urlencoded",
                         .type = &json::type_of<T>});
    }
};
template <>
struct ArgumentShape<Multipart> {
    static void list(RouteShape& shape) {
        shape.push_back({.role = RouteItem::Role::body, .media = "multipart/form-data"});
    }
};
template <>
struct ArgumentShape<Body> {
    static void list(RouteShape& shape) {
        shape.push_back({.role = RouteItem::Role::body, .media = "application/octet-stream"});
    }
};
template <>
struct ArgumentShape<BodyStream> : ArgumentShape<Body> {};

// As the function that makes it: what it takes, and what it may answer.
template <typename R>
struct ResultShape;
template <FromRequested T>
struct ArgumentShape<T> {
    static void list(RouteShape& shape) { FromSignature<T>::template Arguments<With>::list(shape); }

  private:
    template <typename... P>
    struct With {
        static void list(RouteShape& shape) {
            (ArgumentShape<P>::list(shape), ...);
            using Result = typename ValueOf<typename FromSignature<T>::Result>::Type;
            if constexpr (is_expected<Result>) {
                ResultShape<typename Result::error_type>::list(shape);
            }
        }
    };
};

// Adds what a result of type R may become, as answer() does it (results.h).
template <typename R>
struct ResultShape {
    static void list(RouteShape& shape) {
        if constexpr (std::is_void_v<R> || std::is_same_v<R, std::monostate>) {
            add(shape, 204);
        } else if constexpr (std::is_convertible_v<R, std::string_view>) {
            add(shape, 200, "text/plain");
        } else if constexpr (std::is_same_v<R, Problem>) {
            add(shape, 0, "application/problem+json");
        } else if constexpr (std::is_same_v<R, Redirect>) {
            add(shape, 303);
        } else if constexpr (std::is_same_v<R, task::Generator<std::string>>) {
            add(shape, 200, "text/plain");
        } else if constexpr (std::is_same_v<R, Events>) {
            add(shape, 200, "text/event-stream");
        } else if constexpr (std::is_same_v<R, Response> || AnswersItself<R>) {
            add(shape, 0);
        } else {
            add(shape, 200, "application/json", &json::type_of<R>);
        }
    }
    static void add(RouteShape& shape, int status, std::string_view media = {},
                    const json::Type* type = nullptr) {
        shape.push_back(
            {.role = RouteItem::Role::answer, .status = status, .media = media, .type = type});
    }
};
template <typename T>
struct ResultShape<Json<T>> : ResultShape<T> {};
template <typename T>
struct ResultShape<Created<T>> {
    static void list(RouteShape& shape) {
        ResultShape<void>::add(shape, 201, "application/json", &json::type_of<T>);
    }
};
template <typename T>
struct ResultShape<task::Task<T>> : ResultShape<T> {};
template <typename T>
struct ResultShape<std::optional<T>> {
    static void list(RouteShape& shape) {
        ResultShape<T>::list(shape);
        ResultShape<void>::add(shape, 404);
    }
};
template <typename... T>
struct ResultShape<std::variant<T...>> {
    static void list(RouteShape& shape) { (ResultShape<T>::list(shape), ...); }
};
template <typename T, typename E>
struct ResultShape<std::expected<T, E>> {
    static void list(RouteShape& shape) {
        ResultShape<T>::list(shape);
        ResultShape<E>::list(shape);
    }
};

template <typename R>
struct ShapeOf {
    template <typename... A>
    struct With {
        static void list(RouteShape& shape) {
            (ArgumentShape<A>::list(shape), ...);
            ResultShape<R>::list(shape);
        }
    };
};

}  // namespace app_parts
}  // namespace tiderace::http
