/* SPDX-License-Identifier: MIT */
/**
 * sfid/id.hpp - IDs of 64 and 128 bits as types of their own, and ranges of them.
 *
 * An ID is compared, ordered and hashed, and nothing else: arithmetic on IDs has
 * no meaning. Both types are small values. A default-constructed one is no ID.
 * Everything here is constexpr and noexcept, and needs no library to link.
 *
 * Threads: any. Fork: safe. Signals: async-safe.
 */
#ifndef SFID_ID_HPP
#define SFID_ID_HPP

#include "wide.h"

#include <cstddef>
#include <cstdint>
#include <string_view> /* std::hash, for much less than <functional> */
#include <type_traits>

namespace libsfid {

/** A 64-bit ID. Ordered by value: by time first. */
class id {
  public:
    /** No ID: value() is -1. */
    constexpr id() noexcept = default;

    /** The ID with this value. A negative value is no ID. */
    constexpr explicit id(std::int64_t value) noexcept : value_(value) {}

    constexpr std::int64_t value() const noexcept { return value_; }

    /** False if this is no ID. A valid ID may still not fit a layout. */
    constexpr bool valid() const noexcept { return value_ >= 0; }

    friend constexpr bool operator==(id a, id b) noexcept { return a.value_ == b.value_; }
    friend constexpr bool operator!=(id a, id b) noexcept { return a.value_ != b.value_; }
    friend constexpr bool operator<(id a, id b) noexcept { return a.value_ < b.value_; }
    friend constexpr bool operator>(id a, id b) noexcept { return a.value_ > b.value_; }
    friend constexpr bool operator<=(id a, id b) noexcept { return a.value_ <= b.value_; }
    friend constexpr bool operator>=(id a, id b) noexcept { return a.value_ >= b.value_; }

    /** The lowest and the highest ID of any layout. */
    static constexpr id lowest() noexcept { return id(0); }
    static constexpr id highest() noexcept { return id(INT64_MAX); }

  private:
    std::int64_t value_ = -1;
};

/** An ID of up to 128 bits. Ordered by value, as by sfid_wide_compare(). */
class wide_id {
  public:
    /** No ID: zero, as the nil UUID. No generator makes it. */
    constexpr wide_id() noexcept = default;

    /** The ID high * 2^64 + low. */
    constexpr wide_id(std::uint64_t high, std::uint64_t low) noexcept : value_{high, low} {}
    constexpr explicit wide_id(const ::sfid_wide &value) noexcept : value_(value) {}

    constexpr std::uint64_t high() const noexcept { return value_.high; }
    constexpr std::uint64_t low() const noexcept { return value_.low; }

    /** The same for calls in C. */
    constexpr const ::sfid_wide &value() const noexcept { return value_; }

    /** False if this is no ID. A valid ID may still not fit a layout. */
    constexpr bool valid() const noexcept { return (value_.high | value_.low) != 0; }

    friend constexpr bool operator==(wide_id a, wide_id b) noexcept {
        return a.high() == b.high() && a.low() == b.low();
    }
    friend constexpr bool operator!=(wide_id a, wide_id b) noexcept { return !(a == b); }
    friend constexpr bool operator<(wide_id a, wide_id b) noexcept {
        return a.high() < b.high() || (a.high() == b.high() && a.low() < b.low());
    }
    friend constexpr bool operator>(wide_id a, wide_id b) noexcept { return b < a; }
    friend constexpr bool operator<=(wide_id a, wide_id b) noexcept { return !(b < a); }
    friend constexpr bool operator>=(wide_id a, wide_id b) noexcept { return !(a < b); }

    /** The lowest and the highest value. */
    static constexpr wide_id lowest() noexcept { return {0, 0}; }
    static constexpr wide_id highest() noexcept { return {UINT64_MAX, UINT64_MAX}; }

  private:
    ::sfid_wide value_ = {0, 0};
};

/* Batches are written by calls in C, into the values of the IDs. */
static_assert(std::is_standard_layout_v<id> && sizeof(id) == sizeof(std::int64_t),
              "an id is its value");
static_assert(std::is_standard_layout_v<wide_id> && sizeof(wide_id) == sizeof(::sfid_wide),
              "a wide_id is its value");
static_assert(std::is_trivially_copyable_v<id> && std::is_trivially_copyable_v<wide_id>,
              "IDs are passed in registers");

/**
 * The IDs from first to last, both inclusive, as SQL's BETWEEN takes them. An
 * empty range has first above last, so that BETWEEN finds nothing.
 */
template <class Id> struct range {
    Id first = Id::highest();
    Id last = Id::lowest();

    constexpr bool empty() const noexcept { return last < first; }
    constexpr bool contains(Id one) const noexcept { return first <= one && one <= last; }

    friend constexpr bool operator==(const range &a, const range &b) noexcept {
        return a.first == b.first && a.last == b.last;
    }
    friend constexpr bool operator!=(const range &a, const range &b) noexcept { return !(a == b); }
};
using id_range = range<id>;
using wide_id_range = range<wide_id>;

namespace detail {

/* Spreads the bits of an ID, whose low ones are often zero (a sequence that starts at 0 in each
 * tick), over all of a hash. */
constexpr std::uint64_t mixed(std::uint64_t v) noexcept {
    v = (v ^ v >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    v = (v ^ v >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return v ^ v >> 32;
}

} /* namespace detail */
} /* namespace libsfid */

template <> struct std::hash<libsfid::id> {
    constexpr std::size_t operator()(libsfid::id one) const noexcept {
        return sfid__to<std::size_t>(libsfid::detail::mixed(sfid__to<std::uint64_t>(one.value())));
    }
};

template <> struct std::hash<libsfid::wide_id> {
    constexpr std::size_t operator()(libsfid::wide_id one) const noexcept {
        return sfid__to<std::size_t>(
            libsfid::detail::mixed(libsfid::detail::mixed(one.high()) ^ one.low()));
    }
};

#endif
