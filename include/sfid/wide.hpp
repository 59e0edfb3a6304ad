/* SPDX-License-Identifier: MIT */
/**
 * sfid/wide.hpp - layouts of IDs of up to 128 bits in C++: flake, awsflake, UUID
 * version 7, flake-go. IDs are taken apart, put together and bounded by time, at
 * compile time as well.
 *
 *     constexpr auto l = libsfid::wide_layout::uuid7();
 *     libsfid::wide_id_range day = l.between(midnight, midnight + std::chrono::hours(24));
 *
 * The bounds hold for all UUIDs of version 7, whoever made them. Times are as in
 * sfid/layout.hpp. Except from_text() and to_string(), there is no library to
 * link.
 *
 * Threads: any. Fork: safe. Signals: async-safe, unless a call throws.
 */
#ifndef SFID_WIDE_HPP
#define SFID_WIDE_HPP

#include "layout.hpp"
#include "text.hpp"

namespace libsfid {

/** What a wide ID is made of, as sfid_wide_parts. */
struct wide_parts {
    std::uint64_t tick = 0;   /**< milliseconds since the epoch */
    std::uint64_t pid = 0;    /**< worker (flake, flake-go), region << 16 | IP (awsflake), pid (uuid7) */
    std::uint64_t seq = 0;    /**< sequence; split fields as one value */
    std::uint64_t random = 0; /**< random bits (uuid7), else 0 */
    moment time{};            /**< start of the tick */
};

namespace detail {

/* As the table in src/id/wide.c: each field is in one piece, but the lowest seq_low bits of the sequence are elsewhere. */
struct shape {
    std::uint64_t max_tick;
    unsigned bits, time_shift, pid_bits, pid_shift, seq_bits, seq_shift, seq_low, seq_low_shift, random_bits;
    ::sfid_wide fixed, fixed_mask;
    form own;
    unsigned width;
};

inline constexpr shape flake_shape = {INT64_MAX, 128, 64, 48, 16, 16, 0, 0, 0, 0, {0, 0}, {0, 0}, form::hex, 32};
inline constexpr shape awsflake_shape = {sfid__ones(41), 77, 36, 21, 15, 15, 0, 0, 0, 0, {0, 0}, {0, 0}, form::base62, 1};
inline constexpr shape uuid7_shape = {
    sfid__ones(48), 128, 80, 16, 44, 14, 64, 2, 60, 44, {0x7000, UINT64_C(1) << 63}, {0xf000, UINT64_C(3) << 62}, form::uuid, 36};
inline constexpr shape flake_go_shape = {sfid__ones(48), 128, 80, 48, 16, 16, 0, 0, 0, 0, {0, 0}, {0xffff, 0}, form::hex, 32};

constexpr const shape &shape_of(::sfid_wide_kind kind) noexcept {
    return kind == SFID_FLAKE      ? flake_shape
           : kind == SFID_AWSFLAKE ? awsflake_shape
           : kind == SFID_UUID7    ? uuid7_shape
                                   : flake_go_shape;
}

constexpr std::uint64_t from(const ::sfid_wide &v, unsigned shift) noexcept {
    if (shift >= 64)
        return v.high >> (shift - 64);
    return shift == 0 ? v.low : v.low >> shift | v.high << (64 - shift);
}

constexpr void put(::sfid_wide &v, std::uint64_t value, unsigned shift) noexcept {
    if (shift >= 64) {
        v.high |= value << (shift - 64);
        return;
    }
    v.low |= value << shift;
    v.high |= shift == 0 ? 0 : value >> (64 - shift);
}

constexpr int parse_wide(const shape &s, std::int64_t epoch_ms, const ::sfid_wide &v, wide_parts &out) noexcept {
    if (s.bits < 128 && from(v, s.bits) != 0)
        return SFID_EINVAL;
    if ((v.high & s.fixed_mask.high) != s.fixed.high || (v.low & s.fixed_mask.low) != s.fixed.low)
        return SFID_EINVAL;
    const std::uint64_t tick = from(v, s.time_shift);
    if (tick > s.max_tick)
        return SFID_EOVERFLOW;
    const std::uint64_t high = from(v, s.seq_shift) & sfid__ones(s.seq_bits - s.seq_low);
    out = {tick, from(v, s.pid_shift) & sfid__ones(s.pid_bits),
           high << s.seq_low | (from(v, s.seq_low_shift) & sfid__ones(s.seq_low)), v.low & sfid__ones(s.random_bits),
           moment_of(epoch_ms + sfid__to<std::int64_t>(tick))};
    return 0;
}

constexpr int compose_wide(const shape &s, const wide_parts &p, ::sfid_wide &out) noexcept {
    if (p.pid > sfid__ones(s.pid_bits) || p.seq > sfid__ones(s.seq_bits) || p.random > sfid__ones(s.random_bits))
        return SFID_EINVAL;
    if (p.tick > s.max_tick)
        return SFID_EOVERFLOW;
    out = s.fixed;
    put(out, p.tick, s.time_shift);
    put(out, p.pid, s.pid_shift);
    put(out, p.seq >> s.seq_low, s.seq_shift);
    put(out, p.seq & sfid__ones(s.seq_low), s.seq_low_shift);
    out.low |= p.random;
    return 0;
}

} /* namespace detail */

/** How wide IDs are cut. Ticks are milliseconds. A small value, fixed once it is made. */
class wide_layout {
  public:
    static constexpr wide_layout flake() noexcept { return wide_layout(SFID_FLAKE, 0); }
    static constexpr wide_layout uuid7() noexcept { return wide_layout(SFID_UUID7, 0); }
    static constexpr wide_layout flake_go() noexcept { return wide_layout(SFID_FLAKE_GO, 0); }
    static constexpr wide_layout awsflake() noexcept { return wide_layout(SFID_AWSFLAKE, SFID_AWSFLAKE_EPOCH_MS); }

    /** awsflake of another epoch. errc::invalid_argument: that is not between the years 1 and 9999. */
    static constexpr wide_layout awsflake(moment epoch) { return wide_layout(checked(SFID_AWSFLAKE, detail::unix_ms(epoch))); }

    /** One made in C. errc::invalid_argument: it is unusable. */
    constexpr explicit wide_layout(const ::sfid_wide_layout &l) : raw_(checked(l.kind, l.epoch_ms)) {
        if (l.reserved != 0)
            detail::fail(SFID_EINVAL, "the wide layout is unusable");
    }

    /** Reads a wide layout as sfid_wide_layout_parse() does: "uuid7", "awsflake@1451606400000". In the library. */
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
        return detail::failed(cut ? sfid__to<int>(SFID_EINVAL) : sfid_wide_layout_parse(text.c_str(), &l.raw_), ec) ? uuid7() : l;
    }

    constexpr unsigned bits() const noexcept { return shape().bits; } /**< width of an ID */
    constexpr std::uint64_t max_tick() const noexcept { return shape().max_tick; }
    constexpr std::uint64_t max_pid() const noexcept { return sfid__ones(shape().pid_bits); }
    constexpr std::uint64_t max_seq() const noexcept { return sfid__ones(shape().seq_bits); }
    constexpr std::uint64_t max_random() const noexcept { return sfid__ones(shape().random_bits); }
    constexpr moment epoch() const noexcept { return detail::moment_of(raw_.epoch_ms); } /**< start of tick 0 */
    constexpr const ::sfid_wide_layout &raw() const noexcept { return raw_; }            /**< for calls in C */

    /** An ID in the usual form of its makers: hex (flake, flake-go), base62 without padding (awsflake), UUID (uuid7). */
    constexpr libsfid::text text(wide_id i) const { return to_text(i, shape().own, shape().width); }

    /** Takes an ID apart. Errors as sfid_wide_parse(): errc::invalid_argument, errc::overflow. */
    constexpr wide_parts parse(wide_id i) const {
        wide_parts p;
        if (const int rc = detail::parse_wide(shape(), raw_.epoch_ms, i.value(), p); rc < 0)
            detail::fail(rc, "the ID does not fit the layout");
        return p;
    }
    wide_parts parse(wide_id i, std::error_code &ec) const noexcept {
        wide_parts p;
        return detail::failed(detail::parse_wide(shape(), raw_.epoch_ms, i.value(), p), ec) ? wide_parts() : p;
    }

    /** When the ID's tick began. Fails as parse(). */
    constexpr moment time(wide_id i) const { return parse(i).time; }
    moment time(wide_id i, std::error_code &ec) const noexcept { return parse(i, ec).time; }

    /** Puts an ID together; p.time is not read. The promise of uniqueness does not cover it. Errors as sfid_wide_compose(). */
    constexpr wide_id compose(const wide_parts &p) const {
        ::sfid_wide v = {0, 0};
        if (const int rc = detail::compose_wide(shape(), p, v); rc < 0)
            detail::fail(rc, "a part is too large for the layout");
        return wide_id(v);
    }
    wide_id compose(const wide_parts &p, std::error_code &ec) const noexcept {
        ::sfid_wide v = {0, 0};
        return detail::failed(detail::compose_wide(shape(), p, v), ec) ? wide_id() : wide_id(v);
    }

    /** The lowest and the highest ID of the millisecond of a moment. A moment out of range counts as its nearer end. */
    template <class Duration>
    constexpr wide_id min_at(std::chrono::time_point<std::chrono::system_clock, Duration> at) const noexcept {
        return lowest(nearest_tick(detail::unix_ms(at)));
    }
    template <class Duration>
    constexpr wide_id max_at(std::chrono::time_point<std::chrono::system_clock, Duration> at) const noexcept {
        return highest(nearest_tick(detail::unix_ms(at)));
    }

    /** Both of them. */
    template <class Duration>
    constexpr wide_id_range at(std::chrono::time_point<std::chrono::system_clock, Duration> when) const noexcept {
        return {min_at(when), max_at(when)};
    }

    /** The IDs whose time() is since or later, and before until, as layout::between(). */
    template <class Since, class Until>
    constexpr wide_id_range between(std::chrono::time_point<std::chrono::system_clock, Since> since,
                                    std::chrono::time_point<std::chrono::system_clock, Until> until) const noexcept {
        const std::uint64_t from = ticks_before(since), to = ticks_before(until);
        if (from >= to)
            return {};
        return {lowest(from), highest(to - 1)};
    }

    friend constexpr bool operator==(const wide_layout &a, const wide_layout &b) noexcept {
        return a.raw_.kind == b.raw_.kind && a.raw_.epoch_ms == b.raw_.epoch_ms;
    }
    friend constexpr bool operator!=(const wide_layout &a, const wide_layout &b) noexcept { return !(a == b); }

  private:
    constexpr wide_layout(::sfid_wide_kind kind, std::int64_t epoch_ms) noexcept : raw_{kind, 0, epoch_ms} {}

    static constexpr ::sfid_wide_layout checked(::sfid_wide_kind kind, std::int64_t epoch_ms) {
        const bool known = kind >= SFID_FLAKE && kind <= SFID_FLAKE_GO;
        const bool fits = kind == SFID_AWSFLAKE ? epoch_ms >= SFID__EPOCH_MIN && epoch_ms <= SFID__EPOCH_MAX : epoch_ms == 0;
        if (!known || !fits)
            detail::fail(SFID_EINVAL, "the wide layout is unusable");
        return {kind, 0, epoch_ms};
    }

    constexpr const detail::shape &shape() const noexcept { return detail::shape_of(raw_.kind); }

    constexpr std::uint64_t nearest_tick(std::int64_t ms) const noexcept {
        if (ms < raw_.epoch_ms)
            return 0;
        const std::uint64_t tick = sfid__to<std::uint64_t>(ms) - sfid__to<std::uint64_t>(raw_.epoch_ms);
        return tick > shape().max_tick ? shape().max_tick : tick;
    }

    /* How many ticks begin before a moment, which may lie between two milliseconds. */
    template <class Duration>
    constexpr std::uint64_t ticks_before(std::chrono::time_point<std::chrono::system_clock, Duration> at) const noexcept {
        const std::int64_t ms = detail::unix_ms(at);
        if (ms < raw_.epoch_ms)
            return 0;
        const std::uint64_t tick = sfid__to<std::uint64_t>(ms) - sfid__to<std::uint64_t>(raw_.epoch_ms);
        if (tick > shape().max_tick)
            return shape().max_tick + 1;
        const bool whole = std::ratio_greater_equal_v<typename Duration::period, std::milli> || detail::moment_of(ms) == at;
        return whole ? tick : tick + 1;
    }

    constexpr wide_id lowest(std::uint64_t tick) const noexcept {
        ::sfid_wide v = shape().fixed;
        detail::put(v, tick, shape().time_shift);
        return wide_id(v);
    }
    constexpr wide_id highest(std::uint64_t tick) const noexcept {
        const detail::shape &s = shape();
        ::sfid_wide v = lowest(tick).value();
        v.high |= s.time_shift > 64 ? sfid__ones(s.time_shift - 64) & ~s.fixed_mask.high : 0;
        v.low |= (s.time_shift >= 64 ? UINT64_MAX : sfid__ones(s.time_shift)) & ~s.fixed_mask.low;
        return wide_id(v);
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
