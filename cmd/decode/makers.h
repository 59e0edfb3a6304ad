/* SPDX-License-Identifier: MIT */
/* makers.h - IDs of other makers, by their form. */
#ifndef CMD_DECODE_MAKERS_H
#define CMD_DECODE_MAKERS_H

#include "text/reader.h"

#define MAKER_PARTS 3
#define MAKER_VALUE 40
#define MAKER_KINDS 20 /* more than there are */

struct made {
    const char *name, *what; /* "ulid", and for messages "a ULID" */
    const char *note;        /* what has to be known about it, or NULL */
    bool timed;              /* it has a time: unix_ms */
    /* but nobody generated such IDs at that time: it has no more than the form */
    bool odd;
    int64_t unix_ms;
    unsigned parts;
    struct {
        const char *name;
        char value[MAKER_VALUE];
    } part[MAKER_PARTS];
};

/* Returns false if the text has the form of none. */
bool maker_find(const char *text, size_t len, struct made *made);

/* Shows the ID as text or JSON. Returns false in the other formats, whose columns it does not
 * have. */
bool maker_show(struct view *view, const char *text, size_t len, const struct made *made);

/* Says that the ID is not of the layout, but whose it may be. */
void maker_explain(const struct made *made, const char *layout, char why[READER_WHY]);

/* Returns whether it is worth saying that the text has none of these forms. */
#define MAKERS_NONE "; nor has it the form of a ULID, KSUID, ObjectId, xid, TSID or UUID"
bool maker_is_word(const char *text, size_t len);

/* How many IDs of each maker there are. */
struct makers {
    uint64_t all;
    struct maker_count {
        const char *what;
        uint64_t count;
        bool timed;
        int64_t first, last;
    } list[MAKER_KINDS];
};
void makers_add(struct makers *makers, const struct made *made);

/* Tells of each kind. others: how many IDs there are beside them. */
void makers_tell(const struct makers *makers, uint64_t others);

#endif
