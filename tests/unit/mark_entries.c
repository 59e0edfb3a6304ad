/* SPDX-License-Identifier: MIT */
/* What the content of a mark says, without a file: which entry counts, and what is refused. */
#include "host/mark_entries.h"

#include "base/hash.h"
#include "support/tap.h"

#include <sfid.h>
#include <string.h>

static struct { char bytes[SFID__MARK_SIZE + SFID__MARK_BLOCK]; } content;
static struct sfid__mark_entry all[SFID__MARK_ENTRIES + 1]; /* one more, which nobody may touch */
static struct sfid__mark_said said;

static struct sfid__mark_entry entry(uint64_t life, uint64_t position, uint64_t serial) {
    struct sfid__mark_entry e = {.life = life, .position = position, .serial = serial};
    sfid__mark_entry_seal(&e);
    return e;
}

static struct sfid__mark_entry older(uint64_t exact, uint64_t position, uint64_t serial) {
    struct sfid__mark_entry e = {.magic = {'s', 'f', 'i', 'd', 'm', 'r', 'k', '1'},
                                 .life = exact,
                                 .position = position,
                                 .serial = serial};
    e.checksum = sfid__hash(SFID__HASH_SEED, &e, offsetof(struct sfid__mark_entry, checksum));
    return e;
}

static void checked(void) {
    memset(&content, 0, sizeof content);
    is_i64(sfid_mark_check(NULL, 1), SFID_EINVAL, "no content with a size");
    is_i64(sfid_mark_check(NULL, 0), 0, "an empty file is a mark that was never written");
    is_i64(sfid_mark_check(&content, SFID__MARK_SIZE), 0, "so is a blank one");
    content.bytes[0] = 1;
    is_i64(sfid_mark_check(&content, SFID__MARK_SIZE), SFID_ESTATE,
           "one whose first byte is not 0 is none");
    content.bytes[0] = 0;
    content.bytes[SFID__MARK_SIZE] = 1;
    is_i64(sfid_mark_check(&content, sizeof content), 0,
           "what lies behind the last entry does not count");
    content.bytes[100] = 1;
    is_i64(sfid_mark_check(&content, sizeof content), SFID_ESTATE, "what lies before it does");
    const struct sfid__mark_entry e = entry(0, 7, 1);
    memcpy(content.bytes + SFID__MARK_BLOCK, &e, sizeof e);
    is_i64(sfid_mark_check(&content, sizeof content), 0, "one good entry is enough");
    content.bytes[SFID__MARK_BLOCK]++;
    is_i64(sfid_mark_check(&content, sizeof content), SFID_ESTATE, "a bad one is none");
}

static void gathered(void) {
    unsigned wrong = 0;
    memset(&content, 0xee, sizeof content);
    for (int i = 0; i < SFID__MARK_ENTRIES; i++)
        memset(content.bytes + i * SFID__MARK_BLOCK, i + 1, sizeof *all);
    memset(all, 0x77, sizeof all);
    sfid__mark_gather(&content, sizeof content, all);
    for (int i = 0; i < SFID__MARK_ENTRIES; i++)
        wrong += all[i].magic[0] != i + 1 || all[i].serial != all[i].layout ||
                 ((char *)&all[i])[sizeof *all - 1] != i + 1;
    is_u64(wrong, 0, "an entry is what begins its block");
    is_u64(all[SFID__MARK_ENTRIES].serial, UINT64_C(0x7777777777777777),
           "and there are no more of them");
    memset(all, 0x77, sizeof all);
    sfid__mark_gather(&content, SFID__MARK_BLOCK + 10, all);
    ok(((char *)&all[1])[9] == 2 && sfid__mark_blank((char *)&all[1] + 10, 7 * sizeof *all - 10),
       "what lies behind the end of a short file is blank");
}

static bool reads(void) { return sfid__mark_read(all, &said); }

static void counted(void) {
    memset(all, 0, sizeof all);
    ok(!reads(), "no entry says nothing");
    all[6] = entry(2, 50, 9);
    ok(reads() && said.damaged && said.top.position == 50 && said.serial == 9,
       "a blank seat beside a good one is unused");
    all[1] = entry(0, 900, 12);
    ok(reads() && said.top.position == 50 && said.serial == 12,
       "the latest life counts, and the highest serial goes on");
    all[7] = entry(3, 60, 8);
    ok(reads() && said.top.position == 60 && said.top.serial == 8,
       "of one life the furthest, not the newest");
    all[6] = entry(2, 60, 9);
    ok(reads() && said.top.serial == 9, "of one position the newest");
    all[0] = entry(3, 900, 1);
    all[1] = entry(4, 10, 2);
    all[2] = entry(3, 950, 3);
    ok(reads() && said.top.position == 10, "of two lives the later, however far");
    sfid__mark_fill(all, entry(2, 60, 9), 8);
    memset(&all[SFID__MARK_ENTRIES], 0, sizeof *all);
    ok(reads() && !said.damaged && said.serial == 9 + SFID__MARK_ENTRIES - 1,
       "eight good entries are all there are");
    for (unsigned seat = 0; seat < SFID__MARK_SEATS; seat++) {
        struct sfid__mark_entry spoilt[SFID__MARK_ENTRIES];
        sfid__mark_fill(spoilt, entry(2, 60, 9), 8);
        spoilt[2 * seat].magic[0] = 'x';
        ok(sfid__mark_read(spoilt, &said) && said.damaged, "seat %u has lost one of its entries",
           seat);
        memset(&spoilt[2 * seat + 1], 0, sizeof *spoilt);
        ok(!sfid__mark_read(spoilt, &said), "and the other one as well");
    }
}

static void of_the_format_before(void) {
    memset(all, 0, sizeof all);
    all[0] = older(0, 100, 2);
    all[1] = older(0, 90, 1);
    ok(reads() && said.older && !said.damaged && said.top.position == 100,
       "of the format before the newer entry counts: the first");
    is_u64(said.top.life, 0, "in life 0");
    all[1] = older(3, 80, 3);
    ok(reads() && said.top.position == 80, "or the second");
    is_u64(said.top.life, 1, "and exact");
    all[1].magic[0] = 'x';
    ok(reads() && said.damaged && said.top.position == 100, "or the one that is good: the first");
    is_i64(sfid__mark_newest_of(all, 0), 0, "which is not to be covered");
    all[0].magic[0] = 'x';
    all[1] = older(0, 80, 3);
    ok(reads() && said.damaged && said.top.position == 80, "or the second");
    all[0] = entry(0, 70, 9);
    ok(reads() && said.older && !said.damaged && said.top.position == 80,
       "beside an entry of this format the higher position counts");
}

static void newest(void) {
    memset(all, 0, sizeof all);
    is_i64(sfid__mark_newest_of(all, 1), 3,
           "of a blank seat the second is the newest, so the first is written");
    all[2] = entry(0, 5, 5);
    is_i64(sfid__mark_newest_of(all, 1), 2, "then it is the first");
    all[3] = entry(0, 6, 6);
    is_i64(sfid__mark_newest_of(all, 1), 3, "then the second");
    all[2] = entry(0, 7, 7);
    is_i64(sfid__mark_newest_of(all, 1), 2, "and so on");
}

/* What the newest entry notes. */
static void known(void) {
    struct sfid__mark_entry e = {.life = 2, .position = 60, .serial = 9};
    sfid__mark_fill(all, (struct sfid__mark_entry){.serial = 1}, 8);
    ok(reads() && said.unnamed && said.spare == SFID__MARK_ENTRIES + 1,
       "of a mark that says 0 no entry is needed, and its name is new");
    sfid__mark_fill(all, (struct sfid__mark_entry){.serial = 1, .life = 2}, 8);
    ok(reads() && !said.unnamed && said.spare == 0,
       "one that was closed at 0 is as any other: an entry without a note says nothing");
    e.known = 7 << 1;
    sfid__mark_entry_seal(&e);
    all[4] = e;
    ok(reads() && said.spare == 7 && !said.unnamed, "the newest entry says what is needed no more");
    e.known = 6 << 1 | 1;
    e.serial = 10;
    sfid__mark_entry_seal(&e);
    all[2] = e;
    ok(reads() && said.spare == 6 && said.unnamed,
       "and whether the name of the file is new: a newer one counts");
    all[2].known ^= 2;
    ok(reads() && said.spare == 0 && !said.unnamed, "a note that is damaged says nothing");
    all[2].known ^= 2;
    all[2].serial = 11;
    all[2].checksum =
        sfid__hash(SFID__HASH_SEED, &all[2], offsetof(struct sfid__mark_entry, checksum));
    ok(reads() && said.serial == 11 && said.spare == 0 && !said.unnamed,
       "nor does one that an older library has left behind its entry");
}

static void spare(void) {
    static const uint64_t serials[SFID__MARK_ENTRIES] = {10, 3, 7, 5, 6, 8, 4, 9};
    for (int i = 0; i < SFID__MARK_ENTRIES; i++)
        all[i] = entry(0, 60, serials[i]);
    is_i64(sfid__mark_spare(all, 11), 1, "the oldest entry may go");
    is_i64(sfid__mark_spare(all, 10), 1, "also beside the one that is known to be durable");
    is_i64(sfid__mark_spare(all, 9), 6, "not beside one that may be torn");
    is_i64(sfid__mark_spare(all, 8), 3, "then it is another");
    is_i64(sfid__mark_spare(all, 7), 3, "one below the bound");
    is_i64(sfid__mark_spare(all, 6), -1, "or none");
    is_i64(sfid__mark_spare(all, 0), -1, "nor where nothing is known");
}

int main(void) {
    checked();
    gathered();
    counted();
    of_the_format_before();
    newest();
    known();
    spare();
    return done_testing();
}
