/* SPDX-License-Identifier: MIT */
/* trust.c - checks type, owner and mode of a directory or file of libsfid. */
#include "doctor/all.h"

#include <sys/stat.h>

bool doctor_trust(struct report *report, const char *path, const struct stat *st, bool directory) {
    const unsigned mode = (unsigned)st->st_mode & 07777;
    if (S_ISLNK(st->st_mode))
        report_problem(report, STATUS_STATE, "use the place to which it points", "%s is a symbolic link, which is not followed",
                       path);
    else if (directory ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode))
        report_problem(report, STATUS_STATE, directory ? "remove it, or use another place" : "remove it", "%s is not a %s", path,
                       directory ? "directory" : "plain file");
    else if (st->st_uid != geteuid())
        report_problem(report, STATUS_STATE, "run this as that user, or let that user's processes use another place",
                       "%s belongs to user %u, not to user %u, who runs this", path, (unsigned)st->st_uid, (unsigned)geteuid());
    else if (mode & (S_IWGRP | S_IWOTH))
        report_problem(report, STATUS_STATE, directory ? "chmod 700" : "chmod 600", "%s has mode %04o: other users may write to it",
                       path, mode);
    else
        return true;
    return false;
}
