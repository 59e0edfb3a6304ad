/* SPDX-License-Identifier: MIT */
/* report.c - findings of a check by topic: severity, cause, cure. */
#include "io/report.h"

#include "io/json.h"
#include "io/out.h"
#include "io/say.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const severities[] = {[FINE] = "ok", [WARNING] = "warning", [FAULT] = "error"};

void report_begin(struct report *report, bool json) {
    *report = (struct report){.json = json, .worst = FINE, .status = STATUS_GOOD};
    if (json) {
        json_open(NULL, '{');
        json_open("checks", '[');
    }
}

static void end_topic(struct report *report) {
    if (report->json && report->found)
        json_close(']');
    if (report->json && report->topic[0])
        json_close('}');
    report->found = false;
}

void report_topic(struct report *report, const char *topic) {
    end_topic(report);
    snprintf(report->topic, sizeof report->topic, "%s", topic);
    if (report->json) {
        json_open(NULL, '{');
        json_text("topic", topic);
    }
}

/* Paths and process names may hold any bytes, and must not control a terminal. */
static void print_safe(const char *text) {
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        out_print(*p >= 0x20 && *p < 0x7f ? "%c" : "\\x%02x", *p);
}

static void add_finding(struct report *report, enum severity severity, const char *cure,
                        const char *fmt, va_list args) {
    char text[REPORT_TEXT];
    vsnprintf(text, sizeof text, fmt, args);
    if (!report->json) {
        out_print("%-7s  %-*s  ", severities[severity], REPORT_TOPIC, report->topic);
        print_safe(text);
        if (cure)
            out_print("\n%-7s  %-*s  cure: %s", "", REPORT_TOPIC, "", cure);
        out_print("\n");
        return;
    }
    if (!report->found)
        json_open("findings", '[');
    json_open(NULL, '{');
    json_text("severity", severities[severity]);
    json_text("text", text);
    if (cure)
        json_text("cure", cure);
    json_close('}');
    report->found = true;
}

void report_fine(struct report *report, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add_finding(report, FINE, NULL, fmt, args);
    va_end(args);
}

void report_problem(struct report *report, int status, const char *cure, const char *fmt, ...) {
    const enum severity severity = status ? FAULT : WARNING;
    va_list args;
    va_start(args, fmt);
    add_finding(report, severity, cure, fmt, args);
    va_end(args);
    if (severity > report->worst)
        report->worst = severity;
    if (report->status == STATUS_GOOD)
        report->status = status;
}

int report_end(struct report *report) {
    end_topic(report);
    if (report->strict && report->worst == WARNING)
        report->status = STATUS_BAD_INPUT;
    if (report->json) {
        json_close(']');
        json_text("status", severities[report->worst]);
        json_int("exit", report->status);
        json_end();
    }
    return report->status;
}
