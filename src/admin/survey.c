/* SPDX-License-Identifier: MIT */
#include "admin/survey.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { TEXT = 600 };

void sfid__survey_cure(struct sfid__survey *s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(s->cure, sizeof s->cure, fmt, args);
    va_end(args);
}

void sfid__survey_tell(struct sfid__survey *s, sfid_check_kind kind, sfid_check_grade grade,
                       int code, const char *fmt, ...) {
    char text[TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    char whole[TEXT + 40];
    const struct sfid__visit *v = &s->visit;
    /* 0: the options are still being read, and nothing stands in the settings */
    const bool several = v->servers > 1;
    if (several)
        snprintf(whole, sizeof whole, "pids %" PRId64 " to %" PRId64 ": %s",
                 v->settings->opt.pid_min, v->settings->opt.pid_max, text);
    s->each(s->user, &(sfid_finding){kind, grade, code, several ? whole : text,
                                     s->cure[0] ? s->cure : NULL});
    s->cure[0] = '\0';
}
