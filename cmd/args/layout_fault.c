/* SPDX-License-Identifier: MIT */
/* layout_fault.c - finds what is wrong with the text of a layout. */
#include "args/layout_fault.h"

#include "io/digits.h"

#include <stdio.h>
#include <string.h>

/* Copies the text from *p up to one of the marks or the end, and moves *p there. Returns false if
 * it does not fit the room. */
static bool take_piece(const char **p, const char *marks, char *piece, size_t size) {
    const size_t len = strcspn(*p, marks);
    if (len >= size)
        return false;
    memcpy(piece, *p, len);
    piece[len] = '\0';
    *p += len;
    return true;
}

static const char *find_width_fault(const uint64_t width[3], char *room, size_t size) {
    static const struct {
        const char *name;
        uint64_t least, most;
    } fields[] = {{"time", 2, 63}, {"pid", 0, 32}, {"seq", 0, 61}};
    const uint64_t sum = width[0] + width[1] + width[2];
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (width[i] < fields[i].least || width[i] > fields[i].most) {
            snprintf(room, size, "%s has %llu bit%s; %llu to %llu are allowed", fields[i].name,
                     (unsigned long long)width[i], width[i] == 1 ? "" : "s",
                     (unsigned long long)fields[i].least, (unsigned long long)fields[i].most);
            return room;
        }
    if (sum > 64) {
        snprintf(room, size, "the widths add up to %llu bits, but an ID has 64",
                 (unsigned long long)sum);
        return room;
    }
    return NULL;
}

/* Returns whether the library accepts a small layout with this text after its widths. */
static bool is_good_with(const char *tail) {
    char text[80];
    sfid_layout layout;
    return snprintf(text, sizeof text, "2:0:0%s", tail) < (int)sizeof text &&
           sfid_layout_parse(text, &layout) == 0;
}

const char *layout_fault(const char *text, char *room, size_t size) {
    char piece[48];
    uint64_t width[3];
    const char *p = text;
    for (int i = 0; i < 3; i++) {
        if ((i > 0 && *p++ != ':') || !take_piece(&p, ":/@", piece, sizeof piece) ||
            !read_u64(piece, 999, &width[i]))
            return "it needs three widths in bits, TIME:PID:SEQ";
    }
    if (*p == ':')
        return "it has more than three widths";
    const char *fault = find_width_fault(width, room, size);
    if (fault)
        return fault;
    if (*p == '/' && (!take_piece(&p, "@", piece, sizeof piece) || !is_good_with(piece)))
        return "the unit must be digits and ms or s, such as /10ms, at most 4294967295ms";
    if (*p == '@' && !is_good_with(p))
        return "the epoch must be Unix milliseconds between the years 1 and 9999, such as @1288834974657";
    return "its last tick is out of range; use fewer bits of time, or a shorter unit";
}
