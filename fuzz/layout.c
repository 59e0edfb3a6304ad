/* SPDX-License-Identifier: MIT */
/* layout.c - any text as a narrow or wide layout. What is read can be written, and reads back the
 * same. */
#include "fuzz.h"

static void fill_the_id(const sfid_field *fields, int count, unsigned bits) {
    unsigned sum = 0;
    HOLDS(count > 0);
    for (int i = 0; i < count; i++) {
        HOLDS(fields[i].name && fields[i].name[0] && fields[i].bits > 0 &&
              fields[i].shift + fields[i].bits <= bits);
        HOLDS(i == 0 || fields[i].shift + fields[i].bits <= fields[i - 1].shift);
        sum += fields[i].bits;
    }
    HOLDS(sum <= bits);
}

/* Checks that any sufficient room gets the same text, and a smaller one an error. */
static void fits(int (*format)(const void *l, char *buf, size_t size), const void *l,
                 const char *text) {
    for (size_t room = 0; room <= strlen(text) + 1; room++) {
        char *buf = fuzz_copy(NULL, room, 0);
        const int rc = format(l, buf, room);
        HOLDS(room == strlen(text) + 1 ? rc == 0 && strcmp(buf, text) == 0 : rc == SFID_EINVAL);
        free(buf);
    }
    HOLDS(format(l, NULL, 99) == SFID_EINVAL);
}

static int format_narrow(const void *l, char *buf, size_t size) {
    return sfid_layout_format(l, buf, size);
}

static int format_wide(const void *l, char *buf, size_t size) {
    return sfid_wide_layout_format(l, buf, size);
}

static void narrow(const char *text) {
    sfid_layout l, back;
    memset(&l, 0x5a, sizeof l);
    const sfid_layout before = l;
    const int rc = sfid_layout_parse(text, &l);
    if (rc != 0) {
        HOLDS(rc == SFID_EINVAL && memcmp(&l, &before, sizeof l) == 0);
        return;
    }
    char written[SFID_LAYOUT_STR_LEN];
    sfid_layout_facts facts, same;
    sfid_field fields[SFID_LAYOUT_FIELDS];
    HOLDS(sfid_layout_check(&l) == 0 && sfid_layout_describe(&l, &facts) == 0);
    HOLDS(sfid_layout_format(&l, written, sizeof written) == 0 &&
          sfid_layout_parse(written, &back) == 0);
    fits(format_narrow, &l, written);
    HOLDS(sfid_layout_fields(&l, fields, 1) == SFID_EINVAL &&
          sfid_layout_fields(&l, NULL, 9) == SFID_EINVAL);
    HOLDS(sfid_layout_describe(&back, &same) == 0 && facts.fingerprint == same.fingerprint &&
          facts.last_ms == same.last_ms);
    fill_the_id(fields, sfid_layout_fields(&l, fields, SFID_LAYOUT_FIELDS), 64);
    HOLDS(facts.last_ms > l.epoch_ms && facts.processes + facts.first_pid == l.max_pid + 1);
    HOLDS(sfid_min_at(&l, INT64_MIN) == 0 &&
          sfid_max_at(&l, INT64_MAX) >= sfid_min_at(&l, INT64_MAX));
}

static void wide(const char *text) {
    sfid_wide_layout l = {(sfid_wide_kind)77, 77, 77}, back;
    const int rc = sfid_wide_layout_parse(text, &l);
    if (rc != 0) {
        HOLDS(rc == SFID_EINVAL && (int)l.kind == 77 && l.reserved == 77 && l.epoch_ms == 77);
        return;
    }
    char written[SFID_LAYOUT_STR_LEN];
    sfid_wide_facts facts;
    sfid_field fields[SFID_LAYOUT_FIELDS];
    HOLDS(sfid_wide_layout_describe(&l, &facts) == 0 && facts.facts.last_ms > l.epoch_ms);
    HOLDS(sfid_wide_layout_format(&l, written, sizeof written) == 0 &&
          sfid_wide_layout_parse(written, &back) == 0);
    fits(format_wide, &l, written);
    HOLDS(sfid_wide_layout_fields(&l, fields, 2) == SFID_EINVAL &&
          sfid_wide_layout_describe(&l, NULL) == SFID_EINVAL);
    HOLDS(l.kind == back.kind && l.epoch_ms == back.epoch_ms && back.reserved == 0);
    fill_the_id(fields, sfid_wide_layout_fields(&l, fields, SFID_LAYOUT_FIELDS), 128);
}

int fuzz_layout(const uint8_t *data, size_t size) {
    char *text = fuzz_copy(data, size, 1);
    narrow(text);
    wide(text);
    const int region = sfid_aws_region(text);
    char name[SFID_AWS_REGION_LEN];
    HOLDS(region == SFID_EINVAL ||
          (sfid_aws_region_name((unsigned)region, name, sizeof name) == 0 &&
           strcmp(name, text) == 0));
    HOLDS(sfid_layout_parse(NULL, NULL) == SFID_EINVAL &&
          sfid_wide_layout_parse(NULL, NULL) == SFID_EINVAL &&
          sfid_aws_region(NULL) == SFID_EINVAL);
    HOLDS(sfid_layout_preset(64) == NULL && sfid_wide_layout_preset(64) == NULL);
    free(text);
    return 0;
}

FUZZ_TARGET(layout)
