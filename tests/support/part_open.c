/* SPDX-License-Identifier: MIT */
#include "support/part.h"

#include "support/local.h"

#define TWO "local?pid_min=5&pid_max=6"

static struct {
    sfid_options opt;
    char run[120], home[120];
    sfid *ours;
} scene;

static void run(struct sfid__error *err) {
    sfid *g;
    err->code = sfid_open(&g, &scene.opt);
    if (err->code < 0) {
        snprintf(err->text, sizeof err->text, "%s",
                 g ? sfid_last_error(g) : sfid_strerror(err->code));
        sfid_close(g);
        g = NULL;
    }
    scene.ours = g;
}

/* What is open has IDs, or says that they are ahead of the clock. */
static void undo(void) {
    const int64_t id = scene.ours ? sfid_try_next(scene.ours) : 1;
    need(id > 0 || id == SFID_EAGAIN, "no ID: %s", sfid_last_error(scene.ours));
    sfid_close(scene.ours);
    scene.ours = NULL;
}

static void set_nothing(void) {
    remove_tree(scene.run);
    remove_tree(scene.home);
}

static void set_closed(void) {
    struct sfid__error err;
    set_nothing();
    run(&err);
    need(err.code == 0, "no first open: %s", err.text);
    undo();
}

/* The other one has pid 5. The files of ours are made anew each time: how many calls an open makes
 * depends on what they have. */
static void set_second(void) {
    char path[160];
    snprintf(path, sizeof path, "%s/orders/pid-6", scene.run);
    unlink(path);
    snprintf(path, sizeof path, "%s/orders/pid-6", scene.home);
    unlink(path);
}

static const struct {
    const char *name, *app, *store;
    int64_t pid;
    uint64_t share;
    void (*set)(void);
    bool other; /* a process has opened it */
} all[] = {
    {"first open, fixed", "orders", NULL, 7, 0, set_nothing, false},
    {"first open, local", "orders", TWO, -1, 0, set_nothing, false},
    {"first open, shared", "orders", TWO, -1, 1, set_nothing, false},
    {"open again, local", "orders", TWO, -1, 0, set_closed, false},
    {"open beside, local", "orders", TWO, -1, 0, set_second, true},
    {"open, joined", "orders", TWO, -1, 1, NULL, true},
    {"open without an app", NULL, NULL, 7, 0, set_nothing, false},
};

static void test(size_t i, unsigned step) {
    const struct part p = {.name = all[i].name,
                           .set = all[i].set,
                           .run = run,
                           .undo = undo,
                           .keeps = all[i].share,
                           .links = all[i].share,
                           .stays = all[i].share ? 2 : 1};
    struct holder *other = NULL;
    scene.opt = (sfid_options)SFID_OPTIONS_INIT;
    scene.opt.app = all[i].app;
    scene.opt.store = all[i].store;
    scene.opt.pid = all[i].pid;
    scene.opt.share = all[i].share;
    scene.opt.run_dir = scene.run;
    scene.opt.state_dir = scene.home;
    set_nothing();
    if (all[i].other)
        other = holder_start(&scene.opt, false);
    part_test(&p, step);
    if (other)
        holder_end(other, true);
}

void parts_open(unsigned step) {
    struct sfid__error ignored = {.code = 0};
    dirs_make();
    inject = shared_memory(sizeof *inject);
    inject_begin();
    snprintf(scene.run, sizeof scene.run, "%s/r", dirs.shm);
    snprintf(scene.home, sizeof scene.home, "%s/home", dirs.shm);
    run(&ignored); /* refused: this thread's text of errors stays */
    for (size_t i = 0; i < COUNT_OF(all); i++)
        test(i, step);
    parts_end();
}
