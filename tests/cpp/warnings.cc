/* SPDX-License-Identifier: MIT */
/* warnings.cc - what macros of the headers of C expand to in a C++ file. It is compiled, with all
 * warnings, and not run. */
#include <sfid.h>

SFID_DEFINE(seconds, SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS))
SFID_DEFINE(milliseconds, SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS))
SFID_DEFINE(full, SFID_LAYOUT(35, 10, 19, 1000U, -1500))

static constexpr unsigned bits = 10;
static constexpr int64_t epoch = 0;
static constexpr sfid_layout own = SFID_LAYOUT(41, bits, 12UL, 1LL, epoch);
static_assert(own.max_pid == 1023 && SFID_MAX_PID(own) == 1023,
              "a layout of constants of several types");
static_assert(SFID_LAYOUT_DEFAULT.max_tick == (UINT64_C(1) << 35) - 1,
              "the default in a constant expression");

#if __cplusplus >= 201402L
static constexpr sfid_wide_layout uuid7 = {SFID_UUID7, 0, 0};
static_assert(sfid_inline_layout_check(&own) == 0 &&
                  sfid_inline_max_at(&own, 1) == (INT64_C(2) << 22) - 1,
              "bounds, too");
static_assert(sfid_inline_wide_layout_check(&uuid7) == 0 &&
                  sfid_inline_wide_min_at(&uuid7, INT64_C(1645557742000)).high ==
                      UINT64_C(0x017f22e279b07000) &&
                  sfid_inline_wide_max_at(&uuid7, INT64_C(1645557742000)).low ==
                      UINT64_C(0xbfffffffffffffff),
              "those of a UUID as well");
#endif

extern int64_t use(int region, uint32_t ip, uint64_t wide, const sfid_event &event);

template <class Name> using opener = int (*)(Name **, const sfid_options *);

int64_t use(int region, uint32_t ip, uint64_t wide, const sfid_event &event) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.pid = SFID_AWS_PID(region, ip) + SFID_AWS_PID(wide, wide) + SFID_AWS_PID(3, 0x10203);
    opt.layout = &seconds_layout;
    seconds *g = nullptr;
    const opener<seconds> open = seconds_open;
    sfid_parts parts{};
    int64_t sum = open(&g, &opt);
    sum += seconds_next(g) + seconds_parse(sum, &parts) + sfid_pid(seconds_sfid(g));
    seconds_close(g);
    milliseconds *m = nullptr;
    sum += milliseconds_open(&m, nullptr) + milliseconds_next(m) + full_parse(sum, &parts);
    milliseconds_close(m);
    switch (event.code) {
#define SFID__TEST_CASE(name, value, text) \
    case SFID_##name: \
        sum += value; \
        break;
        SFID_ERROR_LIST(SFID__TEST_CASE)
    default:
        break;
    }
    return sum + SFID_EVENT_KINDS + SFID_EPOCH_MS + SFID_AWSFLAKE_EPOCH_MS + SFID_TEXT_LEN +
           SFID_WIDE_TEXT_LEN;
}
