/* SPDX-License-Identifier: MIT */
/**
 * sfid/wide.hpp - layouts of IDs of up to 128 bits in C++: flake, awsflake, UUID
 * version 7, flake-go. IDs are taken apart, put together and bounded by time, at
 * compile time as well.
 *
 *     constexpr auto l = libsfid::wide_layout::uuid7();
 *     libsfid::wide_id_range day = l.between(midnight, midnight + std::chrono::hours(24));
 *
 * The bounds hold for all UUIDs of version 7, also those of other makers. Times are as in
 * sfid/layout.hpp. Except from_text() and to_string(), there is no library to
 * link.
 *
 * Threads: any. Fork: safe. Signals: async-safe, unless a call throws.
 */
#ifndef SFID_WIDE_HPP
#define SFID_WIDE_HPP

#include "layout.hpp"
#include "parse_wide.h"
#include "text.hpp"

namespace libsfid {

/** What a wide ID is made of, as sfid_wide_parts. */
struct wide_parts {
    std::uint64_t tick = 0;   /**< milliseconds since the epoch */
    std::uint64_t pid = 0;    /**< worker (flake, flake-go), region << 16 | IP (awsflake), pid
                                   (uuid7) */
    std::uint64_t seq = 0;    /**< sequence; split fields as one value */
    std::uint64_t random = 0; /**< random bits (uuid7), else 0 */
    moment time{};            /**< start of the tick */
};

/** How wide IDs are cut. Ticks are milliseconds. A small value, fixed once it is made. */
class wide_layout {
  public:
    static constexpr wide_layout flake() noexcept { return wide_layout(SFID_FLAKE, 0); }
    static constexpr wide_layout uuid7() noexcept { return wide_layout(SFID_UUID7, 0); }
    static constexpr wide_layout flake_go() noexcept { return wide_layout(SFID_FLAKE_GO, 0); }
    static constexpr wide_layout awsflake() noexcept {
        return wide_layout(SFID_AWSFLAKE, SFID_AWSFLAKE_EPOCH_MS);
    }

    /** awsflake of another epoch. errc::invalid_argument: that is not between the years 1 and
     * 9999. */
    static constexpr wide_layout awsflake(moment epoch) {
        return wide_layout(::sfid_wide_layout{SFID_AWSFLAKE, 0, detail::unix_ms(epoch)});
    }

    /** One made in C. errc::invalid_argument: it is unusable. */
    constexpr explicit wide_layout(const ::sfid_wide_layout &l) : raw_(l) {
        if (sfid_inline_wide_layout_check(&l) < 0)
            detail::fail(SFID_EINVAL, "the wide layout is unusable");
    }

    /** Reads a wide layout as sfid_wide_layout_parse() does: "uuid7", "awsflake@1451606400000". In
     * the library. */
    static wide_layout from_text(const std::string &text) {
        std::error_code ec;
        const wide_layout l = from_text(text, ec);
        if (ec)
            detail::fail(ec.value(), ("\"" + text + "\" is not a wide layout").c_str());
        return l;
    }
    static wide_layout from_text(const std::string &text, std::error_code &ec) noexcept {
        wide_layout l = uuid7();
        const bool cut = text.find('\0') != std::string::npos;
        return detail::failed(cut ? sfid__to<int>(SFID_EINVAL)
                                  : sfid_wide_layout_parse(text.c_str(), &l.raw_),
                              ec)
                   ? uuid7()
                   : l;
    }

    constexpr unsigned bits() const noexcept { return shape().bits; } /**< width of an ID */
    constexpr std::uint64_t max_tick() const noexcept { return shape().max_tick; }
    constexpr std::uint64_t max_pid() const noexcept { return sfid__ones(shape().pid_bits); }
    constexpr std::uint64_t max_seq() const noexcept {
        return sfid__ones(shape().seq_high + shape().seq_low);
    }
    constexpr std::uint64_t max_random() const noexcept { return sfid__ones(shape().random_bits); }
    /** start of tick 0 */
    constexpr moment epoch() const noexcept { return detail::moment_of(raw_.epoch_ms); }
    /** for calls in C */
    constexpr const ::sfid_wide_layout &raw() const noexcept { return raw_; }

    /** An ID in the usual form of its makers: hex (flake, flake-go), base62 without padding
     * (awsflake), UUID (uuid7). */
    constexpr libsfid::text text(wide_id i) const {
        return to_text(i, sfid__to<form>(shape().form), shape().width);
    }

    /** Takes an ID apart. Errors as sfid_wide_parse(): errc::invalid_argument, errc::overflow. */
    constexpr wide_parts parse(wide_id i) const {
        wide_parts p;
        if (const int rc = parse(i, p); rc < 0)
            detail::fail(rc, "the ID does not fit the layout");
        return p;
    }
    wide_parts parse(wide_id i, std::error_code &ec) const noexcept {
        wide_parts p;
        return detail::failed(parse(i, p), ec) ? wide_parts() : p;
    }

    /** When the ID's tick began. Fails as parse(). */
    constexpr moment time(wide_id i) const { return parse(i).time; }
    moment time(wide_id i, std::error_code &ec) const noexcept { return parse(i, ec).time; }

    /** Puts an ID together; p.time is not read. The promise of uniqueness does not cover it. Errors
     * as sfid_wide_compose(). */
    constexpr wide_id compose(const wide_parts &p) const {
        ::sfid_wide v = {0, 0};
        if (const int rc = compose(p, v); rc < 0)
            detail::fail(rc, "a part is too large for the layout");
        return wide_id(v);
    }
    wide_id compose(const wide_parts &p, std::error_code &ec) const noexcept {
        ::sfid_wide v = {0, 0};
        return detail::failed(compose(p, v), ec) ? wide_id() : wide_id(v);
    }

    /** The lowest and the highest ID of the millisecond of a moment. A moment out of range counts
     * as its nearer end. */
    template <class Duration>
    constexpr wide_id
    min_at(std::chrono::time_point<std::chrono::system_clock, Duration> at) const noexcept {
        return wide_id(sfid_inline_wide_min_at(&raw_, detail::unix_ms(at)));
    }
    template <class Duration>
    constexpr wide_id
    max_at(std::chrono::time_point<std::chrono::system_clock, Duration> at) const noexcept {
        return wide_id(sfid_inline_wide_max_at(&raw_, detail::unix_ms(at)));
    }

    /** Both of them. */
    template <class Duration>
    constexpr wide_id_range
    at(std::chrono::time_point<std::chrono::system_clock, Duration> when) const noexcept {
        return {min_at(when), max_at(when)};
    }

    /** The IDs whose time() is since or later, and before until, as layout::between(). */
    template <class Since, class Until>
    constexpr wide_id_range
    between(std::chrono::time_point<std::chrono::system_clock, Since> since,
            std::chrono::time_point<std::chrono::system_clock, Until> until) const noexcept {
        const std::int64_t from = next_ms(since), to = next_ms(until);
        const std::int64_t last = raw_.epoch_ms + sfid__to<std::int64_t>(max_tick());
        if (from >= to || to <= raw_.epoch_ms || from > last)
            return {};
        return {wide_id(sfid_inline_wide_min_at(&raw_, from)),
                wide_id(sfid_inline_wide_max_at(&raw_, to - 1))};
    }

    friend constexpr bool operator==(const wide_layout &a, const wide_layout &b) noexcept {
        return a.raw_.kind == b.raw_.kind && a.raw_.epoch_ms == b.raw_.epoch_ms;
    }
    friend constexpr bool operator!=(const wide_layout &a, const wide_layout &b) noexcept {
        return !(a == b);
    }

  private:
    constexpr wide_layout(::sfid_wide_kind kind, std::int64_t epoch_ms) noexcept
        : raw_{kind, 0, epoch_ms} {}

    constexpr const ::sfid__wide_shape &shape() const noexcept {
        return *sfid__wide_shape_of(&raw_);
    }

    constexpr int parse(wide_id i, wide_parts &out) const noexcept {
        ::sfid_wide_parts p = {0, 0, 0, 0, 0};
        const int rc = sfid_inline_wide_parse(&raw_, i.value(), &p);
        out = {p.tick, p.pid, p.seq, p.random, detail::moment_of(p.unix_ms)};
        return rc;
    }

    constexpr int compose(const wide_parts &p, ::sfid_wide &out) const noexcept {
        const ::sfid_wide_parts in = {p.tick, p.pid, p.seq, p.random, 0};
        return sfid_inline_wide_compose(&raw_, &in, &out);
    }

    /* The first whole millisecond that is not before a moment. */
    template <class Duration>
    static constexpr std::int64_t
    next_ms(std::chrono::time_point<std::chrono::system_clock, Duration> at) noexcept {
        const std::int64_t ms = detail::unix_ms(at);
        const bool whole = std::ratio_greater_equal_v<typename Duration::period, std::milli> ||
                           detail::moment_of(ms) == at;
        return whole ? ms : ms + 1;
    }

    ::sfid_wide_layout raw_;
};

/** The wide layout's text, as sfid_wide_layout_format() writes it. In the library. */
inline std::string to_string(const wide_layout &l, std::error_code &ec) {
    std::string text(SFID_LAYOUT_STR_LEN, '\0');
    if (detail::failed(sfid_wide_layout_format(&l.raw(), text.data(), text.size()), ec))
        return {};
    text.resize(text.find('\0'));
    return text;
}
inline std::string to_string(const wide_layout &l) {
    std::error_code ec;
    std::string text = to_string(l, ec);
    if (ec)
        detail::fail(ec.value(), "the wide layout has no text");
    return text;
}

} /* namespace libsfid */

#endif
