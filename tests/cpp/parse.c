/* SPDX-License-Identifier: MIT */
/* parse.c - a program that only takes IDs apart: it is linked without the library, with every
 * header included. */
#include <sfid.h>
#include <stdio.h>

SFID_DEFINE(tweets, SFID_LAYOUT(41, 10, 12, 1, INT64_C(1288834974657)))

/* RFC 9562, A.6: a UUID of another maker lies between the bounds of its millisecond, and has all of
 * its bits in its parts. */
static int published_uuid(void) {
    static const sfid_wide_layout uuid7 = {SFID_UUID7, 0, 0};
    const sfid_wide id = {UINT64_C(0x017f22e279b07cc3), UINT64_C(0x98c4dc0c0c07398f)};
    sfid_wide_parts p = {0, 0, 0, 0, 0};
    sfid_wide back = {0, 0}, low, high;
    if (sfid_inline_wide_layout_check(&uuid7) < 0 || sfid_inline_wide_parse(&uuid7, id, &p) < 0 ||
        sfid_inline_wide_compose(&uuid7, &p, &back) < 0)
        return 0;
    low = sfid_inline_wide_min_at(&uuid7, p.unix_ms);
    high = sfid_inline_wide_max_at(&uuid7, p.unix_ms);
    return p.unix_ms == INT64_C(1645557742000) && back.high == id.high && back.low == id.low &&
           low.high < id.high && low.low == UINT64_C(1) << 63 && high.high > id.high &&
           high.low == UINT64_C(0xbfffffffffffffff);
}

int main(void) {
    const int64_t tweet = INT64_C(1541815603606036480);
    sfid_parts p = {0, 0, 0, 0}, q = {0, 0, 0, 0};
    int64_t id = -1;
    uint64_t tick = 0;
    if (tweets_parse(tweet, &p) < 0 || sfid_inline_layout_check(&SFID_LAYOUT_DEFAULT) < 0)
        return 1;
    if (sfid_inline_parse(&tweets_layout, tweet, &q) < 0 || q.pid != p.pid ||
        q.unix_ms != p.unix_ms)
        return 2;
    if (sfid_inline_compose(&tweets_layout, &p, &id) < 0 || id != tweet)
        return 3;
    if (sfid_inline_tick_at(&tweets_layout, p.unix_ms, &tick) < 0 || tick != p.tick)
        return 4;
    if (sfid_inline_min_at(&tweets_layout, p.unix_ms) > id ||
        sfid_inline_max_at(&tweets_layout, p.unix_ms) < id)
        return 5;
    if (!published_uuid())
        return 6;
    printf("%llu %llu %lld\n", (unsigned long long)p.pid, (unsigned long long)p.seq,
           (long long)p.unix_ms);
    return 0;
}
