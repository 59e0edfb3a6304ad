/* SPDX-License-Identifier: MIT */
/* What fuzzing has found interesting, once more: each input of fuzz/corpus through its target,
 * which aborts where a promise is broken. */
#include "../fuzz/fuzz.h"

#include "support/tap.h"

#include <dirent.h>
#include <signal.h>

static const struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {{"answers", fuzz_answers}, {"files", fuzz_files},   {"flakeid", fuzz_flakeid},
               {"http", fuzz_http},       {"layout", fuzz_layout}, {"parse", fuzz_parse},
               {"replies", fuzz_replies}, {"resp", fuzz_resp},     {"streams", fuzz_streams},
               {"text", fuzz_text},       {"uri", fuzz_uri},       {"words", fuzz_words}};

static bool run_file(const struct target *target, const char *path) {
    static uint8_t data[65536];
    FILE *f = fopen(path, "rb");
    const size_t size = f ? fread(data, 1, sizeof data, f) : 0;
    if (f == NULL || !feof(f))
        return false;
    fclose(f);
    /* whole, and but for long ones cut off anywhere */
    for (size_t i = size > 4096 ? size : 0; i <= size; i++)
        target->run(data, i);
    return true;
}

/* In a child of its own, which an abort ends. */
static bool survives(const struct target *target, const char *path) {
    int status;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        exit(run_file(target, path) ? 0 : 1); /* a target may have something to put away */
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void replay(const struct target *target, const char *base) {
    char dir_path[4200], path[4500];
    unsigned count = 0, broken = 0;
    snprintf(dir_path, sizeof dir_path, "%s/fuzz/corpus/%s", base, target->name);
    DIR *dir = opendir(dir_path);
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", dir_path, entry->d_name);
        count++;
        /* tests/sh/fuzz-reach.test counts what is reached, which a child would have to hand on. */
        if (getenv("SFID_CORPUS_COVERAGE") ? !run_file(target, path) : !survives(target, path)) {
            broken++;
            diag("%s breaks it", path);
        }
    }
    if (dir)
        closedir(dir);
    ok(count >= 20, "%s: a corpus of %u inputs", target->name, count);
    is_u64(broken, 0, "%s: every promise holds for each", target->name);
}

/* An input on which nothing may hold shows that a broken promise would be seen. */
static int broken_promise(const uint8_t *data, size_t size) {
    HOLDS(data == NULL && size > 65536);
    return 0;
}

/* Arguments name the targets that are run; without any all are. */
static bool is_wanted(const struct target *target, int argc, char **argv) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; i++)
        wanted |= strcmp(argv[i], target->name) == 0;
    return wanted;
}

int main(int argc, char **argv) {
    const char *base = getenv("srcdir");
    char self[4200];
    const struct target broken = {"broken", broken_promise};
    base = base ? base : "..";
    snprintf(self, sizeof self, "%s/fuzz/fuzz.h", base);
    diag("the line that follows is meant to be there");
    ok(!survives(&broken, self) && !survives(&broken, "/nonexistent"),
       "a promise that does not hold is noticed");
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (is_wanted(&targets[i], argc, argv))
            replay(&targets[i], base);
    return done_testing();
}
