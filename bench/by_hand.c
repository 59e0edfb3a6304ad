/* SPDX-License-Identifier: MIT */
/*
 * by_hand.c - the floor of `sfid decode --format csv`: a program for the default layout alone.
 *
 * It reads lines of 1 to 19 digits, which it does not check, and writes what that command writes.
 * What follows from the second it makes once for all IDs that follow one another in it: a floor for
 * IDs in order only.
 */
#include <sfid.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 65536, LINE = 128, LONGEST_ID = 19 };

/* The columns from the time to the tick. */
struct moment {
    uint64_t tick;
    size_t len;
    char text[LINE];
};

static char in[BUFFER + LONGEST_ID], out[BUFFER + LINE];

static void write_all(const char *p, size_t len) {
    for (ssize_t n; len > 0; p += n, len -= (size_t)n)
        if ((n = write(1, p, len)) < 0)
            _exit(1);
}

static void write_moment(struct moment *m, uint64_t tick) {
    const uint64_t ms = tick * 1000 + SFID_EPOCH_MS;
    const time_t second = (time_t)(ms / 1000);
    struct tm tm;
    gmtime_r(&second, &tm);
    m->tick = tick;
    m->len =
        (size_t)snprintf(m->text, sizeof m->text, ",%04d-%02d-%02dT%02d:%02d:%02d.000Z,%llu,%llu,",
                         tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                         tm.tm_sec, (unsigned long long)ms, (unsigned long long)tick);
}

/* Of at most six digits. */
static char *put_number(char *p, uint32_t number) {
    char digits[6];
    int n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

/* Returns how many bytes of in were whole lines. */
static size_t convert(size_t filled, struct moment *m) {
    const char *line = in, *p = in, *const end = in + filled;
    char *q = out;
    for (uint64_t id = 0; p < end; p++) {
        if (*p != '\n') {
            id = id * 10 + (uint64_t)(*p - '0');
            continue;
        }
        if (id >> 28 != m->tick)
            write_moment(m, id >> 28);
        memcpy(q, line, LONGEST_ID);
        q += p - line;
        memcpy(q, m->text, 64);
        q += m->len;
        q = put_number(q, id >> 17 & 2047);
        *q++ = ',';
        q = put_number(q, id & 131071);
        *q++ = '\n';
        if (q >= out + BUFFER) {
            write_all(out, BUFFER);
            memcpy(out, out + BUFFER, LINE);
            q -= BUFFER;
        }
        line = p + 1;
        id = 0;
    }
    write_all(out, (size_t)(q - out));
    return (size_t)(line - in);
}

int main(void) {
    struct moment m = {.tick = UINT64_MAX};
    size_t filled = 0;
    for (ssize_t n; (n = read(0, in + filled, BUFFER - filled)) > 0;) {
        filled += (size_t)n;
        const size_t done = convert(filled, &m);
        memmove(in, in + done, filled -= done);
    }
    return 0;
}
