/* SPDX-License-Identifier: MIT */
/*
 * text.c - measures conversions: nanoseconds for each form, direction and width.
 * It takes the best of several rounds over random IDs that fit in the cache.
 *
 *     make bench-text
 */
#include <sfid.h>
#include <stdio.h>
#include <time.h>

#define COUNT 4096
#define REPEATS 64
#define ROUNDS 7

static sfid_wide ids[COUNT];
static struct {
    char text[SFID_WIDE_TEXT_LEN];
    size_t len;
} texts[COUNT];

static double now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static uint64_t random_number(void) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Runs over all IDs. The sum keeps the compiler from removing work. */
typedef uint64_t pass(sfid_form form);

static uint64_t write_narrow(sfid_form form) {
    uint64_t sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum +=
            (uint64_t)sfid_to_text(form, (int64_t)ids[i].low, texts[i].text, sizeof texts[i].text);
    return sum;
}

static uint64_t read_narrow(sfid_form form) {
    uint64_t sum = 0;
    for (int i = 0; i < COUNT; i++) {
        int64_t id = 0;
        sum += (uint64_t)sfid_from_text(form, texts[i].text, texts[i].len, &id) + (uint64_t)id;
    }
    return sum;
}

static uint64_t write_wide(sfid_form form) {
    uint64_t sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += (uint64_t)sfid_wide_to_text(form, ids[i], 0, texts[i].text, sizeof texts[i].text);
    return sum;
}

static uint64_t read_wide(sfid_form form) {
    uint64_t sum = 0;
    for (int i = 0; i < COUNT; i++) {
        sfid_wide id = {0, 0};
        sum += (uint64_t)sfid_wide_from_text(form, texts[i].text, texts[i].len, &id, NULL) + id.low;
    }
    return sum;
}

static double cost(pass *run, sfid_form form) {
    double best = 1e18;
    volatile uint64_t kept = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double begin = now_ns();
        for (int i = 0; i < REPEATS; i++)
            kept += run(form);
        const double each = (now_ns() - begin) / (COUNT * REPEATS);
        best = each < best ? each : best;
    }
    return best;
}

static void fill(sfid_form form, int wide) {
    for (int i = 0; i < COUNT; i++) {
        /* 61 bits: 19 decimal digits, as in current IDs. */
        ids[i] = (sfid_wide){random_number(), random_number() >> 3 | UINT64_C(1) << 60};
        const int len =
            wide ? sfid_wide_to_text(form, ids[i], 0, texts[i].text, sizeof texts[i].text)
                 : sfid_to_text(form, (int64_t)ids[i].low, texts[i].text, sizeof texts[i].text);
        texts[i].len = len < 0 ? 0 : (size_t)len;
    }
}

int main(void) {
    printf("%-8s %12s %12s %12s %12s   ns\n", "form", "write 64", "read 64", "write 128",
           "read 128");
    for (int form = SFID_DEC; sfid_form_name((sfid_form)form); form++) {
        const sfid_form f = (sfid_form)form;
        printf("%-8s", sfid_form_name(f));
        for (int wide = 0; wide < 2; wide++) {
            fill(f, wide);
            if (texts[0].len == 0)
                printf(" %12s %12s", "-", "-");
            else
                printf(" %12.1f %12.1f", cost(wide ? write_wide : write_narrow, f),
                       cost(wide ? read_wide : read_narrow, f));
        }
        printf("\n");
    }
    return 0;
}
