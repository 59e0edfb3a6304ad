/* SPDX-License-Identifier: MIT */
/* server.c - checks the server that leases an app's pids, through the library. */
#include "doctor/all.h"

#include <string.h>

static const char *topic_of(sfid_check_kind kind) {
    switch (kind) {
    case SFID_CHECK_SERVER:
        return "server";
    case SFID_CHECK_PERMISSIONS:
        return "permissions";
    case SFID_CHECK_MEMORY:
        return "memory";
    case SFID_CHECK_REPLICATION:
        return "replication";
    case SFID_CHECK_CLOCK:
        return "server clock";
    case SFID_CHECK_LEASE:
        return "lease";
    case SFID_CHECK_LAYOUT:
        return "layout";
    case SFID_CHECK_APP:
        return "pids";
    }
    return "other"; /* from a library newer than this command */
}

static void find(void *user, const sfid_finding *finding) {
    struct report *report = user;
    if (strcmp(report->topic, topic_of(finding->kind)) != 0)
        report_topic(report, topic_of(finding->kind));
    if (finding->grade == SFID_CHECK_FINE)
        report_fine(report, "%s", finding->text);
    else
        report_problem(report,
                       finding->grade == SFID_CHECK_WARNING ? STATUS_GOOD
                       : finding->code == SFID_EINVAL       ? STATUS_CONFIG
                                                            : status_of(finding->code),
                       finding->cure, "%s", finding->text);
}

void doctor_server(struct report *report, const sfid_options *opt) {
    char why[SFID_WHY_LEN];
    const int code = sfid_app_check(opt, find, report, why, sizeof why);
    if (code == 0)
        return;
    report_topic(report, "server");
    report_problem(report, code == SFID_EINVAL ? STATUS_CONFIG : status_of(code), NULL, "%s", why[0] ? why : sfid_strerror(code));
}
