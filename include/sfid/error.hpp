/* SPDX-License-Identifier: MIT */
/**
 * sfid/error.hpp - errors of libsfid in C++: std::error_code and an exception.
 *
 * Each call that can fail has two forms. The form with a std::error_code & sets
 * it (or clears it) and throws nothing. The form without throws libsfid::error.
 * The codes are those of sfid/error.h. No library to link. In a program that is
 * compiled without exceptions, the second form calls std::terminate() instead.
 *
 *     std::error_code ec;
 *     libsfid::id id = generator.next(ec);
 *     if (ec == libsfid::errc::again) …
 *     if (ec == std::errc::resource_unavailable_try_again) …      the same
 */
#ifndef SFID_ERROR_HPP
#define SFID_ERROR_HPP

#include "error.h"
#include "layout.h"

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>

namespace libsfid {

/** The codes of sfid/error.h. The descriptions of the C calls say which call returns which. */
enum class errc : int {
    /* mirrors: cpp-codes */
    invalid_argument = SFID_EINVAL,
    no_memory = SFID_ENOMEM,
    again = SFID_EAGAIN,
    busy = SFID_EBUSY,
    clock = SFID_ECLOCK,
    overflow = SFID_EOVERFLOW,
    lease = SFID_ELEASE,
    no_pid = SFID_ENOPID,
    redis = SFID_EREDIS,
    not_authorised = SFID_EAUTH,
    other_layout = SFID_ELAYOUT,
    state = SFID_ESTATE,
    closed = SFID_ECLOSED,
    unsupported = SFID_EUNSUPPORTED,
    /* mirrors: end */
};

} /* namespace libsfid */

template <> struct std::is_error_code_enum<libsfid::errc> : std::true_type {};

namespace libsfid {
namespace detail {

class category final : public std::error_category {
  public:
    const char *name() const noexcept override { return "sfid"; }

    std::string message(int code) const override {
        switch (code) {
#define SFID__CASE(name, value, text) \
    case value: \
        return text;
            SFID_ERROR_LIST(SFID__CASE)
#undef SFID__CASE
        default:
            return code == 0 ? "no error" : "unknown error";
        }
    }

    /* What the C++ library has a word for compares equal to it. */
    std::error_condition default_error_condition(int code) const noexcept override {
        switch (code) {
        case SFID_EINVAL:
            return std::errc::invalid_argument;
        case SFID_ENOMEM:
            return std::errc::not_enough_memory;
        case SFID_EAGAIN:
            return std::errc::resource_unavailable_try_again;
        case SFID_EBUSY:
            return std::errc::device_or_resource_busy;
        case SFID_EOVERFLOW:
            return std::errc::value_too_large;
        case SFID_EAUTH:
            return std::errc::permission_denied;
        case SFID_EUNSUPPORTED:
            return std::errc::not_supported;
        default:
            return std::error_condition(code, *this);
        }
    }
};

} /* namespace detail */

/**
 * The category of these codes; its name is "sfid". It lives until the process ends, so that
 * destructors of static objects may use it. Visible to other shared objects: a category is compared
 * by its address.
 */
SFID_API inline const std::error_category &error_category() noexcept {
    alignas(detail::category) static unsigned char place[sizeof(detail::category)];
    static const detail::category *const made = ::new (static_cast<void *>(place)) detail::category;
    return *made;
}

/** For std::error_code ec = libsfid::errc::busy. */
inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), error_category()};
}

/**
 * What the throwing forms throw. code() is the error; what() has the sentence for the operator,
 * where there is one, and the text of the code.
 */
class SFID_API error : public std::system_error {
  public:
    using std::system_error::system_error;
};

namespace detail {

inline std::error_code code_of(int rc) noexcept {
    return rc < 0 ? std::error_code(rc, error_category()) : std::error_code();
}

/* Not constexpr: a constant expression that gets here does not compile, and the compiler names this
 * call. */
[[noreturn]] inline void fail(int rc, const char *sentence) {
#ifdef __cpp_exceptions
    throw error(code_of(rc), sentence);
#else
    static_cast<void>(rc);
    static_cast<void>(sentence);
    std::terminate();
#endif
}

/* Sets ec by a call's result, and tells whether the call failed. */
inline bool failed(int rc, std::error_code &ec) noexcept {
    ec = code_of(rc);
    return rc < 0;
}

} /* namespace detail */
} /* namespace libsfid */

#endif
