/* SPDX-License-Identifier: MIT */
/* store.c - lease options, and errors from a server. */
#include "args/store.h"


#include <stdio.h>
#include <string.h>

bool store_options(const struct args *args, int first, sfid_options *opt) {
    if (!args_option(args, first, opt, ttl_ms) || !args_option(args, first + 1, opt, short_ms) ||
        !args_option(args, first + 2, opt, skew_budget_ms) ||
        !args_option(args, first + 3, opt, open_timeout_ms))
        return false;
    if (opt->heartbeat_ms > opt->ttl_ms / 3)
        opt->heartbeat_ms = opt->ttl_ms / 3;
    return true;
}

bool app_options(const struct args *args, int first, sfid_options *opt) {
    return args_directory(args, first, &opt->run_dir) &&
           args_directory(args, first + 1, &opt->state_dir) && store_options(args, first + 2, opt);
}

/* ---- passwords ----------------------------------------------------------- */

struct stretch {
    const char *at;
    size_t len;
};

/* The text between the first colon after :// and the last @. It works for malformed URLs, too. */
static struct stretch password_of(const char *store) {
    const char *scheme = strstr(store, "://"), *end = strrchr(store, '@');
    const char *colon = scheme ? strchr(scheme + 3, ':') : NULL;
    return colon && end && colon < end ? (struct stretch){colon + 1, (size_t)(end - colon - 1)}
                                       : (struct stretch){store, 0};
}

static struct stretch password_of_sentinels(const char *store) {
    static const char name[] = "sentinel_password=";
    const char *found = strstr(store, name);
    return found ? (struct stretch){found + sizeof name - 1, strcspn(found + sizeof name - 1, "&")}
                 : (struct stretch){store, 0};
}

bool store_has_password(const char *store) {
    return password_of(store).len > 0 || password_of_sentinels(store).len > 0;
}

void store_hide_password(struct args *args) {
    static char kept[4200]; /* the library's limit */
    for (int i = 0; args->command->options[i].name; i++) {
        const char *env = args->command->options[i].env, *store = args->value[i];
        if (env == NULL || strcmp(env, "SFID_STORE") != 0 || store == NULL || args->from_env[i] ||
            !store_has_password(store))
            continue;
        const struct stretch secrets[] = {password_of(store), password_of_sentinels(store)};
        snprintf(kept, sizeof kept, "%s", store);
        for (size_t k = 0; k < COUNT_OF(secrets); k++)
            /* writes to argv, which belongs to this process */
            memset((char *)(uintptr_t)secrets[k].at, '*', secrets[k].len);
        args->value[i] = kept;
        remark(
            "other users can read a password on the command line for a moment; use password_file= in the URL, "
            "or pass the URL in $SFID_STORE");
    }
}

/* ---- failing ------------------------------------------------------------- */

int store_failure(int code, const char *why) {
    say("%s", why[0] ? why : sfid_strerror(code));
    return code == SFID_EINVAL ? STATUS_CONFIG : status_of(code);
}

int app_open(sfid **g, const sfid_options *opt) {
    const int code = sfid_open(g, opt);
    if (code == 0)
        return STATUS_GOOD;
    const int status = store_failure(code, sfid_last_error(*g));
    sfid_close(*g);
    *g = NULL;
    return status;
}

int app_look(const sfid_options *opt, sfid_app_info *found) {
    char why[SFID_WHY_LEN];
    const int code = sfid_app_look(opt, found, NULL, NULL, why, sizeof why);
    return code < 0 ? store_failure(code, why) : STATUS_GOOD;
}
