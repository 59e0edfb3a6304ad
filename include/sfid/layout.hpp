/* SPDX-License-Identifier: MIT */
/**
 * sfid/layout.hpp - layouts in C++: IDs taken apart, put together and bounded by
 * time, at compile time as well.
 *
 *     constexpr libsfid::layout l = libsfid::layouts::twitter;
 *     static_assert(l.parse(libsfid::id(1541815603606036480)).pid == 378);
 *     libsfid::id_range day = l.between(midnight, midnight + std::chrono::hours(24));
 *
 * A layout is always usable: what would make another one fails. Times are
 * time points of std::chrono::system_clock, whose epoch is that of Unix; calls
 * take them at any precision and return whole milliseconds, if no other
 * precision is asked for. Except from_text() and to_string(), there is no
 * library to link.
 *
 * Threads: any. Fork: safe. Signals: async-safe, unless a call throws.
 */
#ifndef SFID_LAYOUT_HPP
#define SFID_LAYOUT_HPP

#include "../sfid.h"
#include "error.hpp"
#include "id.hpp"
#include "parse.h"

#include <chrono>
#include <cstdint>
#include <ratio>
#include <string>

namespace libsfid {

using milliseconds = std::chrono::milliseconds;

/** A moment, in Unix milliseconds. */
using moment = std::chrono::time_point<std::chrono::system_clock, milliseconds>;

/** What an ID is made of, as sfid_parts. */
struct parts {
    std::uint64_t tick = 0; /**< units since the epoch */
    std::uint64_t pid = 0;  /**< process ID; split fields as one value */
    std::uint64_t seq = 0;  /**< sequence */
    moment time{};          /**< start of the tick */
};

namespace detail {

/* Unix milliseconds, rounded down; what they cannot hold counts as the nearest that they can. */
template <class Duration>
constexpr std::int64_t
unix_ms(std::chrono::time_point<std::chrono::system_clock, Duration> at) noexcept {
    static_assert(std::is_integral_v<typename Duration::rep> &&
                      std::is_signed_v<typename Duration::rep>,
                  "moments are whole numbers");
    /* days of C++20 have 32 bits */
    using units = std::chrono::duration<std::int64_t, typename Duration::period>;
    const units since = at.time_since_epoch();
    if constexpr (std::ratio_greater_v<typename Duration::period, std::milli>) {
        if (since > std::chrono::floor<units>(milliseconds::max()))
            return INT64_MAX;
        if (since < std::chrono::ceil<units>(milliseconds::min()))
            return INT64_MIN;
    }
    return std::chrono::floor<milliseconds>(since).count();
}

constexpr moment moment_of(std::int64_t ms) noexcept { return moment(milliseconds(ms)); }

/* The moment at a coarser precision, rounded down, or at a finer one, which cannot hold every
 * moment. */
template <class Duration>
constexpr int
at_precision(moment t, std::chrono::time_point<std::chrono::system_clock, Duration> &out) noexcept {
    if constexpr (std::ratio_less_v<typename Duration::period, std::milli>) {
        if (t.time_since_epoch() > std::chrono::floor<milliseconds>(Duration::max()) ||
            t.time_since_epoch() < std::chrono::ceil<milliseconds>(Duration::min()))
            return SFID_EOVERFLOW;
    }
    out = std::chrono::floor<Duration>(t);
    return 0;
}

enum class order { pid_seq, seq_pid };

constexpr ::sfid_layout make_layout(unsigned time_bits, unsigned pid_bits, unsigned seq_bits,
                                    std::int64_t unit_ms, std::int64_t epoch_ms,
                                    order which = order::pid_seq, unsigned pid_low = 0) {
    const bool sane = time_bits <= 63 && pid_bits <= 32 && seq_bits <= 61 &&
                      time_bits + pid_bits + seq_bits <= 64 && time_bits >= 2 && unit_ms >= 1 &&
                      unit_ms <= UINT32_MAX;
    if (!sane)
        fail(SFID_EINVAL, "the layout is unusable");
    const unsigned tick_bits = time_bits + pid_bits + seq_bits == 64 ? time_bits - 1 : time_bits;
    const ::sfid_layout l = {epoch_ms,
                             sfid__to<std::uint32_t>(unit_ms),
                             sfid__to<std::uint8_t>(time_bits),
                             sfid__to<std::uint8_t>(pid_bits),
                             sfid__to<std::uint8_t>(seq_bits),
                             sfid__to<std::uint8_t>(pid_bits + seq_bits),
                             sfid__to<std::uint8_t>(which == order::pid_seq ? seq_bits : 0),
                             sfid__to<std::uint8_t>(which == order::pid_seq ? 0 : pid_bits),
                             sfid__to<std::uint8_t>(pid_low),
                             {0, 0, 0, 0, 0},
                             sfid__ones(tick_bits),
                             sfid__ones(pid_bits),
                             sfid__ones(seq_bits)};
    if (sfid_inline_layout_check(&l) < 0)
        fail(SFID_EINVAL, "the layout is unusable");
    return l;
}

} /* namespace detail */

/** How IDs are cut into tick, pid and sequence. A small value, fixed once it is made. */
class layout {
  public:
    /** SFID_LAYOUT_DEFAULT: 36 bits of seconds, 11 of pid, 17 of sequence. */
    constexpr layout() noexcept = default;

    /** One made in C. errc::invalid_argument: sfid_layout_check() refuses it. */
    constexpr explicit layout(const ::sfid_layout &l) : raw_(l) {
        if (sfid_inline_layout_check(&l) < 0)
            detail::fail(SFID_EINVAL, "the layout is unusable");
    }

    /**
     * Tick above pid above sequence, as SFID_LAYOUT(), with the same limits. Of a constant
     * expression, a layout that breaks one does not compile; otherwise it is
     * errc::invalid_argument.
     */
    constexpr layout(unsigned time_bits, unsigned pid_bits, unsigned seq_bits,
                     milliseconds unit = milliseconds(1),
                     moment epoch = detail::moment_of(SFID_EPOCH_MS))
        : raw_(detail::make_layout(time_bits, pid_bits, seq_bits, unit.count(),
                                   detail::unix_ms(epoch))) {}

    /** Reads a layout as sfid_layout_parse() does: "twitter", "41:10:12/1ms@1288834974657". In the
     * library. */
    static layout from_text(const std::string &text) {
        std::error_code ec;
        const layout l = from_text(text, ec);
        if (ec)
            detail::fail(ec.value(), ("\"" + text + "\" is not a layout").c_str());
        return l;
    }
    static layout from_text(const std::string &text, std::error_code &ec) noexcept {
        layout l;
        const bool cut = text.find('\0') != std::string::npos; /* C would read the part before it */
        return detail::failed(
                   cut ? sfid__to<int>(SFID_EINVAL) : sfid_layout_parse(text.c_str(), &l.raw_), ec)
                   ? layout()
                   : l;
    }

    constexpr unsigned time_bits() const noexcept { return raw_.time_bits; }
    constexpr unsigned pid_bits() const noexcept { return raw_.pid_bits; }
    constexpr unsigned seq_bits() const noexcept { return raw_.seq_bits; }
    constexpr std::uint64_t max_tick() const noexcept { return raw_.max_tick; }
    constexpr std::uint64_t max_pid() const noexcept { return raw_.max_pid; }
    constexpr std::uint64_t max_seq() const noexcept { return raw_.max_seq; }
    /** length of a tick */
    constexpr milliseconds unit() const noexcept { return milliseconds(raw_.unit_ms); }
    /** start of tick 0 */
    constexpr moment epoch() const noexcept { return detail::moment_of(raw_.epoch_ms); }
    /** end of the last tick, exclusive */
    constexpr moment end() const noexcept { return start_of(raw_.max_tick) + unit(); }
    /** for calls in C */
    constexpr const ::sfid_layout &raw() const noexcept { return raw_; }

    /** Takes an ID apart. errc::invalid_argument: it is no ID, or has a bit outside the layout's
     * fields. */
    constexpr parts parse(id i) const {
        ::sfid_parts p = {0, 0, 0, 0};
        if (const int rc = sfid_inline_parse(&raw_, i.value(), &p); rc < 0)
            detail::fail(rc, "the ID does not fit the layout");
        return {p.tick, p.pid, p.seq, detail::moment_of(p.unix_ms)};
    }
    parts parse(id i, std::error_code &ec) const noexcept {
        ::sfid_parts p = {0, 0, 0, 0};
        if (detail::failed(sfid_inline_parse(&raw_, i.value(), &p), ec))
            return {};
        return {p.tick, p.pid, p.seq, detail::moment_of(p.unix_ms)};
    }

    /**
     * When the ID's tick began, in milliseconds or at another precision, such as
     * time<std::chrono::seconds>(i). Fails as parse(). errc::overflow: the precision is too fine
     * for the moment (nanoseconds end in 2262).
     */
    template <class Duration = milliseconds>
    constexpr std::chrono::time_point<std::chrono::system_clock, Duration> time(id i) const {
        std::chrono::time_point<std::chrono::system_clock, Duration> t{};
        if (const int rc = detail::at_precision(parse(i).time, t); rc < 0)
            detail::fail(rc, "the precision is too fine for the moment");
        return t;
    }
    template <class Duration = milliseconds>
    std::chrono::time_point<std::chrono::system_clock, Duration>
    time(id i, std::error_code &ec) const noexcept {
        std::chrono::time_point<std::chrono::system_clock, Duration> t{};
        const parts p = parse(i, ec);
        if (!ec)
            ec = detail::code_of(detail::at_precision(p.time, t));
        return t;
    }

    /**
     * Puts an ID together from tick, pid and sequence; p.time is not read. The promise of
     * uniqueness does not cover such an ID. errc::invalid_argument: pid or sequence is too large.
     * errc::overflow: the tick is.
     */
    constexpr id compose(const parts &p) const {
        std::int64_t value = -1;
        const ::sfid_parts in = {p.tick, p.pid, p.seq, 0};
        if (const int rc = sfid_inline_compose(&raw_, &in, &value); rc < 0)
            detail::fail(rc, "a part is too large for the layout");
        return id(value);
    }
    id compose(const parts &p, std::error_code &ec) const noexcept {
        std::int64_t value = -1;
        const ::sfid_parts in = {p.tick, p.pid, p.seq, 0};
        return detail::failed(sfid_inline_compose(&raw_, &in, &value), ec) ? id() : id(value);
    }

    /** The tick that contains a moment. errc::clock: that is before the epoch. errc::overflow: it
     * is past the layout's end. */
    template <class Duration>
    constexpr std::uint64_t
    tick_at(std::chrono::time_point<std::chrono::system_clock, Duration> at) const {
        std::uint64_t tick = 0;
        if (const int rc = sfid_inline_tick_at(&raw_, detail::unix_ms(at), &tick); rc < 0)
            detail::fail(rc, "the moment is outside the layout's range");
        return tick;
    }
    template <class Duration>
    std::uint64_t tick_at(std::chrono::time_point<std::chrono::system_clock, Duration> at,
                          std::error_code &ec) const noexcept {
        std::uint64_t tick = 0;
        return detail::failed(sfid_inline_tick_at(&raw_, detail::unix_ms(at), &tick), ec) ? 0
                                                                                          : tick;
    }

    /** The lowest and the highest ID of the tick that contains a moment. A moment out of range
     * counts as its nearer end. */
    template <class Duration>
    constexpr id
    min_at(std::chrono::time_point<std::chrono::system_clock, Duration> at) const noexcept {
        return id(sfid_inline_min_at(&raw_, detail::unix_ms(at)));
    }
    template <class Duration>
    constexpr id
    max_at(std::chrono::time_point<std::chrono::system_clock, Duration> at) const noexcept {
        return id(sfid_inline_max_at(&raw_, detail::unix_ms(at)));
    }

    /** Both of them, for SQL's BETWEEN. */
    template <class Duration>
    constexpr id_range
    at(std::chrono::time_point<std::chrono::system_clock, Duration> when) const noexcept {
        return {min_at(when), max_at(when)};
    }

    /**
     * The IDs whose time() is since or later, and before until. Adjacent spans
     * share no ID and omit none. Empty if until is not after since, or if the
     * layout has no tick there.
     */
    template <class Since, class Until>
    constexpr id_range
    between(std::chrono::time_point<std::chrono::system_clock, Since> since,
            std::chrono::time_point<std::chrono::system_clock, Until> until) const noexcept {
        const std::uint64_t from = ticks_before(since), to = ticks_before(until);
        if (from >= to)
            return {};
        return {min_at(start_of(from)), max_at(start_of(to - 1))};
    }

    friend constexpr bool operator==(const layout &a, const layout &b) noexcept {
        return a.raw_.epoch_ms == b.raw_.epoch_ms && a.raw_.unit_ms == b.raw_.unit_ms &&
               a.raw_.time_bits == b.raw_.time_bits && a.raw_.pid_bits == b.raw_.pid_bits &&
               a.raw_.seq_bits == b.raw_.seq_bits && a.raw_.time_shift == b.raw_.time_shift &&
               a.raw_.pid_shift == b.raw_.pid_shift && a.raw_.seq_shift == b.raw_.seq_shift;
    }
    friend constexpr bool operator!=(const layout &a, const layout &b) noexcept {
        return !(a == b);
    }

  private:
    constexpr moment start_of(std::uint64_t tick) const noexcept {
        return detail::moment_of(raw_.epoch_ms + sfid__to<std::int64_t>(tick * raw_.unit_ms));
    }

    /* How many ticks begin before a moment, which may lie between two milliseconds. */
    template <class Duration>
    constexpr std::uint64_t
    ticks_before(std::chrono::time_point<std::chrono::system_clock, Duration> at) const noexcept {
        const std::int64_t ms = detail::unix_ms(at);
        std::uint64_t tick = 0;
        const int rc = sfid_inline_tick_at(&raw_, ms, &tick);
        if (rc == SFID_ECLOCK)
            return 0;
        if (rc == SFID_EOVERFLOW)
            return raw_.max_tick + 1;
        const bool at_start =
            start_of(tick) == detail::moment_of(ms) && detail::moment_of(ms) == at;
        return at_start ? tick : tick + 1;
    }

    ::sfid_layout raw_ = SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS);
};

/** The layout's text, as sfid_layout_format() writes it. In the library. */
inline std::string to_string(const layout &l, std::error_code &ec) {
    std::string text(SFID_LAYOUT_STR_LEN, '\0');
    if (detail::failed(sfid_layout_format(&l.raw(), text.data(), text.size()), ec))
        return {};
    text.resize(text.find('\0'));
    return text;
}
inline std::string to_string(const layout &l) {
    std::error_code ec;
    std::string text = to_string(l, ec);
    if (ec)
        detail::fail(ec.value(), "the layout has no text");
    return text;
}

/** The presets, as sfid_layout_preset() lists them; a name that C++ cannot write has _ instead. */
namespace layouts {
namespace detail {
constexpr layout preset(unsigned time_bits, unsigned pid_bits, unsigned seq_bits,
                        std::int64_t unit_ms, std::int64_t epoch_ms, unsigned pid_low = 0,
                        libsfid::detail::order which = libsfid::detail::order::pid_seq) {
    return layout(libsfid::detail::make_layout(time_bits, pid_bits, seq_bits, unit_ms, epoch_ms,
                                               which, pid_low));
}
} /* namespace detail */

inline constexpr layout sfid{};
inline constexpr layout sfid_0_1_13 = detail::preset(35, 10, 19, 1000, SFID_EPOCH_MS);
inline constexpr layout ms = detail::preset(41, 10, 12, 1, SFID_EPOCH_MS);
inline constexpr layout js53 = detail::preset(32, 8, 13, 1000, SFID_EPOCH_MS);
inline constexpr layout twitter = detail::preset(41, 10, 12, 1, INT64_C(1288834974657), 5);
inline constexpr layout leaf = detail::preset(41, 10, 12, 1, INT64_C(1288834974657), 10);
inline constexpr layout discord = detail::preset(42, 10, 12, 1, INT64_C(1420070400000), 5);
inline constexpr layout instagram = detail::preset(41, 13, 10, 1, INT64_C(1314220021721), 13);
inline constexpr layout sonyflake =
    detail::preset(39, 16, 8, 10, INT64_C(1409529600000), 16, libsfid::detail::order::seq_pid);
inline constexpr layout sonyflake2 =
    detail::preset(39, 16, 8, 10, INT64_C(1735689600000), 16, libsfid::detail::order::seq_pid);
inline constexpr layout mastodon = detail::preset(48, 0, 16, 1, 0);
inline constexpr layout icicle = detail::preset(41, 10, 12, 1, INT64_C(1455788600316), 10);
inline constexpr layout kestrel = detail::preset(41, 10, 12, 1, INT64_C(1451566800000), 10);
inline constexpr layout cosid = detail::preset(41, 10, 12, 1, INT64_C(1577203200000), 10);
inline constexpr layout baidu = detail::preset(28, 22, 13, 1000, INT64_C(1463673600000), 22);
inline constexpr layout tso = detail::preset(46, 0, 18, 1, 0);
} /* namespace layouts */

} /* namespace libsfid */

#endif
