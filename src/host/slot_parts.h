/* SPDX-License-Identifier: MIT */
/* slot_parts.h - what a slot is, and the file of one: for slot.c and slot_share.c. slot_parts.c
 * says what the functions do. */
#ifndef SFID_HOST_SLOT_PARTS_H
#define SFID_HOST_SLOT_PARTS_H

#include "draw/page.h"
#include "host/family.h"
#include "host/held.h"
#include "host/mapping.h"

#define SFID__SLOT_BLOCK 4096

struct sfid__slot {
    struct sfid__page *page;
    struct sfid__mapping *map;
    struct sfid__dir dir; /* the app's place in the run directory */
    char name[32];
    struct sfid__held held;
    /* if taken with SFID__ANY_PID: who shares the lock, should the file be gone */
    struct sfid__family family;
    bool asks;          /* through `dir` it has a lock that asks cleaners to keep out */
    bool mapped_before; /* an earlier slot of this process has mapped the page */
    uint32_t records;   /* how many records the page has; 0: it is new */
    char put_aside[96]; /* why the file that was found is not used, or "" */
};

/* For callers that obtain their pid together with the slot. The slot then shows which process is
 * the last one. */
#define SFID__ANY_PID UINT64_MAX

/* What a page must fit to be trusted. */
struct sfid__slot_want {
    uint64_t layout;    /* fingerprint */
    uint64_t pid;       /* SFID__ANY_PID: any */
    uint64_t max_limit; /* no record may allow ticks from this one on */
    int64_t until_ms;   /* monotonic: how long its door is waited for; 0: as sfid__door_enter() */
};

/* What a locked file says. */
struct sfid__slot_found {
    const char *bad; /* why its page cannot be used; NULL: it can */
    uint64_t nonce;
    uint32_t records;
    uint64_t position; /* the furthest of want->pid; 0: the page knows of none */
};

int sfid__slot_judge(const struct sfid__slot *slot, int fd, const struct stat *st,
                     const struct sfid__slot_want *want, struct sfid__slot_found *found,
                     struct sfid__error *err);
int sfid__slot_expect(int fd, uint64_t layout, struct sfid__page_id *id);
int sfid__slot_map(struct sfid__slot *slot, int fd, uint64_t nonce, struct sfid__error *err);
int sfid__slot_write_blocks(int fd, off_t from, off_t to);
int sfid__slot_make_file(struct sfid__slot *slot, uint64_t layout, struct sfid__record *last,
                         struct sfid__error *err);
size_t sfid__slot_backed_bytes(int fd, const struct stat *st);
int sfid__slot_open_again(const struct sfid__slot *slot);
int sfid__slot_map_again(struct sfid__slot *slot);

#endif
