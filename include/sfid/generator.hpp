/* SPDX-License-Identifier: MIT */
/**
 * sfid/generator.hpp - generators of IDs in C++: handles that close themselves,
 * options, events, batches.
 *
 *     libsfid::generator g("orders", "local");       opens, or throws libsfid::error
 *     libsfid::id id = g.next();                     an ID, or throws
 *
 *     std::error_code ec;
 *     libsfid::generator h("orders", "local", ec);   the same without exceptions
 *     if (ec) std::cerr << h.last_error();
 *     libsfid::id id = h.next(ec);
 *
 * The calls here are those of sfid.h and sfid/wide.h, and need the library. Their descriptions
 * hold: sleeping, errors, and safety in threads, forks and signals. A form that throws is never
 * async-safe.
 *
 * An object is moved, never copied. Any number of threads may call it at once,
 * also while one thread calls close(). Moving, assigning and destroying it are
 * for one thread alone, when no other uses it. A forked child closes its own
 * copy of the object; that gives the pid back when the parent has closed, too.
 */
#ifndef SFID_GENERATOR_HPP
#define SFID_GENERATOR_HPP

#include "../sfid.h"
#include "layout.hpp"
#include "wide.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace libsfid {

/* ---- options ------------------------------------------------------------ */

/** sfid_exhaustion: what a call does when the sequence is used up. */
enum class exhaustion : int { wait = SFID_WAIT, borrow = SFID_BORROW, fail = SFID_FAIL };

/** sfid_on_unknown: what opening does when Redis does not know the app, or a pid of "ordinal:" has
 * no mark. */
enum class on_unknown : int { wait_out = SFID_WAIT_OUT, trust = SFID_TRUST };

/** An event, as sfid_event. The views are valid during the callback only. */
struct event {
    ::sfid_event_kind kind;
    std::error_code code;  /**< if something failed, why */
    std::int64_t pid;      /**< the pid held, or -1 */
    std::int64_t value;    /**< as SFID_EVENT_LIST says, or 0 */
    std::string_view text; /**< one sentence for the operator */
    std::string_view app;  /**< the generator's app, or empty */
};

namespace detail {
inline constexpr ::sfid_options defaults = SFID_OPTIONS_INIT;
}

/**
 * The options of sfid_options under their names, times as std::chrono (short_ms
 * is short_lease). What is not set has the default of SFID_OPTIONS_INIT. A
 * generator copies what it needs.
 *
 * on_event is called for each event, in order, from a background thread of this
 * generator (with share, perhaps from several at once). The first call may come
 * before the constructor has returned; none comes after close() or the
 * destructor has. So what the function refers to has to outlive the generator,
 * and must bear calls from another thread. The generator has its own copy of the
 * function, which moving the generator leaves where it is. In on_event the
 * generator may generate IDs and show its status. It must not be destroyed, moved
 * or assigned to; close() does nothing there, and nothing may be opened. An
 * exception that leaves the function ends the program (std::terminate()). A
 * forked child has a copy of its own, called for events of the child.
 */
struct options {
    /* mirrors: cpp-members */
    std::optional<std::string> app;
    std::optional<std::string> store;
    std::int64_t pid = detail::defaults.pid;
    std::int64_t pid_min = detail::defaults.pid_min;
    std::int64_t pid_max = detail::defaults.pid_max;
    std::optional<libsfid::layout> layout;    /**< of a generator */
    std::optional<libsfid::wide_layout> wide; /**< of a wide_generator, which needs it */
    std::optional<std::string> run_dir;
    std::optional<std::string> state_dir;
    libsfid::exhaustion exhaustion = static_cast<libsfid::exhaustion>(detail::defaults.exhaustion);
    milliseconds max_wait{detail::defaults.max_wait_ms};
    milliseconds max_ahead{detail::defaults.max_ahead_ms};
    std::uint64_t random_start = detail::defaults.random_start;
    milliseconds ttl{detail::defaults.ttl_ms};
    milliseconds heartbeat{detail::defaults.heartbeat_ms};
    milliseconds open_timeout{detail::defaults.open_timeout_ms};
    milliseconds max_skew{detail::defaults.max_skew_ms};
    milliseconds skew_budget{detail::defaults.skew_budget_ms};
    libsfid::on_unknown on_unknown = static_cast<libsfid::on_unknown>(detail::defaults.on_unknown);
    std::function<void(const event &)> on_event;
    milliseconds short_lease{detail::defaults.short_ms};
    bool keep_pid = detail::defaults.keep_pid != 0;
    bool share = detail::defaults.share != 0;
    /* mirrors: end */

    /**
     * The same for calls in C, such as sfid_app_look(). Its pointers lead into *this: it is valid
     * while *this is unchanged. Its on_event is NULL. errc::invalid_argument: a time is negative or
     * above 2^32 - 1 ms, or a text has a NUL inside.
     */
    ::sfid_options raw() const {
        ::sfid_options c = SFID_OPTIONS_INIT;
        if (const char *wrong = fill(c))
            detail::fail(SFID_EINVAL, wrong);
        return c;
    }

  private:
    template <class Id> friend class basic_generator;

    /* Returns what is wrong, or NULL. */
    const char *fill(::sfid_options &c) const noexcept {
        const char *wrong = nullptr;
        const auto chars = [&wrong](const std::optional<std::string> &from,
                                    const char *name) -> const char * {
            if (from && from->find('\0') != std::string::npos)
                wrong = name;
            return from ? from->c_str() : nullptr;
        };
        const auto ms = [&wrong](milliseconds from, const char *name) -> std::uint32_t {
            if (from.count() < 0 || from.count() > UINT32_MAX)
                wrong = name;
            return sfid__to<std::uint32_t>(from.count());
        };
        /* mirrors: cpp-copies */
        c.app = chars(app, "app has a NUL inside");
        c.store = chars(store, "store has a NUL inside");
        c.pid = pid;
        c.pid_min = pid_min;
        c.pid_max = pid_max;
        c.layout = layout ? &layout->raw() : nullptr;
        c.run_dir = chars(run_dir, "run_dir has a NUL inside");
        c.state_dir = chars(state_dir, "state_dir has a NUL inside");
        c.exhaustion = sfid__to<::sfid_exhaustion>(exhaustion);
        c.max_wait_ms = ms(max_wait, "max_wait is out of range");
        c.max_ahead_ms = ms(max_ahead, "max_ahead is out of range");
        c.random_start = random_start;
        c.ttl_ms = ms(ttl, "ttl is out of range");
        c.heartbeat_ms = ms(heartbeat, "heartbeat is out of range");
        c.open_timeout_ms = ms(open_timeout, "open_timeout is out of range");
        c.max_skew_ms = ms(max_skew, "max_skew is out of range");
        c.skew_budget_ms = ms(skew_budget, "skew_budget is out of range");
        c.on_unknown = sfid__to<::sfid_on_unknown>(on_unknown);
        c.wide = wide ? &wide->raw() : nullptr;
        c.short_ms = ms(short_lease, "short_lease is out of range");
        c.keep_pid = keep_pid ? 1 : 0;
        c.share = share ? 1 : 0;
        /* mirrors: end */
        return wrong;
    }
};

/* ---- generators --------------------------------------------------------- */

namespace detail {

/*
 * What differs between IDs of 64 and 128 bits. Each returns a code of sfid/error.h, or 0 (next_n:
 * how many). What may sleep is not noexcept, here and below: a thread that is cancelled there is
 * unwound, and noexcept would end the program.
 */
inline int next(::sfid *g, id &out) {
    const std::int64_t value = sfid_next(g);
    out = id(value);
    return value < 0 ? sfid__to<int>(value) : 0;
}
inline int try_next(::sfid *g, id &out) noexcept {
    const std::int64_t value = sfid_try_next(g);
    out = id(value);
    return value < 0 ? sfid__to<int>(value) : 0;
}
inline std::int64_t next_n(::sfid *g, std::int64_t *out, std::size_t n) {
    return sfid_next_n(g, out, n);
}
inline int next(::sfid *g, wide_id &out) {
    ::sfid_wide value = {0, 0};
    const int rc = sfid_next_wide(g, &value);
    out = wide_id(value);
    return rc;
}
inline int try_next(::sfid *g, wide_id &out) noexcept {
    ::sfid_wide value = {0, 0};
    const int rc = sfid_try_next_wide(g, &value);
    out = wide_id(value);
    return rc;
}
inline std::int64_t next_n(::sfid *g, ::sfid_wide *out, std::size_t n) {
    return sfid_next_n_wide(g, out, n);
}

inline int code_in(std::int64_t result) noexcept { return result < 0 ? sfid__to<int>(result) : 0; }

/* The caller's function, at an address that stays while the generator moves. */
struct listener {
    std::function<void(const event &)> on_event;

    static void call(void *user, const ::sfid_event *e) noexcept {
        const event seen = {e->kind,
                            code_of(e->code),
                            e->pid,
                            e->value,
                            e->text != nullptr ? std::string_view(e->text) : std::string_view(),
                            e->app != nullptr ? std::string_view(e->app) : std::string_view()};
        static_cast<const listener *>(user)->on_event(seen);
    }
};

} /* namespace detail */

/** A generator of 64-bit IDs (generator) or of wide IDs (wide_generator). */
template <class Id> class basic_generator {
  public:
    /** The value in C that an Id holds: std::int64_t or sfid_wide. */
    using raw_type = std::conditional_t<std::is_same_v<Id, wide_id>, ::sfid_wide, std::int64_t>;

    /** None: every call is errc::closed. */
    basic_generator() noexcept = default;

    /**
     * Opens a generator, as sfid_open(). The form with ec reports through it;
     * last_error() then has the sentence. Both throw what copying on_event or a
     * text throws.
     *
     * errc::invalid_argument also: opt.raw() refuses opt; opt.wide is set for IDs of 64 bits, or is
     * not for wide ones.
     */
    explicit basic_generator(const options &opt) : basic_generator() {
        if (const int rc = open(opt); rc < 0)
            detail::fail(rc, why_.c_str());
    }
    basic_generator(const options &opt, std::error_code &ec) : basic_generator() {
        ec = detail::code_of(open(opt));
    }

    /** The common case, as sfid_open_app(). */
    basic_generator(const std::string &app, const std::string &store)
        : basic_generator(common(app, store)) {}
    basic_generator(const std::string &app, const std::string &store, std::error_code &ec)
        : basic_generator(common(app, store), ec) {}

    /** Leaves the other one as if it had been default-constructed. */
    basic_generator(basic_generator &&other) noexcept
        : listener_(std::move(other.listener_)), handle_(std::exchange(other.handle_, nullptr)),
          why_(std::exchange(other.why_, std::string())) {}

    /** Closes this one first. */
    basic_generator &operator=(basic_generator &&other) noexcept {
        if (this != &other) {
            end();
            listener_ = std::move(other.listener_);
            handle_ = std::exchange(other.handle_, nullptr);
            why_ = std::exchange(other.why_, std::string());
        }
        return *this;
    }
    basic_generator(const basic_generator &) = delete;
    basic_generator &operator=(const basic_generator &) = delete;

    /** Closes it, as close(). */
    ~basic_generator() { end(); }

    /** Gives the pid back, as sfid_close(). Later calls are errc::closed. Closing again does
     * nothing. */
    void close() noexcept { sfid_close(handle_); }

    /** Generates one ID. Sleeps and fails as sfid_next() and sfid_next_wide(). With ec the ID of a
     * failure is not valid(). */
    [[nodiscard]] Id next() {
        Id out;
        if (const int rc = detail::next(handle_, out); rc < 0)
            fail(rc);
        return out;
    }
    [[nodiscard]] Id next(std::error_code &ec) {
        Id out;
        return detail::failed(detail::next(handle_, out), ec) ? Id() : out;
    }

    /** Generates one ID without ever sleeping, as sfid_try_next(). Where that would sleep: none, or
     * errc::again. */
    [[nodiscard]] std::optional<Id> try_next() {
        Id out;
        const int rc = detail::try_next(handle_, out);
        if (rc == SFID_EAGAIN)
            return std::nullopt;
        if (rc < 0)
            fail(rc);
        return out;
    }
    [[nodiscard]] Id try_next(std::error_code &ec) noexcept {
        Id out;
        return detail::failed(detail::try_next(handle_, out), ec) ? Id() : out;
    }

    /**
     * Generates up to n IDs, increasing, into out[0..n-1], as sfid_next_n().
     * Returns how many were written. That is less than n only if the wait, the
     * window, the clock or a close ended the call; it fails if none were.
     */
    [[nodiscard]] std::size_t next_n(raw_type *out, std::size_t n) {
        const std::int64_t count = detail::next_n(handle_, out, n);
        if (count < 0)
            fail(detail::code_in(count));
        return sfid__to<std::size_t>(count);
    }
    [[nodiscard]] std::size_t next_n(raw_type *out, std::size_t n, std::error_code &ec) {
        const std::int64_t count = detail::next_n(handle_, out, n);
        return detail::failed(detail::code_in(count), ec) ? 0 : sfid__to<std::size_t>(count);
    }
    [[nodiscard]] std::size_t next_n(Id *out, std::size_t n) { return next_n(values(out), n); }
    [[nodiscard]] std::size_t next_n(Id *out, std::size_t n, std::error_code &ec) {
        return next_n(values(out), n, ec);
    }

    /** The same into a whole contiguous range of Id or raw_type: a std::vector, std::array,
     * std::span, array. */
    template <class Range> [[nodiscard]] std::size_t fill(Range &&range) {
        return next_n(std::data(range), std::size(range));
    }
    template <class Range> [[nodiscard]] std::size_t fill(Range &&range, std::error_code &ec) {
        return next_n(std::data(range), std::size(range), ec);
    }

    /**
     * The same to an output iterator, 64 IDs at a time: it may sleep for each 64, and ends with the
     * first that are fewer. It fails if none were written.
     */
    template <class Output> [[nodiscard]] std::size_t generate_n(Output out, std::size_t n) {
        std::error_code ec;
        const std::size_t count = generate_n(std::move(out), n, ec);
        if (ec)
            fail(ec.value());
        return count;
    }
    template <class Output>
    [[nodiscard]] std::size_t generate_n(Output out, std::size_t n, std::error_code &ec) {
        std::array<Id, 64> some;
        std::size_t count = 0;
        ec.clear();
        while (count < n) {
            const std::size_t wanted = std::min(n - count, some.size());
            const std::size_t got = next_n(some.data(), wanted, ec);
            out = std::copy_n(some.data(), got, std::move(out));
            count += got;
            if (got < wanted)
                break;
        }
        if (count > 0)
            ec.clear();
        return count;
    }

    /** How long until try_next() may succeed again, as sfid_retry_ms(). */
    milliseconds retry_after() const {
        const int ms = sfid_retry_ms(handle_);
        if (ms < 0)
            fail(ms);
        return milliseconds(ms);
    }
    milliseconds retry_after(std::error_code &ec) const noexcept {
        const int ms = sfid_retry_ms(handle_);
        return milliseconds(detail::failed(ms, ec) ? 0 : ms);
    }

    /** Whether IDs may be generated now, as sfid_ready(). */
    bool ready() const noexcept { return sfid_ready(handle_) != 0; }

    /** The pid held, as sfid_pid(). With ec the pid of a failure is -1. */
    std::int64_t pid() const {
        const std::int64_t held = sfid_pid(handle_);
        if (held < 0)
            fail(detail::code_in(held));
        return held;
    }
    std::int64_t pid(std::error_code &ec) const noexcept {
        const std::int64_t held = sfid_pid(handle_);
        return detail::failed(detail::code_in(held), ec) ? -1 : held;
    }

    /** What the generator is doing, as sfid_status(). errc::invalid_argument: there is none. */
    ::sfid_status_info status() const {
        ::sfid_status_info info{};
        if (const int rc = sfid_status(handle_, &info); rc < 0)
            detail::fail(rc, "there is no generator");
        return info;
    }
    ::sfid_status_info status(std::error_code &ec) const noexcept {
        ::sfid_status_info info{};
        return detail::failed(sfid_status(handle_, &info), ec) ? ::sfid_status_info{} : info;
    }

    /** The last error in one sentence for the operator, also why it could not be opened; empty if
     * nothing went wrong. */
    std::string last_error() const {
        return handle_ != nullptr ? std::string(sfid_last_error(handle_)) : why_;
    }

    /** Whether it was opened, if perhaps closed since. */
    explicit operator bool() const noexcept { return handle_ != nullptr; }

    /** The handle for calls in C, or NULL. The object goes on owning it. */
    ::sfid *get() const noexcept { return handle_; }

  private:
    static options common(const std::string &app, const std::string &store) {
        options opt;
        opt.app = app;
        opt.store = store;
        return opt;
    }

    /* An Id is its value: see the assertions in id.hpp. */
    static raw_type *values(Id *ids) noexcept { return reinterpret_cast<raw_type *>(ids); }

    [[noreturn]] void fail(int rc) const {
        detail::fail(rc, handle_ != nullptr ? sfid_last_error(handle_) : "no generator");
    }

    int refuse(const char *why) {
        why_ = why;
        return SFID_EINVAL;
    }

    int open(const options &opt) {
        ::sfid_options c = SFID_OPTIONS_INIT;
        if (const char *wrong = opt.fill(c))
            return refuse(wrong);
        if (opt.wide.has_value() != std::is_same_v<Id, wide_id>)
            return refuse(opt.wide ? "a wide layout needs a wide_generator"
                                   : "a wide_generator needs a wide layout");
        if (opt.on_event) {
            listener_ = std::make_unique<detail::listener>(detail::listener{opt.on_event});
            c.on_event = detail::listener::call;
            c.user = listener_.get();
        }
        ::sfid *g = nullptr;
        const int rc = sfid_open(&g, &c);
        if (rc == 0) {
            handle_ = g;
            return 0;
        }
        const std::unique_ptr<::sfid, void (*)(::sfid *)> closed(g, sfid_close);
        why_ = g != nullptr ? sfid_last_error(g) : sfid_strerror(rc);
        return rc;
    }

    /* Closing inside on_event does nothing, and on_event is still called: better lose its memory
     * than free it. */
    void end() noexcept {
        close();
        if (listener_ && handle_ != nullptr && sfid_pid(handle_) != SFID_ECLOSED)
            static_cast<void>(listener_.release());
        listener_.reset();
    }

    std::unique_ptr<detail::listener> listener_;
    ::sfid *handle_ = nullptr;
    std::string why_;
};

using generator = basic_generator<id>;
using wide_generator = basic_generator<wide_id>;

} /* namespace libsfid */

#endif
