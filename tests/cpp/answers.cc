/* SPDX-License-Identifier: MIT */
/* answers.cc - sfid.hpp answers as the library does, for random layouts, IDs, moments and texts;
 * IDs as values; errors. */
#include "shared.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>
#include <unordered_set>
#include <vector>

/* ---- the same answers as the library ---------------------------------------- */

static std::mt19937_64 dice(20261123);

static std::uint64_t some_bits() { return dice() >> dice() % 64; }

static sfid_layout some_layout() {
    sfid_layout l = std::next(presets.begin(), static_cast<std::ptrdiff_t>(dice() % presets.size()))
                        ->second.raw();
    if (dice() % 2 == 0) {
        const unsigned t = 2 + static_cast<unsigned>(dice() % 62),
                       p = static_cast<unsigned>(dice() % 33),
                       s = static_cast<unsigned>(dice() % 62);
        std::ostringstream text;
        text << t << ':' << p << ':' << s << '/' << 1 + some_bits() % 100000 << "ms@"
             << some_bits() % 253402300800000;
        if (sfid_layout_parse(text.str().c_str(), &l) == 0)
            return l;
    }
    return l;
}

static void checks_of_layouts() {
    std::uint64_t wrong = 0, good = 0;
    for (int i = 0; i < 300000; i++) {
        sfid_layout l = some_layout();
        if (i % 4 != 0) { /* any byte changed a little or wholly */
            unsigned char bytes[sizeof l];
            std::memcpy(bytes, &l, sizeof l);
            unsigned char &one = bytes[dice() % sizeof l];
            one = static_cast<unsigned char>(dice() % 2 == 0 ? one + 1 : dice());
            std::memcpy(&l, bytes, sizeof l);
        }
        const int rc = sfid_layout_check(&l);
        wrong += sfid_inline_layout_check(&l) != rc;
        good += rc == 0;
        std::error_code ec;
        try {
            wrong += layout(l).raw().epoch_ms != l.epoch_ms || rc != 0;
        } catch (const libsfid::error &e) {
            wrong += e.code() != libsfid::errc::invalid_argument || rc == 0;
        }
    }
    is(wrong, 0U, "layouts are taken and refused as by the library");
    ok(good > 50000 && good < 250000, "of both kinds: " + std::to_string(good));
}

static void answers_of_layouts() {
    std::uint64_t wrong = 0, parsed = 0;
    for (int i = 0; i < 300000; i++) {
        const sfid_layout raw = some_layout();
        const layout l(raw);
        const auto value = static_cast<std::int64_t>(some_bits() >> (i % 8 == 0 ? 0 : 1));
        const auto ms = static_cast<std::int64_t>(
            i % 2 == 0 ? some_bits()
                       : static_cast<std::uint64_t>(raw.epoch_ms) + some_bits() % 100000);
        sfid_parts p = {1, 2, 3, 4}, q = {1, 2, 3, 4};
        std::uint64_t tick = 5, tock = 5;
        std::int64_t composed = 6, put = 6;
        const int rc = sfid_parse(&raw, value, &p);
        parsed += rc == 0;
        wrong += sfid_inline_parse(&raw, value, &q) != rc || std::memcmp(&p, &q, sizeof p) != 0;
        wrong += sfid_min_at(&raw, ms) != l.min_at(moment(libsfid::milliseconds(ms))).value();
        wrong += sfid_max_at(&raw, ms) != l.max_at(moment(libsfid::milliseconds(ms))).value();
        wrong +=
            sfid_tick_at(&raw, ms, &tick) != sfid_inline_tick_at(&raw, ms, &tock) || tick != tock;
        p = {some_bits(), some_bits() & raw.max_pid, some_bits() & raw.max_seq, 0};
        wrong += sfid_compose(&raw, &p, &composed) != sfid_inline_compose(&raw, &p, &put) ||
                 composed != put;
    }
    is(wrong, 0U, "IDs and moments give the same as in the library");
    ok(parsed > 50000, "many IDs fit: " + std::to_string(parsed));
    sfid_parts p{};
    std::int64_t value = 0;
    const sfid_layout *l = &SFID_LAYOUT_DEFAULT;
    ok(sfid_inline_parse(l, 0, nullptr) == SFID_EINVAL &&
           sfid_inline_compose(l, nullptr, &value) == SFID_EINVAL &&
           sfid_inline_compose(l, &p, nullptr) == SFID_EINVAL &&
           sfid_inline_tick_at(l, 0, nullptr) == SFID_EINVAL,
       "NULL is refused");
}

/* A half-open span has exactly the IDs of the ticks that begin in it. The spans are short, and
 * about an ID or an end of the layout. */
static void spans() {
    using microseconds = std::chrono::microseconds;
    std::uint64_t wrong = 0, inside = 0, outside = 0;
    for (int i = 0; i < 200000; i++) {
        const layout l(some_layout());
        const auto life =
            std::min<std::int64_t>((l.end() - l.epoch()).count(), INT64_C(4000000000000000));
        const std::uint64_t last = static_cast<std::uint64_t>(life / l.unit().count()) - 1;
        const std::uint64_t tick = i % 8 == 0 ? 0 : i % 8 == 1 ? last : dice() % (last + 1);
        const id one = l.compose({tick, some_bits() & l.max_pid(), some_bits() & l.max_seq(), {}});
        const auto around = static_cast<std::int64_t>(some_bits() % 4000) - 2000;
        const auto since =
            l.time(one) +
            microseconds(i % 3 == 0 ? 0 : around * 1000 + static_cast<std::int64_t>(dice() % 1000));
        const auto until =
            since + microseconds(i % 5 == 0 ? 1 : static_cast<std::int64_t>(some_bits() % 5000000));
        const libsfid::id_range r = l.between(since, until);
        const bool within = l.time(one) >= since && l.time(one) < until;
        wrong += r.contains(one) != within;
        inside += within;
        outside += !within;
        if (!r.empty()) {
            wrong += l.time(r.first) < since || l.time(r.last) >= until;
            wrong += r.first != l.min_at(l.time(r.first)) || r.last != l.max_at(l.time(r.last));
            wrong += l.time(r.first) - l.unit() >= since && r.first != id(0);
            wrong += l.time(r.last) + l.unit() < until && l.parse(r.last).tick != l.max_tick();
        }
    }
    ok(inside > 20000 && outside > 20000,
       "spans with the ID and without: " + std::to_string(inside) + ", " + std::to_string(outside));
    is(wrong, 0U, "spans have the ticks that begin in them");
    ok(twitter.between(moment::min(), moment::max()) == libsfid::id_range{id(0), id(INT64_MAX)},
       "all of time is every ID");
    using minutes = std::chrono::duration<std::int32_t, std::ratio<60>>;
    using in_minutes = std::chrono::time_point<std::chrono::system_clock, minutes>;
    using in_hours = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
    ok(libsfid::layouts::mastodon.min_at(in_minutes::max()) ==
           libsfid::layouts::mastodon.min_at(moment(minutes::max())),
       "32-bit minutes do not wrap");
    ok(twitter.max_at(in_hours::max()) == id(INT64_MAX) && twitter.min_at(in_hours::min()) == id(0),
       "hours beyond all milliseconds");
    ok(twitter.min_at(std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>(
           -1ns)) == id(0),
       "before 1970");
    std::error_code ec;
    const layout late = libsfid::layouts::sfid;
    ok(refusal([&](std::error_code &e) { late.time<std::chrono::nanoseconds>(id::highest(), e); },
               [&] { late.time<std::chrono::nanoseconds>(id::highest()); }) ==
           libsfid::errc::overflow,
       "nanoseconds end before the layout does");
}

static sfid_wide_layout some_wide_layout() {
    const auto kind = static_cast<sfid_wide_kind>(SFID_FLAKE + static_cast<int>(dice() % 4));
    return {kind, 0,
            kind == SFID_AWSFLAKE ? static_cast<std::int64_t>(some_bits() % 253402300800000) : 0};
}

static void answers_of_wide_layouts() {
    std::uint64_t wrong = 0, parsed = 0;
    for (int i = 0; i < 300000; i++) {
        const sfid_wide_layout raw = some_wide_layout();
        const wide_layout l(raw);
        sfid_wide_parts p = {some_bits() & l.max_tick(), some_bits() & l.max_pid(),
                             some_bits() & l.max_seq(), some_bits() & l.max_random(), 0};
        if (i % 4 == 0)
            p.tick = some_bits();
        if (i % 16 == 1)
            p.seq = some_bits();
        if (i % 16 == 2)
            p.random = some_bits();
        sfid_wide v = {some_bits(), some_bits()}, w = v;
        std::error_code ec;
        const int rc = sfid_wide_compose(&raw, &p, &v);
        const wide_id composed = l.compose({p.tick, p.pid, p.seq, p.random, {}}, ec);
        wrong += ec.value() != rc || (rc == 0 && composed != wide_id(v));
        if (rc != 0 || i % 8 == 0)
            v = w;
        const wide_id one(v);
        const int prc = sfid_wide_parse(&raw, v, &p);
        const libsfid::wide_parts q = l.parse(one, ec);
        wrong += ec.value() != prc;
        if (prc < 0)
            continue;
        parsed++;
        wrong += q.tick != p.tick || q.pid != p.pid || q.seq != p.seq || q.random != p.random;
        wrong += q.time.time_since_epoch().count() != p.unix_ms;
        wrong += l.min_at(q.time) > one || l.max_at(q.time) < one;
        const libsfid::wide_parts low = l.parse(l.min_at(q.time), ec);
        wrong += bool(ec) || low.tick != q.tick || low.pid != 0 || low.seq != 0 || low.random != 0;
        const libsfid::wide_parts high = l.parse(l.max_at(q.time), ec);
        wrong += bool(ec) || high.tick != q.tick || high.pid != l.max_pid() ||
                 high.seq != l.max_seq() || high.random != l.max_random();
        wrong += q.tick > 0 && l.max_at(q.time - 1ms) >= l.min_at(q.time);
    }
    is(wrong, 0U, "wide IDs give the same as in the library, and lie within their bounds");
    ok(parsed > 50000, "many wide IDs fit: " + std::to_string(parsed));
    for (const sfid_wide_layout bad :
         {sfid_wide_layout{SFID_UUID7, 1, 0}, sfid_wide_layout{SFID_UUID7, 0, 1},
          sfid_wide_layout{static_cast<sfid_wide_kind>(0), 0, 0},
          sfid_wide_layout{static_cast<sfid_wide_kind>(5), 0, 0},
          sfid_wide_layout{SFID_AWSFLAKE, 0, SFID__EPOCH_MAX + 1}})
        tap::thrown<libsfid::error>([&] { static_cast<void>(wide_layout(bad)); },
                                    "an unusable wide layout is refused");
}

/* As spans(). Each tick is a millisecond. */
static void wide_spans() {
    using microseconds = std::chrono::microseconds;
    const libsfid::milliseconds one_ms(1);
    std::uint64_t wrong = 0, inside = 0, outside = 0;
    for (int i = 0; i < 50000; i++) {
        const wide_layout l(some_wide_layout());
        /* the last of flake's are beyond microseconds */
        const std::uint64_t last = std::min(l.max_tick(), sfid__ones(48));
        const std::uint64_t tick = i % 8 == 0 ? 0 : i % 8 == 1 ? last : dice() % (last + 1);
        const wide_id one = l.compose({tick,
                                       some_bits() & l.max_pid(),
                                       some_bits() & l.max_seq(),
                                       some_bits() & l.max_random(),
                                       {}});
        const auto since =
            l.time(one) +
            microseconds(i % 3 == 0 ? 0 : static_cast<std::int64_t>(dice() % 6000) - 3000);
        const auto until =
            since + microseconds(i % 5 == 0 ? 1 : static_cast<std::int64_t>(dice() % 6000));
        const libsfid::wide_id_range r = l.between(since, until);
        const bool within = l.time(one) >= since && l.time(one) < until;
        wrong += r.contains(one) != within;
        inside += within;
        outside += !within;
        if (!r.empty()) {
            wrong += l.time(r.first) < since || l.time(r.last) >= until;
            wrong += r.first != l.min_at(l.time(r.first)) || r.last != l.max_at(l.time(r.last));
            wrong += l.time(r.first) - one_ms >= since && l.parse(r.first).tick != 0;
            wrong += l.time(r.last) + one_ms < until && l.parse(r.last).tick != l.max_tick();
        }
    }
    ok(inside > 10000 && outside > 10000,
       "wide IDs inside and outside: " + std::to_string(inside) + ", " + std::to_string(outside));
    is(wrong, 0U, "spans of wide IDs have the milliseconds that begin in them");
}

static std::string some_text(form f) {
    static const std::string likely =
        "0123456789abcdefABCDEFghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ-+ \t";
    std::string s;
    if (dice() % 3 == 0) {
        s = libsfid::to_text(wide_id(dice() % 2 == 0 ? 0 : some_bits(), some_bits()), f).str();
        if (dice() % 2 == 0 && !s.empty())
            s[dice() % s.size()] = static_cast<char>(dice());
        return s;
    }
    for (std::size_t n = dice() % 42; n > 0; n--)
        s += likely[dice() % (f == form::dec ? 10 : f == form::hex ? 22 : likely.size())];
    return s;
}

static void answers_of_texts() {
    std::uint64_t wrong = 0, read = 0;
    for (int i = 0; i < 400000; i++) {
        const auto c_form = static_cast<sfid_form>(dice() % 8);
        const auto f = static_cast<form>(c_form);
        const std::string s = c_form <= SFID_BYTES ? some_text(f) : "1";
        std::error_code ec;
        std::size_t at = 77, place = 77;
        std::int64_t value = -1;
        sfid_wide wide = {0, 0};
        int rc = sfid_from_text_at(c_form, s.data(), s.size(), &value, &at);
        const id one = libsfid::from_text(s, f, ec, &place);
        wrong += ec.value() != rc || one.value() != value || at != place;
        read += rc == 0;
        at = place = 77;
        rc = sfid_wide_from_text(c_form, s.data(), s.size(), &wide, &at);
        const wide_id two = libsfid::wide_from_text(s, f, ec, &place);
        wrong += ec.value() != rc || two != wide_id(wide) || at != place;
        read += rc == 0;

        char buf[SFID_WIDE_TEXT_LEN + 1];
        const auto width = static_cast<unsigned>(dice() % 42);
        value = static_cast<std::int64_t>(i % 16 == 0 ? some_bits() : some_bits() >> 1);
        rc = sfid_to_text_padded(c_form, value, width, buf, sizeof buf);
        libsfid::text t = libsfid::to_text(id(value), f, width, ec);
        wrong += rc < 0
                     ? ec.value() != rc || t.size() != 0
                     : bool(ec) || t.view() != std::string_view(buf, static_cast<std::size_t>(rc));
        wide = {i % 2 == 0 ? 0 : some_bits(), some_bits()};
        rc = sfid_wide_to_text(c_form, wide, width, buf, sizeof buf);
        t = libsfid::to_text(wide_id(wide), f, width, ec);
        wrong += rc < 0
                     ? ec.value() != rc || t.size() != 0
                     : bool(ec) || t.view() != std::string_view(buf, static_cast<std::size_t>(rc));
    }
    is(wrong, 0U, "texts are read, written and refused as by the library, at the same place");
    ok(read > 50000, "many are read: " + std::to_string(read));
}

/* ---- IDs as values ---------------------------------------------------------- */

template <class T> std::string shown(const T &what) {
    std::ostringstream out;
    out << what;
    return out.str();
}

static void values() {
    is(shown(tweet), "1541815603606036480", "<< writes an ID in decimal");
    is(shown(rfc), "017f22e279b07cc398c4dc0c0c07398f", "and a wide one in hex");
    is(shown(id()) + shown(wide_id()), "no IDno ID", "and what is none as such");
    is(shown(libsfid::to_text(tweet, form::base62)), "1ptWyK4WgZU", "<< writes a text");
    std::ostringstream out;
    out.width(24);
    out.fill('.');
    out << tweet;
    is(out.str(), ".....1541815603606036480", "width and fill apply");
    is(libsfid::to_string(tweet) + libsfid::to_string(rfc, form::uuid),
       "1541815603606036480017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "to_string");
    is(std::string(libsfid::to_text(tweet).c_str()), "1541815603606036480", "a text ends in a NUL");
    tap::thrown<libsfid::error>([] { libsfid::to_text(id()); }, "what is no ID has no text");
    tap::thrown<libsfid::error>([] { libsfid::to_text(tweet, form::uuid); },
                                "nor has 64 bits as a UUID");
    is(std::string(
           tap::thrown<libsfid::error>([] { libsfid::from_text("12x"); }, "a bad text is refused")
               .what())
               .find("byte 2") != std::string::npos,
       true, "and the place is named");

    ok(id(1) == id(1) && id(1) != id(2) && id(1) < id(2) && id(2) > id(1) && id(1) <= id(1) &&
           id(2) >= id(1) && !(id(2) <= id(1)) && !(id(1) >= id(2)) && !(id(1) < id(1)) &&
           !(id(1) > id(1)),
       "IDs are ordered");
    const wide_id a(0, 9), b(1, 0), c(1, 1);
    ok(a < b && b < c && c > a && a != b && b == wide_id(1, 0) && a <= b && c >= b && !(b <= a) &&
           !(b >= c) && !(b < b) && !(b > b),
       "wide IDs, too, the high half first");
    std::unordered_set<id> narrow;
    std::unordered_set<wide_id> wide;
    std::unordered_set<std::size_t> low_bits;
    for (std::int64_t i = 0; i < 1000; i++) {
        narrow.insert(id(i << 28));
        wide.insert(wide_id(static_cast<std::uint64_t>(i), 0));
        wide.insert(wide_id(0, static_cast<std::uint64_t>(i)));
        low_bits.insert(std::hash<id>()(id(i << 28)) % 4096);
    }
    ok(narrow.size() == 1000 && wide.size() == 1999 && narrow.count(id(5 << 28)) == 1,
       "IDs are hashed");
    ok(low_bits.size() > 700, "low bits of a hash differ where those of the IDs do not: " +
                                  std::to_string(low_bits.size()));
    ok(libsfid::id_range().empty() && !libsfid::id_range().contains(id(5)) &&
           libsfid::wide_id_range().empty(),
       "a range is empty at first");
}

/* ---- errors ----------------------------------------------------------------- */

static void errors() {
#define SAME(name, value, text) \
    is(std::error_code(value, libsfid::error_category()).message(), sfid_strerror(value), \
       "the text of " #name);
    SFID_ERROR_LIST(SAME)
#undef SAME
    const std::error_code busy = libsfid::errc::busy;
    is(std::string(busy.category().name()), "sfid", "the category's name");
    ok(busy.value() == SFID_EBUSY && busy && !libsfid::detail::code_of(0),
       "a code is that of C; 0 is no error");
    ok(busy == std::errc::device_or_resource_busy &&
           make_error_code(libsfid::errc::invalid_argument) == std::errc::invalid_argument &&
           make_error_code(libsfid::errc::no_memory) == std::errc::not_enough_memory &&
           make_error_code(libsfid::errc::again) == std::errc::resource_unavailable_try_again &&
           make_error_code(libsfid::errc::overflow) == std::errc::value_too_large &&
           make_error_code(libsfid::errc::not_authorised) == std::errc::permission_denied &&
           make_error_code(libsfid::errc::unsupported) == std::errc::not_supported,
       "codes with a word in the C++ library compare equal to it");
    ok(make_error_code(libsfid::errc::lease) != std::errc::no_lock_available &&
           make_error_code(libsfid::errc::lease).default_error_condition().category() ==
               libsfid::error_category(),
       "the others have conditions of their own");
    is(std::error_code(-99, libsfid::error_category()).message(), "unknown error",
       "a code from the future");
    is(std::error_code(0, libsfid::error_category()).message(), "no error", "no error");
    const libsfid::error thrown(busy, "the sentence");
    ok(thrown.code() == busy && std::string(thrown.what()).find("the sentence") == 0,
       "what() begins with the sentence");
    tap::thrown<std::system_error>([] { libsfid::from_text(""); },
                                   "an error is a std::system_error");
    for (const auto &bad : {std::pair<unsigned, unsigned>{1, 5}, {64, 0}, {41, 33}, {60, 32}})
        tap::thrown<libsfid::error>([&] { layout(bad.first, bad.second, 0); },
                                    "a layout with impossible widths is refused");
    tap::thrown<libsfid::error>([] { layout(41, 10, 62); }, "62 bits of sequence");
    tap::thrown<libsfid::error>([] { layout(41, 10, 12, 0ms); }, "no unit");
    tap::thrown<libsfid::error>([] { layout(41, 10, 12, libsfid::milliseconds(INT64_C(1) << 32)); },
                                "a unit past 32 bits");
    tap::thrown<libsfid::error>([] { layout(41, 10, 12, 1ms, moment::max()); },
                                "an epoch after 9999");
    std::error_code ec;
    layout::from_text(std::string("twitter\0", 8), ec);
    is(ec, make_error_code(libsfid::errc::invalid_argument), "a layout's text with a NUL inside");
    wide_layout::from_text(std::string("uuid7\0x", 7), ec);
    is(ec, make_error_code(libsfid::errc::invalid_argument), "a wide one's, too");
    sfid_layout odd = SFID_LAYOUT(30, 10, 12, 1, 0);
    odd.time_shift = 33;
    odd.pid_shift = 23;
    ok(refusal([&](std::error_code &e) { libsfid::to_string(layout(odd), e); },
               [&] { libsfid::to_string(layout(odd)); }) == libsfid::errc::invalid_argument,
       "a layout with gaps has no text");
    is(libsfid::to_string(wide_layout::awsflake(moment(1451606400s))), "awsflake@1451606400000",
       "a wide layout's text");
    tap::thrown<libsfid::error>([] { wide_layout::awsflake(moment::max()); },
                                "awsflake's epoch has limits");
}

#ifdef __cpp_lib_format
static void formats() {
    is(std::format("{} {:base62} {:hex}", tweet, tweet, tweet),
       "1541815603606036480 1ptWyK4WgZU 1565a11f6217a000", "std::format");
    is(std::format("{} {:uuid}", rfc, rfc),
       "017f22e279b07cc398c4dc0c0c07398f 017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "of wide IDs");
    is(std::format("{}", id()), "no ID", "of no ID");
    tap::thrown<std::format_error>(
        [] { return std::vformat("{:uuid}", std::make_format_args(tweet)); },
        "64 bits are no UUID");
}
#else
static void formats() {
    std::cout << "ok " << ++tap::run << " # SKIP this compiler has no std::format\n";
}
#endif

int main() {
    checks_of_layouts();
    answers_of_layouts();
    spans();
    answers_of_wide_layouts();
    wide_spans();
    answers_of_texts();
    values();
    errors();
    formats();
    return tap::done();
}
