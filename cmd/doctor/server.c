/* SPDX-License-Identifier: MIT */
/* server.c - checks the server that leases an app's pids, through the library. */
#include "doctor/server.h"

#include "io/date.h"
#include "io/say.h"
#include "layout/show.h"

#include <string.h>

static const char *topic_of(sfid_check_kind kind) {
    static const char *const topics[] = {
        [SFID_CHECK_SERVER] = "server",      [SFID_CHECK_PERMISSIONS] = "permissions",
        [SFID_CHECK_MEMORY] = "memory",      [SFID_CHECK_REPLICATION] = "replication",
        [SFID_CHECK_CLOCK] = "server clock", [SFID_CHECK_LEASE] = "lease",
        [SFID_CHECK_LAYOUT] = "layout",      [SFID_CHECK_APP] = "pids",
    };
    const bool known = kind >= SFID_CHECK_SERVER && kind < COUNT_OF(topics);
    return known ? topics[kind] : "other"; /* from a library newer than this command */
}

struct asked {
    struct report *report;
    const sfid_layout *layout; /* NULL: its crossings have been reported */
};

static void note_finding(void *user, const sfid_finding *finding) {
    struct asked *asked = user;
    struct report *report = asked->report;
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
    if (finding->kind == SFID_CHECK_LAYOUT && asked->layout) {
        layout_find_crossings(report, asked->layout, moment_now(), false);
        asked->layout = NULL;
    }
}

void doctor_server(struct report *report, const sfid_options *opt) {
    char why[SFID_WHY_LEN];
    struct asked asked = {report, opt->layout};
    const int code = sfid_app_check(opt, note_finding, &asked, why, sizeof why);
    if (code == 0)
        return;
    report_topic(report, "server");
    report_problem(report, code == SFID_EINVAL ? STATUS_CONFIG : status_of(code), NULL, "%s",
                   why[0] ? why : sfid_strerror(code));
}
