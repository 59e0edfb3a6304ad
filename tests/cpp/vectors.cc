/* SPDX-License-Identifier: MIT */
/* vectors.cc - sfid.hpp in constant expressions, and every vector of tests/vectors.json; its path
 * is the argument. */
#include "json.hpp"
#include "shared.hpp"

#include <cstring>

/* ---- constant expressions ------------------------------------------------ */

static_assert(SFID_LAYOUT_DEFAULT.max_pid == 2047, "the C constant, in C++");
static_assert(SFID_MAX_PID(SFID_LAYOUT_DEFAULT) == 2047, "and its macro");
static_assert(layout() == layout(36, 11, 17, 1s, moment(1766361600s)));
static_assert(layout().raw().unit_ms == SFID_LAYOUT_DEFAULT.unit_ms);
static_assert(layout().epoch() == moment(1766361600s) && layout().end() == moment(36126099968s));

static_assert(twitter.parse(tweet).pid == 378 && twitter.parse(tweet).seq == 0);
static_assert(twitter.time(tweet) == moment(1656432460105ms));
static_assert(twitter.time<std::chrono::seconds>(tweet).time_since_epoch() == 1656432460s);
static_assert(twitter.time<std::chrono::nanoseconds>(tweet).time_since_epoch() ==
              1656432460105000000ns);
static_assert(twitter.compose({367597485448, 378, 0, {}}) == tweet);
static_assert(twitter.tick_at(moment(1656432460105ms)) == 367597485448);
static_assert(twitter.at(moment(1656432460105ms)).contains(tweet) &&
              !twitter.at(moment(1656432460106ms)).contains(tweet));
static_assert(twitter.between(moment(1656432460105ms), moment(1656432460106ms)) ==
              twitter.at(moment(1656432460105ms)));
static_assert(twitter.between(moment(2s), moment(1s)).empty() &&
              twitter.between(moment(1656432460105ms), moment(1656432460105ms)).empty());
static_assert(libsfid::to_text(tweet) == "1541815603606036480" &&
              libsfid::to_text(tweet, form::base62) == "1ptWyK4WgZU");
static_assert(libsfid::from_text("1ptWyK4WgZU", form::base62) == tweet);
static_assert(!id().valid() && id(0).valid() && id(1) < id(2) && !wide_id().valid());

static_assert(wide_layout::uuid7().time(rfc) == moment(1645557742000ms));
static_assert(wide_layout::uuid7().at(moment(1645557742000ms)).contains(rfc));
static_assert(wide_layout::uuid7().text(rfc) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
static_assert(wide_layout::uuid7().compose(wide_layout::uuid7().parse(rfc)) == rfc);

SFID_DEFINE(orders, SFID_LAYOUT(41, 10, 12, 1, INT64_C(1288834974657)))
static_assert(orders_layout.max_seq == 4095, "SFID_DEFINE's layout");

constexpr std::uint64_t pid_in_c(std::int64_t value) {
    sfid_parts p{};
    return sfid_inline_parse(&orders_layout, value, &p) == 0 ? p.pid : UINT64_MAX;
}
static_assert(pid_in_c(1541815603606036480) == 378 && pid_in_c(-1) == UINT64_MAX);
static_assert(SFID_AWS_PID(3, 0x12345678U) == ((3 << 16) | 0x5678));

/* ---- vectors -------------------------------------------------------------- */

static form form_named(const std::string &name) {
    for (int f = SFID_DEC; f <= SFID_BYTES; f++)
        if (name == sfid_form_name(static_cast<sfid_form>(f)))
            return static_cast<form>(f);
    tap::bail("vectors: no form " + name);
}

/* A text as bytes: form::bytes is given in hex. */
static std::string bytes_of(form f, const std::string &given) {
    if (f != form::bytes)
        return given;
    std::string bytes;
    for (std::size_t i = 0; i + 1 < given.size(); i += 2)
        bytes += static_cast<char>(std::stoi(given.substr(i, 2), nullptr, 16));
    return bytes;
}

static wide_id number(const std::string &decimal) {
    return libsfid::wide_from_text(decimal, form::dec);
}

static std::error_code code_named(const std::string &name) {
#define NAMED(code, value, text) \
    if (name == #code) \
        return static_cast<libsfid::errc>(value);
    SFID_ERROR_LIST(NAMED)
#undef NAMED
    tap::bail("vectors: no error " + name);
}

static bool is_wide_name(const std::string &name) {
    std::error_code ec;
    wide_layout::from_text(name, ec);
    return !ec;
}

static void a_layout(const json &v) {
    const std::string name = v.str("name");
    const auto found = presets.find(name);
    if (!ok(found != presets.end(), name + " is a constant"))
        return;
    const layout read = layout::from_text(name);
    ok(std::memcmp(&read.raw(), &found->second.raw(), sizeof read.raw()) == 0,
       name + ": the constant is what the library reads");
    is(libsfid::to_string(found->second), name, name + ": is written so");
    ok(read.unit().count() == v.i64("unit_ms") &&
           read.epoch().time_since_epoch().count() == v.i64("epoch_ms"),
       name + ": unit and epoch");
    is((read.end() - read.unit()).time_since_epoch().count(), v.i64("last_ms"),
       name + ": the last tick");
}

static void a_wide_layout(const json &v) {
    const std::string name = v.str("name");
    const wide_layout l = wide_layout::from_text(name);
    sfid_wide_facts facts;
    ok(sfid_wide_layout_describe(&l.raw(), &facts) == 0 && facts.max_tick == l.max_tick() &&
           facts.max_pid == l.max_pid() && facts.max_seq == l.max_seq() &&
           facts.max_random == l.max_random() && facts.bits == l.bits(),
       name + ": as the library describes it");
    is(libsfid::to_string(l), name, name + ": is written so");
    is(l.epoch().time_since_epoch().count(), v.i64("epoch_ms"), name + ": epoch");
}

template <class Id>
void a_text(Id want, form f, const std::string &given, std::size_t width, bool read_only) {
    const std::string bytes = bytes_of(f, given),
                      name = std::string(sfid_form_name(static_cast<sfid_form>(f))) + " " + given;
    std::error_code ec = libsfid::errc::busy;
    Id got;
    if constexpr (std::is_same_v<Id, id>)
        got = libsfid::from_text(bytes, f, ec);
    else
        got = libsfid::wide_from_text(bytes, f, ec);
    ok(!ec && got == want, name + " is read");
    if (read_only)
        return;
    is(std::string(libsfid::to_text(want, f, width)), bytes, name + " is written");
    ok(libsfid::to_text(want, f, width, ec) == bytes && !ec, name + " is written, with a code");
}

template <class Id> void texts_of(const json &v, Id want) {
    if (const json *texts = v.get("texts"))
        for (const json &t : texts->members)
            a_text(want, form_named(t.name), t.quoted ? t.text : t.str("text"),
                   t.quoted ? 0 : t.u64("width", 0), false);
}

template <class Layout, class Id, class Parts>
void an_id(const json &v, const Layout &l, Id i, const Parts &p) {
    const std::string name = v.str("layout") + " " + v.str("id");
    const moment at(libsfid::milliseconds(v.i64("unix_ms")));
    std::error_code ec = libsfid::errc::busy;
    ok(p.tick == v.u64("tick", ~p.tick) && p.pid == v.u64("pid", ~p.pid) &&
           p.seq == v.u64("seq", ~p.seq) && p.time == at,
       name + ": parts");
    ok(l.parse(i, ec).tick == p.tick && !ec && l.time(i) == at && l.time(i, ec) == at && !ec,
       name + ": time, both ways");
    ok(l.compose(p) == i && l.compose(p, ec) == i && !ec, name + ": put together, both ways");
    ok(l.min_at(at) <= i && i <= l.max_at(at) && l.at(at).contains(i),
       name + ": bounds of its moment");
    ok(l.between(at, at + 1ms).contains(i) && !l.between(at - 1h, at).contains(i) &&
           !l.between(at + 1ms, at + 1h).contains(i),
       name + ": a span has it, the neighbours have not");
    texts_of(v, i);
}

static void an_id(const json &v) {
    const wide_id value = number(v.str("id"));
    if (is_wide_name(v.str("layout"))) {
        const wide_layout l = wide_layout::from_text(v.str("layout"));
        const libsfid::wide_parts p = l.parse(value);
        is(p.random, v.u64("random", 0), v.str("id") + ": random bits");
        an_id(v, l, value, p);
    } else {
        const layout l = layout::from_text(v.str("layout"));
        const id i(static_cast<std::int64_t>(value.low()));
        an_id(v, l, i, l.parse(i));
    }
}

static void text_vector(const json &v) {
    const wide_id value = number(v.str("id"));
    const form f = form_named(v.str("form"));
    const bool read_only = v.str("read_only", "false") == "true";
    if (v.i64("bits") == 128)
        a_text(value, f, v.str("text"), v.u64("width", 0), read_only);
    else
        a_text(id(static_cast<std::int64_t>(value.low())), f, v.str("text"), v.u64("width", 0),
               read_only);
}

static std::error_code refused_text(const json &v, std::size_t &at) {
    const form f = form_named(v.str("form"));
    const std::string bytes = bytes_of(f, v.str("text"));
    if (v.i64("bits") == 128)
        return refusal(
            [&](std::error_code &ec) {
                ok(!libsfid::wide_from_text(bytes, f, ec, &at).valid(), "no ID");
            },
            [&] { libsfid::wide_from_text(bytes, f); });
    return refusal(
        [&](std::error_code &ec) { ok(!libsfid::from_text(bytes, f, ec, &at).valid(), "no ID"); },
        [&] { libsfid::from_text(bytes, f); });
}

static std::error_code refused_layout(const std::string &name) {
    const std::error_code narrow =
        refusal([&](std::error_code &ec) { layout::from_text(name, ec); },
                [&] { layout::from_text(name); });
    const std::error_code wide =
        refusal([&](std::error_code &ec) { wide_layout::from_text(name, ec); },
                [&] { wide_layout::from_text(name); });
    return narrow == wide ? narrow : std::error_code();
}

template <class Layout, class Id, class Parts>
std::error_code refused_by(const json &v, const Layout &l, Id i, const Parts &p) {
    if (v.str("call") == "parse")
        return refusal([&](std::error_code &ec) { l.parse(i, ec); }, [&] { l.parse(i); });
    return refusal([&](std::error_code &ec) { ok(!l.compose(p, ec).valid(), "no ID"); },
                   [&] { l.compose(p); });
}

static std::error_code refused_call(const json &v) {
    const std::uint64_t tick = v.u64("tick", 0), pid = v.u64("pid", 0), seq = v.u64("seq", 0);
    if (is_wide_name(v.str("layout")))
        return refused_by(v, wide_layout::from_text(v.str("layout")),
                          v.get("id") ? number(v.str("id")) : wide_id(),
                          libsfid::wide_parts{tick, pid, seq, v.u64("random", 0), {}});
    const layout l = layout::from_text(v.str("layout"));
    if (v.str("call") != "tick_at")
        return refused_by(v, l, v.get("id") ? id(v.i64("id")) : id(),
                          libsfid::parts{tick, pid, seq, {}});
    const moment at(libsfid::milliseconds(v.i64("unix_ms")));
    return refusal([&](std::error_code &ec) { l.tick_at(at, ec); }, [&] { l.tick_at(at); });
}

static void refused(const json &v) {
    const std::string call = v.str("call"), name = call + " " + v.str("layout", "") +
                                                   v.str("text", "") + v.str("id", "") + ": ";
    std::size_t at = 999;
    const std::error_code want = code_named(v.str("error"));
    if (call == "from_text") {
        is(refused_text(v, at), want, name + v.str("error"));
        is(at, v.u64("at", 998), "at this place");
    } else {
        is(call == "layout_parse" ? refused_layout(v.str("text")) : refused_call(v), want,
           name + v.str("error"));
    }
}

int main(int argc, char **argv) {
    if (argc != 2)
        tap::bail("the argument is the path of vectors.json");
    const json all = read_json(argv[1]);
    is(all.i64("format"), 1, "the file's format is known");
    std::size_t i = 0;
    for (; sfid_layout_preset(i) != nullptr; i++)
        ok(presets.count(sfid_layout_preset(i)) == 1,
           std::string(sfid_layout_preset(i)) + " has a constant");
    is(i, presets.size(), "and there are no others");
    const std::map<std::string, void (*)(const json &)> lists = {{"layouts", a_layout},
                                                                 {"wide_layouts", a_wide_layout},
                                                                 {"ids", an_id},
                                                                 {"texts", text_vector},
                                                                 {"refused", refused}};
    for (const auto &[name, run] : lists) {
        ok(!all.need(name).members.empty(), name + " are there");
        for (const json &member : all.need(name).members)
            run(member);
    }
    return tap::done();
}
