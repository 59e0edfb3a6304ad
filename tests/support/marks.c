/* SPDX-License-Identifier: MIT */
#include "support/marks.h"

struct sfid__dir mark_app;
char mark_path[4200];
struct sfid__error mark_err;
struct sfid__position mark_said;

int take(struct sfid__mark *m) {
    mark_said = (struct sfid__position){.word = 4711, .page_nonce = 4711, .exact = true};
    mark_err = (struct sfid__error){.code = 0};
    return sfid__mark_take(m, &mark_app, &(struct sfid__mark_want){1, 77, true, false, 0},
                           &mark_said, &mark_err);
}

void write_to(struct sfid__mark *m, uint64_t to) {
    need(sfid__mark_write(m, (struct sfid__position){.word = to, .page_nonce = 5}, &mark_err) == 0,
         "cannot write the mark: %s", mark_err.text);
}

void take_or_bail(struct sfid__mark *m) {
    need(take(m) == 0, "cannot take the mark: %s", mark_err.text);
}

int64_t found(void) {
    struct sfid__mark m;
    const int rc = take(&m);
    if (rc < 0)
        return rc;
    sfid__mark_drop(&m);
    return (int64_t)mark_said.word;
}

void marks_begin(void) {
    struct sfid__dir state;
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/state", tap_tmpdir());
    need(sfid__dir_open_state(&state, dir, &mark_err) >= 0 &&
             sfid__dir_open_sub(&mark_app, &state, "orders", &mark_err) >= 0,
         "%s", mark_err.text);
    sfid__dir_close(&state);
    snprintf(mark_path, sizeof mark_path, "%s/pid-1", mark_app.path);
}
