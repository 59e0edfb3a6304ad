/* SPDX-License-Identifier: MIT */
/*
 * files.c - any bytes as files that a process leaves behind (a slot's page, a
 * mark, the machine ID, an app's recorded layout) and as options of a store.
 * Invalid ones have to be refused with an error text.
 */
#define _GNU_SOURCE 1
#include "draw/page.h"
#include "host/files.h"
#include "host/identity.h"
#include "host/mark.h"
#include "id/layout.h"
#include "lease/options.h"

#include "base/hash.h"
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

static void check_failure(int rc, const struct sfid__error *err) {
    HOLDS(rc < 0 && err->code == rc && err->text[0] != '\0' &&
          memchr(err->text, '\0', sizeof err->text) != NULL);
}

/* ---- a page ----------------------------------------------------------------------- */

enum { RECORDS = 4 };

static union {
    struct sfid__page page;
    uint8_t bytes[sizeof(struct sfid__page) + RECORDS * sizeof(struct sfid__record)];
} map;

/*
 * Takes a good page of up to four records and changes bytes, given as pairs of
 * place and value. The first bit of `how` then corrects the header's checksum,
 * the second one those of the records.
 */
static void a_page(const uint8_t *data, size_t size) {
    const uint64_t how = fuzz_take(&data, &size, 1),
                   records = fuzz_take(&data, &size, 1) % (RECORDS + 1);
    const size_t cut = (size_t)fuzz_take(&data, &size, 2);
    struct sfid__page_id id = {.layout = 7, .boot_id = {1}, .device = 2, .inode = 3};
    sfid__page_id_seal(&id);
    memset(&map, 0, sizeof map);
    map.page.id = id;
    map.page.current = (uint32_t)(records ? records - 1 : 0);
    for (uint32_t i = 0; i < records; i++) {
        map.page.records[i].word = i + 1 < records ? SFID__CLOSED : 0;
        map.page.records[i].checksum = sfid__record_checksum(&map.page, i);
    }
    while (size > 0) {
        const size_t at = (size_t)fuzz_take(&data, &size, 2) % sizeof map.bytes;
        map.bytes[at] = (uint8_t)fuzz_take(&data, &size, 1);
    }
    if (how & 1)
        sfid__page_id_seal(&map.page.id);
    for (uint32_t i = 0; (how & 2) && i < records; i++)
        map.page.records[i].checksum = sfid__record_checksum(&map.page, i);
    const size_t bytes = how & 4 && cut < sizeof map.bytes ? cut : sizeof map.bytes;
    /* the size asked for is all that may be read */
    void *copy = aligned_alloc(SFID__LINE, sizeof map.bytes);
    HOLDS(copy != NULL);
    memcpy(copy, &map, sizeof map.bytes);
    uint32_t count = 77;
    const char *wrong = sfid__page_check(copy, &id, bytes, &count);
    HOLDS(wrong ? wrong[0] != '\0' && count == 77 : count <= RECORDS);
    count = 77;
    wrong = sfid__page_check_live(copy, &id, bytes, &count);
    HOLDS(wrong ? wrong[0] != '\0' && count == 77 : count >= 1 && count <= RECORDS);
    free(copy);
}

/* ---- files in a new directory -------------------------------------------- */

static char root[] = "/dev/shm/sfid-fuzz-XXXXXX";
static char pid_file[] = SFID__MARK_PREFIX "5";
static struct sfid__dir dir = SFID__DIR_NONE;

static void remove_root(void) {
    static const char *const names[] = {pid_file, "lock", "machine_id", "layout"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlinkat(dir.fd, names[i], 0);
    rmdir(root);
    sfid__dir_close(&dir);
}

static void make_root(void) {
    struct sfid__error err;
    if (dir.fd >= 0)
        return;
    HOLDS(mkdtemp(root) != NULL && sfid__dir_reopen(&dir, root, &err) == 0 &&
          atexit(remove_root) == 0);
}

static void write_file(const char *name, const void *data, size_t size) {
    const int fd = openat(dir.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    HOLDS(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
}

static void a_machine_id(const uint8_t *data, size_t size) {
    char id[SFID__MACHINE_ID];
    struct sfid__error err = {.code = 0};
    write_file("machine_id", data, size);
    const int rc = sfid__machine_id(&dir, 0, id, &err);
    if (rc < 0)
        check_failure(rc, &err);
    else
        HOLDS(id[0] != '\0' && strpbrk(id, " \n\t:/") == NULL && strlen(id) < sizeof id);
}

static void a_noted_layout(const uint8_t *data, size_t size) {
    static const sfid_layout layout = SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS);
    struct sfid__error err = {.code = 0};
    write_file("layout", data, size);
    const int rc = sfid__app_layout(&dir, &layout, &err);
    if (rc < 0)
        check_failure(rc, &err);
}

/* A good mark is shared, and joined by those whose page it names. */
static void share_mark(uint64_t page) {
    const struct sfid__mark_want want = {5, UINT64_C(0x0707070707070707), false, true, 0};
    struct sfid__mark mark, other;
    struct sfid__position at;
    struct sfid__error err = {.code = 0};
    bool by_fd;
    HOLDS(sfid__mark_take(&mark, &dir, &want, &at, &err) == 0 &&
          sfid__mark_share(&mark, &by_fd, &err) == 0);
    const int rc = sfid__mark_join(&other, &dir, &want, page + 1, by_fd, &err);
    HOLDS(rc == SFID_ESTATE);
    check_failure(rc, &err);
    HOLDS(sfid__mark_join(&other, &dir, &want, page, by_fd, &err) == 0);
    sfid__mark_drop(&other);
    sfid__mark_drop(&mark);
}

/*
 * Takes two entries, a block apart, and six blank ones. A bit of the first byte says for each of
 * the two whether its magic and checksum are corrected, another one for both whether the format is
 * the one before.
 */
static void a_mark(const uint8_t *data, size_t size) {
    enum { ENTRY = 64, BLOCK = 4096, SERIAL = 24, SUM = 56 };
    static uint8_t blocks[2 * BLOCK];
    const uint64_t how = fuzz_take(&data, &size, 1);
    struct sfid__mark mark;
    struct sfid__position at = {0};
    struct sfid__error err = {.code = 0};
    memset(blocks, 0, sizeof blocks);
    for (int i = 0; i < 2; i++) {
        uint8_t *entry = blocks + i * BLOCK;
        const size_t n = size < ENTRY ? size : ENTRY;
        if (n > 0)
            memcpy(entry, data, n);
        data += n;
        size -= n;
        if ((how >> i & 1) == 0)
            continue;
        memcpy(entry, how & 32 ? "sfidmrk1" : "sfidmrk2", 8);
        entry[SERIAL + 7] = 0; /* no counted serial gets that high */
        const uint64_t sum = sfid__hash(SFID__HASH_SEED, entry, SUM);
        memcpy(entry + SUM, &sum, sizeof sum);
    }
    const size_t written = how & 4 ? sizeof blocks / 4 * (how >> 3 & 3) : sizeof blocks;
    write_file(pid_file, blocks, written);
    const int checked = sfid_mark_check(written ? blocks : NULL, written);
    HOLDS(sfid_mark_check(NULL, 1) == SFID_EINVAL);
    struct sfid__position seen;
    const int looked = sfid__mark_look(&dir, 5, UINT64_C(0x0707070707070707), &seen, &err);
    const int rc = sfid__mark_take(
        &mark, &dir, &(struct sfid__mark_want){5, UINT64_C(0x0707070707070707), false, false, 0},
        &at, &err);
    HOLDS(looked == rc);
    if (rc < 0) {
        check_failure(rc, &err);
        HOLDS(checked == 0 || rc == SFID_ESTATE);
        return;
    }
    HOLDS(checked == 0 && seen.word == at.word && seen.page_nonce == at.page_nonce &&
          seen.exact == at.exact && seen.damaged == at.damaged);
    const uint64_t next = at.word < UINT64_MAX ? at.word + 1 : at.word; /* a mark never goes back */
    HOLDS(sfid__mark_write(&mark,
                           (struct sfid__position){.word = next, .page_nonce = at.page_nonce + 1},
                           &err) == 0);
    struct sfid__position again;
    sfid__mark_drop(&mark);
    HOLDS(
        sfid__mark_take(&mark, &dir,
                        &(struct sfid__mark_want){5, UINT64_C(0x0707070707070707), false, false, 0},
                        &again, &err) == 0);
    HOLDS(again.word == next && again.page_nonce == at.page_nonce + 1 && !again.exact &&
          !again.damaged);
    sfid__mark_drop(&mark);
    share_mark(again.page_nonce);
}

/* ---- options ---------------------------------------------------------------------------- */

static void hear_nothing(void *user, const sfid_event *event) { (void)user, (void)event; }

/* Most numbers among the options keep their defaults. */
static void set_numbers(sfid_options *opt, const uint8_t **data, size_t *size) {
    const uint64_t value = fuzz_take(data, size, 4);
    int64_t *const wide[] = {&opt->pid, &opt->pid_min, &opt->pid_max};
    uint32_t *const narrow[] = {&opt->ttl_ms,      &opt->heartbeat_ms, &opt->open_timeout_ms,
                                &opt->max_wait_ms, &opt->max_ahead_ms, &opt->skew_budget_ms,
                                &opt->max_skew_ms};
    const uint64_t which = fuzz_take(data, size, 1) % 16;
    if (which < 3)
        *wide[which] = (int32_t)value;
    else if (which < 10)
        *narrow[which - 3] = (uint32_t)value;
    else if (which == 10)
        opt->exhaustion = (sfid_exhaustion)(value & 7);
    else if (which == 11)
        opt->on_unknown = (sfid_on_unknown)(value & 7);
    else if (which == 12)
        opt->random_start = value;
    else if (which == 13)
        opt->share = value;
    else if (which == 14)
        opt->on_event = hear_nothing;
}

static void an_option(const uint8_t *data, size_t size) {
    static const sfid_layout layouts[] = {
        SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS), SFID_LAYOUT(36, 20, 8, 1000, 0), {0}};
    const uint64_t which = fuzz_take(&data, &size, 1);
    struct sfid__settings settings;
    struct sfid__error err = {.code = 0};
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.layout = which & 2 ? &layouts[(which >> 2) % 3] : NULL;
    if (which & 8)
        set_numbers(&opt, &data, &size);
    if (which & 16)
        set_numbers(&opt, &data, &size);
    char *text = fuzz_copy(data, size, 1);
    opt.app = which & 1 ? text : which & 32 ? NULL : "app";
    opt.store = which & 1 ? "local" : which & 64 ? NULL : text;
    if (which & 128) {
        opt.app = "app";
        opt.store = "local";
        opt.run_dir = text;
    }
    const int rc = sfid__options_read(&opt, &settings, &err);
    if (rc < 0)
        check_failure(rc, &err);
    else
        HOLDS(settings.lead_ms > 0 && settings.lead_ms <= 86400000 && settings.opt.pid_min >= 0 &&
              settings.opt.pid_min <= settings.opt.pid_max);
    sfid__options_end(&settings);
    HOLDS(sfid__options_read(NULL, &settings, &err) == SFID_EINVAL);
    free(text);
}

/* Checks which options fit the layout of a wide ID. */
static void a_wide_option(const uint8_t *data, size_t size) {
    static const sfid_wide_layout layouts[] = {
        {.kind = SFID_FLAKE}, {.kind = SFID_AWSFLAKE}, {.kind = SFID_UUID7}, {0}};
    const uint64_t which = fuzz_take(&data, &size, 1);
    struct sfid__settings settings;
    struct sfid__error err = {.code = 0};
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.wide = &layouts[which & 3];
    opt.layout = which & 4 ? &SFID_LAYOUT_DEFAULT : NULL;
    opt.app = which & 8 ? "app" : NULL;
    static const char *const stores[] = {NULL, "local", "redis://host", "local?pid_max=1"};
    opt.store = stores[which >> 4 & 3];
    opt.exhaustion = which & 128 ? SFID_BORROW : SFID_WAIT;
    if (which & 64)
        set_numbers(&opt, &data, &size);
    const int rc = sfid__options_read(&opt, &settings, &err);
    if (rc < 0)
        check_failure(rc, &err);
    else
        HOLDS(settings.plan.by_host == (layouts[which & 3].kind != SFID_UUID7) &&
              settings.opt.layout == &settings.plan.engine);
    sfid__options_end(&settings);
}

/* The size says how many options a caller knows; all bytes after them must be 0. */
static void a_size(const uint8_t *data, size_t size) {
    union {
        sfid_options opt;
        uint8_t bytes[sizeof(sfid_options) + 64];
    } given;
    sfid_options opt;
    struct sfid__error err = {.code = 0};
    memset(&given, 0, sizeof given);
    given.opt = (sfid_options)SFID_OPTIONS_INIT;
    given.opt.size = (size_t)fuzz_take(&data, &size, 2) % (sizeof given + 1);
    if (size > 0)
        given.bytes[sizeof given.opt + data[0] % 64] = data[size - 1];
    const int rc = sfid__options_copy(&given.opt, &opt, &err);
    if (rc < 0)
        check_failure(rc, &err);
    else
        HOLDS(opt.size == sizeof opt);
}

int fuzz_files(const uint8_t *data, size_t size) {
    enum { WIDE = 252 };
    const uint64_t what = fuzz_take(&data, &size, 1);
    make_root();
    switch (what == WIDE ? what : what % 6) {
    case WIDE:
        a_wide_option(data, size);
        break;
    case 0:
        a_page(data, size);
        break;
    case 1:
        a_machine_id(data, size);
        break;
    case 2:
        a_noted_layout(data, size);
        break;
    case 3:
        a_mark(data, size);
        break;
    case 4:
        an_option(data, size);
        break;
    default:
        a_size(data, size);
        break;
    }
    return 0;
}

FUZZ_TARGET(files)
