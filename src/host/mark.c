/* SPDX-License-Identifier: MIT */
#include "host/mark.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "host/mark_file.h"
#include "id/layout.h"

#include <sfid.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_SIZE SFID__MARK_SIZE

typedef struct sfid__mark_entry entry;

static void name_it(struct sfid__mark *mark) {
    snprintf(mark->name, sizeof mark->name, SFID__MARK_PREFIX "%" PRIu64, mark->want.pid);
}

static entry make_entry(const struct sfid__mark *mark, uint64_t serial, uint64_t lives,
                        struct sfid__position at) {
    return (entry){.layout = mark->want.layout,
                   .pid = mark->want.pid,
                   .serial = serial,
                   .position = at.word,
                   .page_nonce = at.page_nonce,
                   .life = lives << 1 | at.exact};
}

static struct sfid__position position_of(const struct sfid__mark_said *said) {
    return (struct sfid__position){said->top.position, said->top.page_nonce,
                                   (said->top.life & 1) != 0, said->damaged};
}

static int fail_damaged(const struct sfid__mark *mark, const struct sfid__dir *app,
                        struct sfid__error *err) {
    sfid__fail(
        err, SFID_ESTATE,
        "%s/%s is damaged, so the last use of this pid is unknown; remove the file once that use is over a day ago",
        app->path, mark->name);
    err->one_file = true;
    return SFID_ESTATE;
}

static int fail_copied(const struct sfid__mark *mark, const struct sfid__dir *app, uint64_t pid,
                       struct sfid__error *err) {
    sfid__fail(err, SFID_ESTATE,
               "%s/%s is the mark of pid %" PRIu64
               ": the file was copied or renamed; remove it once the use of pid %" PRIu64
               " is over a day ago",
               app->path, mark->name, pid, mark->want.pid);
    err->one_file = true;
    return SFID_ESTATE;
}

/*
 * Reads all entries. A file that is blank all over says 0, and is damaged: its maker wrote all of
 * them before it had its name.
 */
static int read_said(const struct sfid__mark *mark, const struct sfid__dir *app, int fd,
                     entry all[SFID__MARK_ENTRIES], struct sfid__mark_said *said, bool *blank,
                     struct sfid__error *err) {
    int why = sfid__mark_file_read(fd, NULL, all);
    *blank = why == 0 && sfid__mark_blank(all, SFID__MARK_ENTRIES * sizeof *all);
    if (*blank)
        why = sfid__mark_file_blank(fd, blank);
    if (why) {
        sfid__fail_errno(err, SFID_ESTATE, why, "cannot read %s/%s", app->path, mark->name);
        err->one_file = true;
        return SFID_ESTATE;
    }
    if (*blank) {
        said->top = make_entry(mark, 0, 0, (struct sfid__position){0});
        said->damaged = true;
    } else if (!sfid__mark_read(all, said))
        return fail_damaged(mark, app, err);
    if (said->top.layout != mark->want.layout)
        return sfid__fail(err, SFID_ELAYOUT, "%s/%s is the mark of another layout", app->path,
                          mark->name);
    return said->top.pid == mark->want.pid ? 0 : fail_copied(mark, app, said->top.pid, err);
}

/*
 * Reads the position in the file. One that is found without any entry gets
 * one: it stays damaged until a window bounds what its user could not know.
 * A file that is short or has a hole is written in full, because a mapping of it
 * would fault. So is a file of the format before.
 *
 * What bounds nothing yet need not be durable: write_next() syncs it, and its
 * name, behind the first window. The maker may have been killed before it had
 * synced the name. Whoever finds such a mark, or has made the name of the app's
 * layout beside one, syncs the directory.
 */
static int read_position(struct sfid__mark *mark, const struct sfid__dir *app, int fd,
                         struct sfid__position *at, struct sfid__error *err) {
    entry all[SFID__MARK_ENTRIES];
    struct sfid__mark_said said = {.serial = 0};
    bool blank;
    if (read_said(mark, app, fd, all, &said, &blank, err) < 0)
        return err->code;
    *at = position_of(&said);
    const bool anew = blank || (said.older && !said.damaged),
               bounds = said.top.position > 0 || said.top.life > 0;
    if (anew) {
        said.top.serial = said.serial + 1;
        sfid__mark_fill(all, said.top, blank ? 1 : SFID__MARK_ENTRIES);
    }
    const bool whole = !anew && lseek(fd, 0, SEEK_HOLE) >= FILE_SIZE;
    const int why = whole ? 0 : sfid__mark_file_fill(fd, all, bounds && mark->want.synced);
    if (why)
        return sfid__fail_errno(err, SFID_ESTATE, why, "cannot write file %s/%s", app->path,
                                mark->name);
    mark->named = bounds && !said.unnamed;
    if (mark->want.synced ? !bounds || (mark->named && !app->unsynced) : !app->unsynced)
        return 0;
    mark->named = true;
    return fsync(app->fd) == 0 ? 0
                               : sfid__fail_errno(err, SFID_ESTATE, errno,
                                                  "cannot write file %s/%s", app->path, mark->name);
}

int sfid__mark_look(const struct sfid__dir *app, uint64_t pid, uint64_t layout,
                    struct sfid__position *at, struct sfid__error *err) {
    struct sfid__mark mark = {.want = {.pid = pid, .layout = layout}};
    entry all[SFID__MARK_ENTRIES];
    struct sfid__mark_said said = {.serial = 0};
    bool blank;
    *at = (struct sfid__position){0};
    name_it(&mark);
    const int fd = sfid__file_look(app, mark.name);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot read %s/%s", app->path, mark.name);
    const int rc = read_said(&mark, app, fd, all, &said, &blank, err);
    close(fd);
    if (rc == 0)
        *at = position_of(&said);
    return rc;
}

/* True if paths begin at `root`, where they did when the mark was taken, or not. False if it cannot
 * be known. */
static bool root_is(const struct sfid__file_id *root, bool same) {
    struct stat st;
    return stat("/", &st) == 0 && sfid__file_same(&st, root) == same;
}

/*
 * May a file that cannot be opened be written through the mapping? Yes if the program has changed
 * its user or its root, or has no descriptor left. Not if the file system is at fault: a page of it
 * that cannot be read or written raises SIGBUS. An administrator's "immutable" looks like a sandbox
 * (EPERM), and is not told apart.
 */
static bool may_use_mapping(const struct sfid__mark *mark, int why) {
    return why == EACCES || why == EPERM || why == EMFILE || why == ENFILE ||
           root_is(&mark->root, false);
}

/* Opens the file anew; -1 with errno set on failure. ESTALE: another file has its place, or
 * none. */
static int open_again(const struct sfid__mark *mark) {
    const int fd = sfid__held_open(&mark->held, AT_FDCWD, mark->path);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EISDIR ||
                   errno == ENXIO))
        errno = ESTALE;
    return fd;
}

/* Locks and maps the file. *reader becomes a descriptor of it. It runs inside the door, so it must
 * not wait for a disk. */
static int lock_and_map(struct sfid__mark *mark, const struct sfid__dir *app, int *reader,
                        struct sfid__error *err) {
    struct stat st;
    int fd = sfid__file_lock(app, mark->name, LOCK_EX, &st, err);
    if (fd < 0 && err->code == 0 &&
        sfid__mark_file_make(app, mark->name, make_entry(mark, 1, 0, (struct sfid__position){0}),
                             err) == 0)
        fd = sfid__file_lock(app, mark->name, LOCK_EX, &st, err);
    if (fd < 0)
        return err->code ? err->code
                         : sfid__fail(err, SFID_ESTATE, "%s/%s is gone", app->path, mark->name);
    mark->held.id = sfid__file_id(&st);
    /* keeps the lock, too */
    void *map = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        sfid__fail_errno(err, SFID_ESTATE, errno, "cannot map %s/%s", app->path, mark->name);
        close(fd);
        return err->code;
    }
    /* nobody may touch it before read_position() has checked the length of the file */
    mark->map = map;
    return sfid__held_begin(&mark->held, app, mark->name, fd, reader, err);
}

static int lock_by_door(struct sfid__mark *mark, const struct sfid__dir *app, int *reader,
                        struct sfid__error *err) {
    const int door = sfid__door_enter(app, mark->want.pid, mark->want.until_ms, err);
    const int rc = door < 0 ? err->code : lock_and_map(mark, app, reader, err);
    sfid__door_leave(door);
    if (rc == SFID_EBUSY && door >= 0)
        sfid__fail(err, SFID_EBUSY,
                   "pid %" PRIu64 " is in use: another process or handle holds the lock of %s/%s",
                   mark->want.pid, app->path, mark->name);
    return rc;
}

static int mark_begin(struct sfid__mark *mark, const struct sfid__dir *app,
                      const struct sfid__mark_want *want, struct sfid__error *err) {
    struct stat root;
    *mark = (struct sfid__mark){.want = *want,
                                .held.kind = want->shared ? SFID__HELD_FIRST : SFID__HELD_OWN};
    name_it(mark);
    if (stat("/", &root) < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot look at the root directory");
    mark->root = sfid__file_id(&root);
    mark->dir_path = strdup(app->path);
    if (asprintf(&mark->path, "%s/%s", app->path, mark->name) < 0)
        mark->path = NULL;
    return mark->dir_path && mark->path ? 0 : sfid__fail(err, SFID_ENOMEM, "out of memory");
}

int sfid__mark_take(struct sfid__mark *mark, const struct sfid__dir *app,
                    const struct sfid__mark_want *want, struct sfid__position *at,
                    struct sfid__error *err) {
    int fd = -1, rc = mark_begin(mark, app, want, err);
    if (rc == 0)
        rc = lock_by_door(mark, app, &fd, err);
    if (rc == 0)
        rc = fd < 0 ? sfid__fail_errno(err, SFID_ESTATE, ESTALE, "cannot use file %s/%s", app->path,
                                       mark->name)
                    : read_position(mark, app, fd, at, err);
    if (fd >= 0 && fd != mark->held.fd)
        close(fd);
    if (rc < 0)
        sfid__mark_drop(mark);
    return rc;
}

static int store_entry(const struct sfid__mark *mark, int fd, int which, const entry *e) {
    return sfid__mark_file_put(fd, mark->map, which, e, mark->want.synced);
}

/* The entries of a mark that is held. 0 or an errno: EIO if none is good. */
static int held_entries(const struct sfid__mark *mark, int fd, entry all[SFID__MARK_ENTRIES],
                        struct sfid__mark_said *said) {
    const int why = sfid__mark_file_read(fd, mark->map, all);
    return why == 0 && !sfid__mark_read(all, said) ? EIO : why;
}

/* Overwrites damaged entries, once the entry that counts is durable. Without sharers, all seats are
 * this process's own. */
static int heal(const struct sfid__mark *mark, int fd, const entry all[SFID__MARK_ENTRIES],
                const entry *next) {
    int why = 0;
    for (int i = 0; why == 0 && i < SFID__MARK_ENTRIES; i++)
        if (!sfid__mark_entry_good(&all[i]))
            why = store_entry(mark, fd, i, next);
    return why;
}

static int sync_name(const struct sfid__mark *mark) {
    const int dir = sfid__fd_above_standard(
        open(mark->dir_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const int why = dir < 0 || fsync(dir) < 0 ? errno : 0;
    if (dir >= 0)
        close(dir);
    return why;
}

/*
 * Finds the place of the next entry. Where nothing is known, the entry is synced first that has to
 * stay: for a process that is alone the one that counts, else the newest of its seat. *spare:
 * entries with a lower serial are needed no more then; 0 if that is not known. 0 or an errno.
 */
static int find_place(const struct sfid__mark *mark, int fd, const entry all[SFID__MARK_ENTRIES],
                      const struct sfid__mark_said *said, int *place, uint64_t *spare) {
    const int newest = sfid__mark_newest_of(all, mark->seat);
    const bool alone = sfid__held_alone(&mark->held) && mark->want.synced;
    *place = newest ^ 1;
    *spare = alone ? mark->serial : 0;
    /* it bounds all that is there */
    if (mark->settled == sfid__process() && mark->serial == said->serial)
        return 0;
    const int needless =
        alone && !said->damaged && !said->older ? sfid__mark_spare(all, said->spare) : -1;
    if (needless >= 0) {
        *place = needless;
        *spare = said->spare;
        return 0;
    }
    const int stays = alone ? said->top_at : newest;
    const entry settled = all[stays];
    /* not of the format before, beside a damaged one */
    const bool good = sfid__mark_entry_good(&settled);
    *place = *place == stays ? newest : *place;
    *spare = alone && good ? settled.serial : 0;
    return good ? store_entry(mark, fd, stays, &settled) : 0;
}

static int write_next(struct sfid__mark *mark, int fd, struct sfid__position at) {
    entry all[SFID__MARK_ENTRIES];
    struct sfid__mark_said said;
    uint64_t spare;
    int place;
    int why = held_entries(mark, fd, all, &said);
    if (why)
        return why;
    why = find_place(mark, fd, all, &said, &place, &spare);
    if (why)
        return why;
    /* The mark goes back with a clean close only, whatever the writer knows: a keeper may be late
     * with a lower bound. */
    if (!at.exact)
        at.word = SFID__MAX(at.word, said.top.position);
    const bool unnamed = said.unnamed && !mark->named;
    entry next = make_entry(mark, said.serial + 1, (said.top.life >> 1) + at.exact, at);
    next.known = spare << 1 | unnamed;
    sfid__mark_entry_seal(&next);
    why = store_entry(mark, fd, place, &next);
    if (why == 0 && said.damaged && sfid__held_alone(&mark->held))
        why = heal(mark, fd, all, &next);
    /* behind the content: a name without it is a mark that is damaged */
    if (why == 0 && unnamed && mark->want.synced)
        why = sync_name(mark);
    mark->settled = why == 0 ? sfid__process() : 0;
    mark->serial = next.serial;
    mark->named = mark->named || (why == 0 && mark->want.synced);
    return why;
}

int sfid__mark_write(struct sfid__mark *mark, struct sfid__position at, struct sfid__error *err) {
    if (mark->map == NULL) /* a forked child has a copy of a mark that its parent had just lost */
        return sfid__fail(err, SFID_ELEASE, "the mark is not held by this process");
    const int fd = open_again(mark);
    if (fd < 0 && errno == ESTALE && root_is(&mark->root, true))
        return sfid__fail(err, SFID_ELEASE, "%s/%s was removed or replaced while in use",
                          mark->dir_path, mark->name);
    const int unopened = fd < 0 ? errno : 0;
    int why = unopened;
    if (why == 0 || may_use_mapping(mark, why))
        why = write_next(mark, fd, at);
    if (fd >= 0)
        close(fd);
    /* there is no other way: what closes the first one is to be told */
    if (unopened && why == ENOSYS)
        why = unopened;
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot write %s/%s", mark->dir_path,
                                  mark->name)
               : 0;
}

bool sfid__mark_in_place(const struct sfid__mark *mark, struct sfid__position *at) {
    entry all[SFID__MARK_ENTRIES];
    struct sfid__mark_said said;
    errno = ESTALE;
    const int fd = mark->map ? open_again(mark) : -1;
    if (fd < 0)
        return false;
    const int why = held_entries(mark, fd, all, &said);
    close(fd);
    errno = why;
    if (why)
        return false;
    *at = position_of(&said);
    at->damaged = false; /* this process has raised it since */
    return true;
}

/* ---- a mark that processes share ------------------------------------------- */

int sfid__mark_share(struct sfid__mark *mark, bool *by_fd, struct sfid__error *err) {
    struct sfid__dir dir;
    *by_fd = mark->held.by_fd;
    if (sfid__dir_reopen(&dir, mark->dir_path, err) < 0)
        return err->code;
    const int door = sfid__door_enter(&dir, mark->want.pid, 0, err);
    int rc = door < 0 ? err->code : 0;
    if (rc == 0 && !sfid__held_share(&mark->held))
        rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot share %s/%s", mark->dir_path,
                              mark->name);
    sfid__door_leave(door);
    sfid__dir_close(&dir);
    return rc;
}

/* Runs inside the door. */
static int lock_shared(struct sfid__mark *mark, const struct sfid__dir *app, bool by_fd,
                       struct sfid__error *err) {
    struct stat st;
    const int fd = sfid__file_lock(app, mark->name, LOCK_SH, &st, err);
    if (fd < 0)
        return err->code ? err->code
                         : sfid__fail(err, SFID_ESTATE, "%s/%s is gone", app->path, mark->name);
    mark->held.id = sfid__file_id(&st);
    errno = EINVAL;
    void *map = st.st_size < FILE_SIZE
                    ? MAP_FAILED
                    : mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    mark->map = map == MAP_FAILED ? NULL : map;
    if (mark->map == NULL)
        sfid__fail_errno(err, SFID_ESTATE, errno, "cannot map %s/%s", app->path, mark->name);
    sfid__held_join(&mark->held, fd, mark->map && by_fd);
    return mark->map ? 0 : err->code;
}

int sfid__mark_join(struct sfid__mark *mark, const struct sfid__dir *app,
                    const struct sfid__mark_want *want, uint64_t page_nonce, bool by_fd,
                    struct sfid__error *err) {
    struct sfid__position at;
    int rc = mark_begin(mark, app, want, err);
    if (rc == 0 && app->unsynced && fsync(app->fd) < 0)
        rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot sync directory %s", app->path);
    const int door = rc < 0 ? -1 : sfid__door_enter(app, want->pid, want->until_ms, err);
    if (rc == 0)
        rc = door < 0 ? err->code : lock_shared(mark, app, by_fd, err);
    sfid__door_leave(door);
    const int why = rc < 0                            ? 0
                    : !sfid__mark_in_place(mark, &at) ? errno
                    : at.page_nonce != page_nonce     ? ESTALE
                                                      : 0;
    if (why && why != ESTALE)
        rc = sfid__fail_errno(err, SFID_ESTATE, why, "cannot use %s/%s", app->path, mark->name);
    else if (why)
        rc = sfid__fail(err, SFID_ESTATE, "%s/%s is not the mark of the page in use", app->path,
                        mark->name);
    if (rc < 0)
        sfid__mark_drop(mark);
    return rc;
}

/* Runs inside the door. */
static bool mark_is_last(struct sfid__mark *mark) {
    const int fd = open_again(mark);
    if (fd < 0)
        return false;
    /* The new mapping replaces the old one, and so gives up our share of the old lock. */
    if (mmap(mark->map, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED) {
        close(fd);
        return false;
    }
    /* A process that shared the mark, and left the page a moment ago, still has its share for as
     * long. */
    const bool shared = mark->held.kind != SFID__HELD_OWN;
    return sfid__held_is_last(&mark->held, fd, shared,
                              shared ? sfid__deadline_now_ms() + SFID__DOOR_MS : 0);
}

bool sfid__mark_is_last(struct sfid__mark *mark) {
    struct sfid__error ignored;
    struct sfid__dir dir;
    if (mark->map == NULL || sfid__dir_reopen(&dir, mark->dir_path, &ignored) < 0)
        return false;
    const int door = sfid__door_enter(&dir, mark->want.pid, 0, &ignored);
    const bool last = door >= 0 && mark_is_last(mark);
    sfid__door_leave(door);
    sfid__dir_close(&dir);
    return last;
}

void sfid__mark_drop(struct sfid__mark *mark) {
    void *map = mark->map;
    /* first: in a child that is forked now, something else may come to lie there */
    mark->map = NULL;
    if (map)
        munmap(map, FILE_SIZE);
    sfid__held_drop(&mark->held);
    char *dir_path = mark->dir_path, *path = mark->path;
    /* first: a child that is forked now shall not free them again */
    *mark = (struct sfid__mark){.map = NULL};
    free(dir_path);
    free(path);
}
