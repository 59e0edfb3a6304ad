/* SPDX-License-Identifier: MIT */
/**
 * sfid/text.hpp - IDs as text, and back, in C++.
 *
 *     std::cout << id << ' ' << libsfid::to_text(id, libsfid::form::base62);
 *     id = libsfid::from_text("1ptWyK4WgZU", libsfid::form::base62);
 *
 * Forms, widths and errors are those of sfid/text.h and sfid/wide.h. Reading is
 * strict: every byte is a digit of the form. Nothing here allocates, but
 * to_string(). No library to link; those of C are faster in bulk.
 *
 * Threads: any. Fork: safe. Signals: async-safe, unless a call throws.
 */
#ifndef SFID_TEXT_HPP
#define SFID_TEXT_HPP

#include "error.hpp"
#include "id.hpp"
#include "text.h"

#include <array>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#if defined(__has_include) && __cplusplus >= 202002L
#if __has_include(<version>)
#include <version>
#endif
#endif
#ifdef __cpp_lib_format
#include <format>
#endif

namespace libsfid {

/** The forms of sfid/text.h. */
enum class form : int {
    dec = SFID_DEC,
    hex = SFID_HEX,
    base62 = SFID_BASE62,
    base32 = SFID_BASE32,
    base58 = SFID_BASE58,
    uuid = SFID_UUID,
    bytes = SFID_BYTES
};

namespace detail {
struct text_access;
}

/** An ID as text: up to 39 characters, in the object itself, with a NUL behind them. */
class text {
  public:
    constexpr text() noexcept = default;
    constexpr const char *data() const noexcept { return chars_.data(); }
    constexpr const char *c_str() const noexcept { return chars_.data(); }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::string_view view() const noexcept { return {chars_.data(), size_}; }
    constexpr operator std::string_view() const noexcept { return view(); }
    std::string str() const { return std::string(view()); }

    friend constexpr bool operator==(const text &a, std::string_view b) noexcept {
        return a.view() == b;
    }
    friend constexpr bool operator!=(const text &a, std::string_view b) noexcept {
        return a.view() != b;
    }
    friend constexpr bool operator==(const text &a, const text &b) noexcept {
        return a.view() == b.view();
    }
    friend constexpr bool operator!=(const text &a, const text &b) noexcept {
        return a.view() != b.view();
    }

  private:
    friend detail::text_access;
    std::array<char, SFID_WIDE_TEXT_LEN> chars_{};
    std::size_t size_ = 0;
};

namespace detail {

struct text_access {
    static constexpr void append(text &t, char c) noexcept { t.chars_[t.size_++] = c; }
};
constexpr void append(text &t, char c) noexcept { text_access::append(t, c); }

/* The digits of a form: [0] for 64 bits, [1] for 128. */
struct alphabet {
    std::array<char, 62> digits;
    std::array<std::uint8_t, 256> values; /* of each byte; 255: no digit */
    unsigned base;                        /* 0: the form is not digits of a base */
    /* the most digits that are read; those written if no other width is wanted */
    std::array<std::size_t, 2> most, own;
};

constexpr unsigned char byte(char c) noexcept { return sfid__to<unsigned char>(c); }

/* also: pairs of characters; the first is read as the second. */
constexpr alphabet make_alphabet(std::string_view digits, bool any_case, std::string_view also,
                                 std::array<std::size_t, 2> most,
                                 std::array<std::size_t, 2> own) noexcept {
    alphabet a{{}, {}, sfid__to<unsigned>(digits.size()), most, own};
    for (std::uint8_t &value : a.values)
        value = 255;
    for (std::size_t i = 0; i < digits.size(); i++) {
        const char c = digits[i];
        const bool capital = c >= 'A' && c <= 'Z', small = c >= 'a' && c <= 'z';
        a.digits[i] = c;
        a.values[byte(c)] = sfid__to<std::uint8_t>(i);
        if (any_case && (capital || small))
            a.values[byte(c) ^ 0x20U] = sfid__to<std::uint8_t>(i);
    }
    for (std::size_t i = 0; i + 1 < also.size(); i += 2)
        a.values[byte(also[i])] = a.values[byte(also[i + 1])];
    return a;
}

inline constexpr alphabet decimal = make_alphabet("0123456789", false, "", {20, 39}, {1, 1});
inline constexpr alphabet hexadecimal =
    make_alphabet("0123456789abcdef", true, "", {16, 32}, {16, 32});
inline constexpr alphabet base62 =
    make_alphabet("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", false, "",
                  {11, 22}, {11, 22});
inline constexpr alphabet base32 =
    make_alphabet("0123456789ABCDEFGHJKMNPQRSTVWXYZ", true, "O0o0I1i1L1l1", {13, 26}, {13, 26});
inline constexpr alphabet base58 = make_alphabet(
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", false, "", {11, 22}, {11, 22});

/* NULL for forms that are not digits of a base, and for what is no form. */
constexpr const alphabet *alphabet_of(form f) noexcept {
    switch (f) {
    case form::dec:
        return &decimal;
    case form::hex:
        return &hexadecimal;
    case form::base62:
        return &base62;
    case form::base32:
        return &base32;
    case form::base58:
        return &base58;
    case form::uuid:
    case form::bytes:
        break;
    }
    return nullptr;
}

/* v = v * m + a, m below 2^6 and a below m; false, and v has no meaning, if that is 2^128 or
 * more. */
constexpr bool multiply_add(::sfid_wide &v, unsigned m, unsigned a) noexcept {
    if (v.high == 0 && v.low >> 58 == 0) {
        v.low = v.low * m + a;
        return true;
    }
    const std::uint64_t t0 = (v.low & UINT32_MAX) * m + a;
    const std::uint64_t t1 = (v.low >> 32) * m + (t0 >> 32);
    const std::uint64_t t2 = (v.high & UINT32_MAX) * m + (t1 >> 32);
    const std::uint64_t t3 = (v.high >> 32) * m + (t2 >> 32);
    v = {t3 << 32 | (t2 & UINT32_MAX), t1 << 32 | (t0 & UINT32_MAX)};
    return t3 >> 32 == 0;
}

/* v /= d; returns the remainder. */
constexpr unsigned divide(::sfid_wide &v, unsigned d) noexcept {
    std::uint64_t rest = v.high % d;
    v.high /= d;
    rest = rest << 32 | v.low >> 32;
    const std::uint64_t middle = rest / d;
    rest = rest % d << 32 | (v.low & UINT32_MAX);
    v.low = middle << 32 | rest / d;
    return sfid__to<unsigned>(rest % d);
}

/* What is read: a code of sfid/error.h or 0, the value, and the place where the text goes wrong. */
struct reading {
    int code;
    ::sfid_wide value;
    std::size_t at;
};

constexpr bool fits(const ::sfid_wide &v, bool wide) noexcept {
    return wide || (v.high == 0 && v.low <= INT64_MAX);
}

/* A wrong byte outranks an overflow, wherever the two are. */
constexpr reading read_digits(const alphabet &a, std::string_view s, bool wide) noexcept {
    ::sfid_wide v = {0, 0};
    std::size_t good = 0;
    bool over = false;
    for (std::size_t i = 0; i < s.size(); i++) {
        const unsigned digit = a.values[byte(s[i])];
        if (digit >= a.base)
            return {SFID_EINVAL, {0, 0}, i};
        over =
            over || i >= a.most[wide ? 1 : 0] || !multiply_add(v, a.base, digit) || !fits(v, wide);
        good += over ? 0 : 1;
    }
    if (over)
        return {SFID_EOVERFLOW, {0, 0}, good};
    return {0, v, 0};
}

constexpr bool hyphen_at(std::size_t i) noexcept { return i == 8 || i == 13 || i == 18 || i == 23; }

constexpr reading read_uuid(std::string_view s) noexcept {
    ::sfid_wide v = {0, 0};
    std::size_t i = 0;
    for (; i < s.size() && i < 36; i++) {
        const unsigned digit = hexadecimal.values[byte(s[i])];
        if (hyphen_at(i) ? s[i] != '-' : digit > 15)
            break;
        if (!hyphen_at(i))
            v = {v.high << 4 | v.low >> 60, v.low << 4 | digit};
    }
    if (i != 36 || s.size() != 36)
        return {SFID_EINVAL, {0, 0}, i};
    return {0, v, 0};
}

constexpr reading read_bytes(std::string_view s, bool wide) noexcept {
    const std::size_t want = wide ? 16 : 8;
    ::sfid_wide v = {0, 0};
    if (s.size() != want)
        return {SFID_EINVAL, {0, 0}, s.size() < want ? s.size() : want};
    for (const char c : s)
        v = {v.high << 8 | v.low >> 56, v.low << 8 | byte(c)};
    if (!fits(v, wide))
        return {SFID_EOVERFLOW, {0, 0}, 0};
    return {0, v, 0};
}

constexpr reading read(std::string_view s, form f, bool wide) noexcept {
    if (s.empty())
        return {SFID_EINVAL, {0, 0}, 0};
    if (const alphabet *a = alphabet_of(f))
        return read_digits(*a, s, wide);
    if (f == form::uuid && wide)
        return read_uuid(s);
    if (f == form::bytes)
        return read_bytes(s, wide);
    return {SFID_EINVAL, {0, 0}, 0};
}

/* The digits of v, at least width of them, without leading zeros beyond. Base is a constant, so
 * nothing is divided in earnest. */
template <unsigned Base>
constexpr void write_digits(const alphabet &a, ::sfid_wide v, std::size_t width,
                            text &out) noexcept {
    std::array<char, SFID_WIDE_TEXT_LEN> digits{};
    std::size_t n = 0;
    while (v.high != 0)
        digits[n++] = a.digits[divide(v, Base)];
    for (std::uint64_t low = v.low; low != 0; low /= Base)
        digits[n++] = a.digits[low % Base];
    while (n < width)
        digits[n++] = a.digits[0];
    while (n > 0)
        append(out, digits[--n]);
}

constexpr void write_bytes(std::uint64_t v, text &out) noexcept {
    for (unsigned shift = 64; shift > 0;) {
        shift -= 8;
        append(out, sfid__to<char>(v >> shift & 0xff));
    }
}

constexpr void write_uuid(const ::sfid_wide &v, text &out) noexcept {
    for (unsigned i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            append(out, '-');
        append(out, hexadecimal.digits[(i < 16 ? v.high : v.low) >> (60 - i % 16 * 4) & 15]);
    }
}

/* Returns a code of sfid/error.h or 0. */
constexpr int write_form(const ::sfid_wide &v, form f, std::size_t width, bool wide,
                         text &out) noexcept {
    const std::size_t bits = wide ? 1 : 0, fixed = f == form::uuid ? 36 : wide ? 16 : 8;
    const alphabet *a = alphabet_of(f);
    if (!fits(v, wide) || width > (a != nullptr ? a->most[bits] : fixed))
        return SFID_EINVAL;
    if (a != nullptr && width == 0)
        width = a->own[bits];
    switch (f) {
    case form::dec:
        write_digits<10>(*a, v, width == 0 ? 1 : width, out);
        return 0;
    case form::hex:
        write_digits<16>(*a, v, width, out);
        return 0;
    case form::base62:
        write_digits<62>(*a, v, width, out);
        return 0;
    case form::base32:
        write_digits<32>(*a, v, width, out);
        return 0;
    case form::base58:
        write_digits<58>(*a, v, width, out);
        return 0;
    case form::uuid:
        if (!wide || (width != 0 && width != fixed))
            return SFID_EINVAL;
        write_uuid(v, out);
        return 0;
    case form::bytes:
        if (width != 0 && width != fixed)
            return SFID_EINVAL;
        if (wide)
            write_bytes(v.high, out);
        write_bytes(v.low, out);
        return 0;
    }
    return SFID_EINVAL;
}

/* An id that is no ID does not fit 63 bits. */
constexpr ::sfid_wide bits_of(id i) noexcept { return {0, sfid__to<std::uint64_t>(i.value())}; }
constexpr ::sfid_wide bits_of(wide_id i) noexcept { return i.value(); }

template <class Id> constexpr bool is_wide = std::is_same_v<Id, wide_id>;
template <class Id> constexpr Id id_of(const ::sfid_wide &v) noexcept {
    if constexpr (is_wide<Id>)
        return wide_id(v);
    else
        return id(sfid__to<std::int64_t>(v.low));
}

template <class Id> constexpr text to_text(Id i, form f, std::size_t width) {
    text out;
    if (const int rc = write_form(bits_of(i), f, width, is_wide<Id>, out); rc < 0)
        fail(rc, "this is no ID, or no form or width for it");
    return out;
}

template <class Id> text to_text(Id i, form f, std::size_t width, std::error_code &ec) noexcept {
    text out;
    return failed(write_form(bits_of(i), f, width, is_wide<Id>, out), ec) ? text() : out;
}

template <class Id> constexpr Id from_text(std::string_view s, form f) {
    const reading r = read(s, f, is_wide<Id>);
    if (r.code < 0)
        fail(r.code, ("the text of an ID goes wrong at byte " + std::to_string(r.at)).c_str());
    return id_of<Id>(r.value);
}

template <class Id>
Id from_text(std::string_view s, form f, std::error_code &ec, std::size_t *at) noexcept {
    const reading r = read(s, f, is_wide<Id>);
    if (!failed(r.code, ec))
        return id_of<Id>(r.value);
    if (at != nullptr)
        *at = r.at;
    return Id();
}

} /* namespace detail */

/**
 * Writes an ID as text, as sfid_to_text_padded() and sfid_wide_to_text(). width
 * is the least number of digits: 0 is the form's own, 1 pads nothing.
 *
 * errc::invalid_argument: i is no ID, the form has no text for it (form::uuid is
 * for 128 bits), or width is above what the form reads.
 */
constexpr text to_text(id i, form f = form::dec, std::size_t width = 0) {
    return detail::to_text(i, f, width);
}
constexpr text to_text(wide_id i, form f = form::hex, std::size_t width = 0) {
    return detail::to_text(i, f, width);
}
inline text to_text(id i, form f, std::size_t width, std::error_code &ec) noexcept {
    return detail::to_text(i, f, width, ec);
}
inline text to_text(wide_id i, form f, std::size_t width, std::error_code &ec) noexcept {
    return detail::to_text(i, f, width, ec);
}

/** The same as a std::string. */
inline std::string to_string(id i, form f = form::dec) { return to_text(i, f).str(); }
inline std::string to_string(wide_id i, form f = form::hex) { return to_text(i, f).str(); }

/**
 * Reads an ID from the whole of a text, as sfid_from_text_at() and
 * sfid_wide_from_text(). On failure *at, if at is not NULL, gets the place, from
 * 0, where the text goes wrong; what() names it as well.
 *
 * errc::invalid_argument: a byte is no digit of the form, the text is empty, or
 * it has not the length that the form wants. errc::overflow: the value or the
 * number of digits is too large.
 */
constexpr id from_text(std::string_view s, form f = form::dec) {
    return detail::from_text<id>(s, f);
}
constexpr wide_id wide_from_text(std::string_view s, form f = form::uuid) {
    return detail::from_text<wide_id>(s, f);
}
inline id from_text(std::string_view s, form f, std::error_code &ec,
                    std::size_t *at = nullptr) noexcept {
    return detail::from_text<id>(s, f, ec, at);
}
inline wide_id wide_from_text(std::string_view s, form f, std::error_code &ec,
                              std::size_t *at = nullptr) noexcept {
    return detail::from_text<wide_id>(s, f, ec, at);
}

/** Writes a text, an ID in decimal, or a wide ID as 32 hex digits; what is no ID as "no ID". Width
 * and fill apply. */
template <class Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const text &t) {
    return out << std::basic_string_view<char, Traits>(t.data(), t.size());
}
template <class Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, id i) {
    return i.valid() ? out << to_text(i) : out << "no ID";
}
template <class Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, wide_id i) {
    return i.valid() ? out << to_text(i) : out << "no ID";
}

} /* namespace libsfid */

#ifdef __cpp_lib_format
namespace libsfid::detail {

/* {} is what << writes; {:dec}, {:hex}, {:base62}, {:base32}, {:base58} and, for 128 bits, {:uuid}
 * choose a form. */
template <class Id> struct formatter {
    form chosen = is_wide<Id> ? form::hex : form::dec;

    constexpr auto parse(std::format_parse_context &context) {
        auto end = context.begin();
        while (end != context.end() && *end != '}')
            ++end;
        const std::string_view name(context.begin(), end);
        if (name == "dec")
            chosen = form::dec;
        else if (name == "hex")
            chosen = form::hex;
        else if (name == "base62")
            chosen = form::base62;
        else if (name == "base32")
            chosen = form::base32;
        else if (name == "base58")
            chosen = form::base58;
        else if (name == "uuid" && is_wide<Id>)
            chosen = form::uuid;
        else if (!name.empty())
            wrong();
        return end;
    }

    /* Not constexpr, as fail(). */
    [[noreturn]] static void wrong() {
#ifdef __cpp_exceptions
        throw std::format_error(
            "an ID is written as dec, hex, base62, base32, base58 or, with 128 bits, uuid");
#else
        std::terminate();
#endif
    }

    template <class Context> auto format(Id i, Context &context) const {
        auto out = context.out();
        const std::string_view none = "no ID";
        const text t = i.valid() ? to_text(i, chosen) : text();
        for (const char c : i.valid() ? t.view() : none)
            *out++ = c;
        return out;
    }
};

} /* namespace libsfid::detail */

template <> struct std::formatter<libsfid::id> : libsfid::detail::formatter<libsfid::id> {};
template <>
struct std::formatter<libsfid::wide_id> : libsfid::detail::formatter<libsfid::wide_id> {};
#endif

#endif
