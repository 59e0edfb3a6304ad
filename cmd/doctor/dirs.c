/* SPDX-License-Identifier: MIT */
/* dirs.c - checks the directories, their file systems, and the machine ID. */
#include "doctor/dirs.h"

#include "doctor/logind.h"
#include "io/json.h"
#include "io/look.h"
#include "io/say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

/* ---- file systems -------------------------------------------------------- */

/* What a file system means for files that must last or be shared. KERNEL: not for ordinary
 * files. */
enum nature { PLAIN, MEMORY, LAYER, REMOTE, KERNEL };

static const struct kind {
    unsigned long magic;
    const char *name;
    enum nature nature;
} kinds[] = {
    {TMPFS_MAGIC, "tmpfs", MEMORY},
    {RAMFS_MAGIC, "ramfs", MEMORY},
    {EXT4_SUPER_MAGIC, "ext4", PLAIN}, /* also ext2 and ext3 */
    {0x58465342, "xfs", PLAIN},
    {BTRFS_SUPER_MAGIC, "btrfs", PLAIN},
    {0xf2f52010, "f2fs", PLAIN},
    {0x2fc12fc1, "zfs", PLAIN},
    {OVERLAYFS_SUPER_MAGIC, "overlayfs", LAYER},
    {NFS_SUPER_MAGIC, "nfs", REMOTE},
    {0x517b, "smb", REMOTE},
    {0xff534d42, "cifs", REMOTE},
    {0xfe534d42, "smb2", REMOTE},
    {0x00c36400, "ceph", REMOTE},
    {V9FS_MAGIC, "9p", REMOTE},
    {0x65735546, "fuse", REMOTE},
    {PROC_SUPER_MAGIC, "proc", KERNEL}, /* access(2) wrongly says that root may write here */
    {SYSFS_MAGIC, "sysfs", KERNEL},
    {CGROUP_SUPER_MAGIC, "cgroup", KERNEL},
    {CGROUP2_SUPER_MAGIC, "cgroup2", KERNEL},
    {DEBUGFS_MAGIC, "debugfs", KERNEL},
    {TRACEFS_MAGIC, "tracefs", KERNEL},
    {SECURITYFS_MAGIC, "securityfs", KERNEL},
    {DEVPTS_SUPER_MAGIC, "devpts", KERNEL},
    {PSTOREFS_MAGIC, "pstore", KERNEL},
    {EFIVARFS_MAGIC, "efivarfs", KERNEL},
    {BINFMTFS_MAGIC, "binfmt_misc", KERNEL},
    {BPF_FS_MAGIC, "bpf", KERNEL},
    {NSFS_MAGIC, "nsfs", KERNEL},
    {0x62656570, "configfs", KERNEL},
    {0x65735543, "fusectl", KERNEL},
    {0x19800202, "mqueue", KERNEL},
};

static const struct kind *kind_of(const struct statfs *fs) {
    static char text[24];
    static struct kind other;
    /* f_type is signed on some machines */
    const unsigned long magic = (unsigned long)fs->f_type & 0xffffffff;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].magic == magic)
            return &kinds[i];
    snprintf(text, sizeof text, "type %#lx", magic);
    other = (struct kind){magic, text, PLAIN};
    return &other;
}

static const char *size_text(char *text, size_t size, uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    while (bytes >= 10 * KIB && i + 1 < COUNT_OF(units)) {
        bytes /= KIB;
        i++;
    }
    snprintf(text, size, "%" PRIu64 " %s", bytes, units[i]);
    return text;
}

/* ---- a directory --------------------------------------------------------- */

/* The purpose of a directory. */
struct role {
    uint64_t little; /* warn below this many free bytes: room for some more pids */
    bool lasts;      /* it must survive a power loss */
    /* the exit status if it is unusable; STATUS_GOOD: generators work without it */
    int unusable;
    const char *variable;
};
static const struct role run_role = {16 * MIB, false, STATUS_STATE, "SFID_RUN_DIR"},
                         state_role = {MIB, true, STATUS_STATE, "SFID_STATE_DIR"},
                         /* for pids from a server */
    spare_role = {MIB, true, STATUS_GOOD, "SFID_STATE_DIR"};

/* Less room prevents holding a new pid: a mark has eight blocks of 4 KiB. */
#define LEAST_BYTES (32 * KIB)
#define LEAST_FILES 2
#define FEW_FILES 100
#define NO_LIMIT UINT64_MAX

struct dir {
    const char *path;
    const struct role *role;
    char there[PATH_ROOM]; /* the path, or its nearest existing ancestor */
    bool exists;
    struct stat st;
    struct statfs fs;
    const struct kind *kind;
    uint64_t bytes, files; /* free, or NO_LIMIT */
};

/* Finds the directory or its nearest existing ancestor. Returns false with errno set. */
static bool find_there(struct dir *dir) {
    snprintf(dir->there, sizeof dir->there, "%s", dir->path);
    dir->exists = lstat(dir->there, &dir->st) == 0;
    while (!dir->exists && errno == ENOENT) {
        char *slash = strrchr(dir->there, '/');
        if (slash == NULL || slash[1] == '\0')
            return false;
        slash[slash == dir->there] = '\0';
        if (stat(dir->there, &dir->st) == 0)
            return true;
        /* a dangling link: no directory can be made there */
        if (errno == ENOENT && lstat(dir->there, &dir->st) == 0) {
            errno = ENOENT;
            return false;
        }
    }
    return dir->exists;
}

static void put_facts(const struct dir *dir, bool looked) {
    char mode[8];
    snprintf(mode, sizeof mode, "%04o", (unsigned)dir->st.st_mode & 07777);
    json_text("path", dir->path);
    json_bool("exists", dir->exists);
    if (dir->exists) {
        json_uint("owner", dir->st.st_uid);
        json_text("mode", mode);
    }
    if (looked) {
        json_text("filesystem", dir->kind->name);
        if (dir->bytes != NO_LIMIT)
            json_uint("free_bytes", dir->bytes);
        if (dir->files != NO_LIMIT)
            json_uint("free_files", dir->files);
    }
}

/* Checks whether the file system is suitable. Returns true if there is nothing to report. */
static bool find_nature(struct report *report, const struct dir *dir) {
    const enum nature nature = dir->kind->nature;
    if (nature == REMOTE)
        report_problem(
            report, STATUS_GOOD, "use a directory on a file system of this host",
            "%s is on %s: locks and memory of other hosts are not visible there, so IDs may repeat",
            dir->path, dir->kind->name);
    else if (!dir->role->lasts && nature != MEMORY)
        report_problem(report, STATUS_GOOD, "use a directory on a tmpfs, such as below /dev/shm",
                       "%s is on %s: some calls will wait for its disk", dir->path,
                       dir->kind->name);
    else if (dir->role->lasts && nature == MEMORY)
        report_problem(
            report, STATUS_GOOD, "use a directory on a disk",
            "%s is on %s: after a restart of the host, IDs may repeat if its clock went back",
            dir->path, dir->kind->name);
    else if (dir->role->lasts && nature == LAYER)
        report_problem(report, STATUS_GOOD, "mount a volume there that outlives the container",
                       "%s is on %s: its files are lost with the container", dir->path,
                       dir->kind->name);
    else
        return true;
    return false;
}

static bool find_room(struct report *report, const struct dir *dir) {
    char size[32];
    if (dir->bytes >= dir->role->little && dir->files >= FEW_FILES)
        return true;
    const bool full = dir->bytes < LEAST_BYTES || dir->files < LEAST_FILES;
    size_text(size, sizeof size, dir->bytes);
    if (dir->files >= FEW_FILES)
        report_problem(report, full ? STATUS_STATE : STATUS_GOOD, "free some space there",
                       "%s: its file system has %s left", dir->path, size);
    else
        report_problem(report, full ? STATUS_STATE : STATUS_GOOD, "free some space there",
                       "%s: its file system has %s and %" PRIu64 " more files left", dir->path,
                       size, dir->files);
    return false;
}

/* A generator refuses another user's directory, and does not choose another by itself. */
static bool find_owner(struct report *report, const struct dir *dir) {
    char cure[200], ours[40];
    const unsigned owner = dir->st.st_uid;
    if (owner == geteuid())
        return true;
    /* Generators of that user may have it in use; only what bears our name in a place for all
     * cannot be meant for them. */
    snprintf(ours, sizeof ours, "/dev/shm/sfid-%u", (unsigned)geteuid());
    snprintf(cure, sizeof cure, "run this as user %u, or set %s to another directory%s", owner,
             dir->role->variable,
             strcmp(dir->path, ours) == 0
                 ? "; that user or root can remove it, since it bears your number"
                 : "");
    report_problem(report, dir->role->unusable, cure,
                   "%s belongs to user %u, not to user %u, who runs this", dir->path, owner,
                   (unsigned)geteuid());
    return false;
}

/* Checks whether the directory can be made, without making anything. */
static bool find_maker(struct report *report, const struct dir *dir) {
    char cure[80];
    if (dir->exists || dir->kind->nature != KERNEL)
        return true;
    snprintf(cure, sizeof cure, "set %s to another directory", dir->role->variable);
    report_problem(report, dir->role->unusable, cure,
                   "%s cannot be made: %s is on %s, where only the kernel makes files", dir->path,
                   dir->there, dir->kind->name);
    return false;
}

/* logind removes an ordinary user's files below /dev/shm. */
static bool find_remover(struct report *report, const struct dir *dir) {
    if (dir->role->lasts || strncmp(dir->path, "/dev/shm/", strlen("/dev/shm/")) != 0 ||
        !logind_removes(geteuid()))
        return true;
    report_problem(
        report, STATUS_GOOD,
        "run loginctl enable-linger for this user, set RemoveIPC=no in logind.conf, or set SFID_RUN_DIR to a directory "
        "in memory elsewhere",
        "%s: systemd-logind removes it at the last logout of user %u (RemoveIPC), even if processes still use it",
        dir->path, (unsigned)geteuid());
    return false;
}

/* Whether others can put another directory in its place: where marks prove that IDs are unique, a
 * generator refuses it. */
static bool find_way(struct report *report, const struct dir *dir) {
    char why[SFID_WHY_LEN], list[PATH_ROOM];
    const char *named = getenv("SFID_TRUST_PARENTS");
    if (sfid_path_check(dir->path, why, sizeof why) == SFID_ESTATE) {
        const bool refused = dir->role == &state_role;
        report_problem(report, refused ? STATUS_STATE : STATUS_GOOD, NULL, "%s: %s%s", dir->path,
                       why, refused ? "" : "; if they do, a pid is lost, and no ID repeats");
        return !refused;
    }
    if (named == NULL || !*named)
        return true;
    snprintf(list, sizeof list, "%s", named);
    unsetenv("SFID_TRUST_PARENTS");
    const bool taken = sfid_path_check(dir->path, why, sizeof why) == SFID_ESTATE;
    setenv("SFID_TRUST_PARENTS", list, 1);
    if (taken)
        report_problem(
            report, STATUS_GOOD,
            "nothing, if only programs that you trust can write there; if not, leave it out of SFID_TRUST_PARENTS",
            "%s: taken because SFID_TRUST_PARENTS names it: %s", dir->path, why);
    return true;
}

/* Reports all problems of a directory that exists or is to be made. Returns false if it cannot be
 * used. */
static bool find_all(struct report *report, const struct dir *dir) {
    char size[32];
    bool fine = true;
    if (!find_maker(report, dir) ||
        (dir->exists && S_ISDIR(dir->st.st_mode) && !find_owner(report, dir)))
        return false;
    if (dir->exists && !doctor_trust(report, dir->path, &dir->st, true))
        return false;
    if (!find_way(report, dir))
        return false;
    if (faccessat(AT_FDCWD, dir->there, R_OK | W_OK | X_OK, AT_EACCESS) < 0) {
        report_problem(report, dir->role->unusable,
                       "check its owner and mode, or use another directory",
                       "%s cannot be %s: %s: %s", dir->path, dir->exists ? "used" : "made",
                       dir->there, strerror(errno));
        return false;
    }
    fine &= find_nature(report, dir);
    fine &= find_remover(report, dir);
    fine &= find_room(report, dir);
    size_text(size, sizeof size, dir->bytes);
    if (fine && dir->exists)
        report_fine(report, "%s: %s, mode %04o, %s free", dir->path, dir->kind->name,
                    (unsigned)dir->st.st_mode & 07777,
                    dir->bytes == NO_LIMIT ? "without limit" : size);
    else if (!dir->exists)
        report_fine(report, "%s: does not exist yet; will be made in %s (%s)", dir->path,
                    dir->there, dir->kind->name);
    return true;
}

static bool look_at_dir(struct report *report, const char *path, const struct role *role) {
    static struct dir dir;
    dir = (struct dir){.path = path, .role = role};
    const bool found = find_there(&dir);
    const int why = errno;
    const bool looked = found && statfs(dir.there, &dir.fs) == 0;
    if (looked) {
        const struct statfs *fs = &dir.fs;
        dir.kind = kind_of(fs);
        dir.bytes = fs->f_blocks ? (uint64_t)fs->f_bavail *
                                       (uint64_t)(fs->f_frsize ? fs->f_frsize : fs->f_bsize)
                                 : NO_LIMIT;
        dir.files = fs->f_files ? (uint64_t)fs->f_ffree : NO_LIMIT;
    }
    if (report->json)
        put_facts(&dir, looked);
    if (looked)
        return find_all(report, &dir);
    report_problem(report, role->unusable, "check the directories above it, or use another one",
                   "%s cannot be examined: %s", path, strerror(found ? errno : why));
    return false;
}

void doctor_run_dir(struct report *report, const char *path) {
    report_topic(report, "run directory");
    look_at_dir(report, path, &run_role);
}

bool doctor_state_dir(struct report *report, const char *path, bool leased) {
    report_topic(report, "state directory");
    return look_at_dir(report, path, leased ? &spare_role : &state_role);
}

/* ---- machine ID ---------------------------------------------------------- */

void doctor_machine_id(struct report *report, const char *state) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    static char path[PATH_ROOM + 24];
    char id[127];
    struct stat st;
    snprintf(path, sizeof path, "%s/machine_id", state);
    report_topic(report, "machine ID");
    if (!doctor_file(report, path, false))
        return;
    if (lstat(path, &st) < 0) {
        report_fine(report, "none yet; the first generator will make one");
        return;
    }
    const int n = look_read(path, id, sizeof id);
    if (n <= 0 || strspn(id, letters) != (size_t)n) {
        report_problem(report, STATUS_STATE, "remove it: a new one will be made",
                       "%s does not hold a machine ID", path);
        return;
    }
    if (report->json)
        json_text("machine_id", id);
    report_fine(report, "%s", id);
}

/* ---- type, owner and mode ---- */

bool doctor_trust(struct report *report, const char *path, const struct stat *st, bool directory) {
    const unsigned mode = (unsigned)st->st_mode & 07777;
    if (S_ISLNK(st->st_mode))
        report_problem(report, STATUS_STATE,
                       directory ? "use the place to which it points" : "remove it",
                       "%s is a symbolic link, which is not followed", path);
    else if (directory ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode))
        report_problem(report, STATUS_STATE,
                       directory ? "remove it, or use another place" : "remove it",
                       "%s is not a %s", path, directory ? "directory" : "plain file");
    else if (st->st_uid != geteuid())
        report_problem(report, STATUS_STATE,
                       "run this as that user, or let that user's processes use another place",
                       "%s belongs to user %u, not to user %u, who runs this", path,
                       (unsigned)st->st_uid, (unsigned)geteuid());
    else if (mode & (S_IWGRP | S_IWOTH))
        report_problem(report, STATUS_STATE, directory ? "chmod 700" : "chmod 600",
                       "%s has mode %04o: other users may write to it", path, mode);
    else
        return true;
    return false;
}

bool doctor_file(struct report *report, const char *path, bool writes) {
    struct stat st;
    const char *cure = "check the owners and modes of the directories above it";
    if (lstat(path, &st) == 0) {
        if (!doctor_trust(report, path, &st, false))
            return false;
        cure = "check its mode and attributes (lsattr), and those of its file system";
        const int fd =
            open(path, (writes ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && close(fd) == 0)
            return true;
    }
    if (errno == ENOENT)
        return true;
    report_problem(report, STATUS_STATE, cure, "%s cannot be opened: %s", path, strerror(errno));
    return false;
}
