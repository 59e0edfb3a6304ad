/* SPDX-License-Identifier: MIT */
#include "support/redis.h"

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { PROGRAMS = 8, ALIVE = 48 };

/* ---- programs ----------------------------------------------------------- */

const char *const *redis_programs(void) {
    static const char *list[PROGRAMS + 1];
    static char names[1024];
    const char *given = getenv("SFID_TEST_SERVERS");
    size_t n = 0;
    if (list[0])
        return list;
    snprintf(names, sizeof names, "%s", given && *given ? given : "redis-server valkey-server");
    for (char *rest = names, *name; n < PROGRAMS && (name = strsep(&rest, " ")) != NULL;)
        if (*name)
            list[n++] = name;
    return list;
}

bool redis_installed(const char *program) {
    char path[1024];
    const char *rest = getenv("PATH");
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    while (rest && *rest) {
        const size_t len = strcspn(rest, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)len, rest, program);
        if (access(path, X_OK) == 0)
            return true;
        rest += len + (rest[len] == ':');
    }
    return false;
}

/* ---- ending ------------------------------------------------------------- */

/* The running servers, which have to end with the program. */
static struct { pid_t owner, pids[ALIVE]; } alive;

static void end_all(void) {
    for (size_t i = 0; i < ALIVE && alive.owner == getpid(); i++)
        if (alive.pids[i] > 0) {
            kill(alive.pids[i], SIGKILL);
            waitpid(alive.pids[i], NULL, 0);
        }
}

static void note_alive(pid_t from, pid_t to) {
    if (alive.owner != getpid()) {
        memset(&alive, 0, sizeof alive);
        alive.owner = getpid();
        (void)tap_tmpdir(); /* registered before, so the directory is removed after */
        atexit(end_all);
    }
    for (size_t i = 0; i < ALIVE; i++)
        if (alive.pids[i] == from) {
            alive.pids[i] = to;
            return;
        }
    bail("more than %d servers", ALIVE);
}

__attribute__((format(printf, 2, 3), noreturn)) static void give_up(const struct redis *r,
                                                                    const char *why, ...) {
    char text[512], path[128], line[300];
    va_list args;
    va_start(args, why);
    vsnprintf(text, sizeof text, why, args);
    va_end(args);
    snprintf(path, sizeof path, "%s/log", r->dir);
    FILE *f = fopen(path, "re");
    if (f && fseek(f, -1500, SEEK_END) < 0)
        rewind(f);
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        diag("%s", line);
    }
    bail("%s: %s", r->program, text);
}

static void disconnect(struct redis *r) {
    resp_close(r->conn);
    r->conn = NULL;
}

void redis_kill(struct redis *r) {
    disconnect(r);
    if (r->pid > 0) {
        kill(r->pid, SIGKILL);
        waitpid(r->pid, NULL, 0);
        note_alive(r->pid, 0);
    }
    r->pid = 0;
}

void redis_pause(struct redis *r) { kill(r->pid, SIGSTOP); }

void redis_resume(struct redis *r) { kill(r->pid, SIGCONT); }

/* ---- starting ----------------------------------------------------------- */

static int some_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(fd >= 0 && bind(fd, (struct sockaddr *)&at, size) >= 0 &&
             getsockname(fd, (struct sockaddr *)&at, &size) >= 0,
         "no free port: %s", strerror(errno));
    close(fd);
    return ntohs(at.sin_port);
}

int redis_free_port(void) {
    int port = some_port();
    for (int tries = 0; port > 55000 && tries < 100; tries++)
        port = some_port();
    return port;
}

static void set_clock_shim(const struct redis *r) {
    char path[128];
    snprintf(path, sizeof path, "%s/clock", r->dir);
    if (!shim_preload(path))
        _exit(126);
}

/* A sentinel needs a file that it can write, named first. */
static size_t sentinel_args(const struct redis *r, const char **args, char *path, size_t size) {
    snprintf(path, size, "%s/sentinel.conf", r->dir);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        _exit(126);
    close(fd);
    args[0] = path;
    args[1] = "--sentinel";
    return 2;
}

static void run(const struct redis *r) {
    char port[16], log[112], file[128];
    const char *const own[] = {"--port",
                               port,
                               "--unixsocket",
                               r->socket,
                               "--dir",
                               r->dir,
                               "--logfile",
                               log,
                               "--daemonize",
                               "no",
                               "--save",
                               "",
                               "--appendonly",
                               "no",
                               "--bind",
                               "127.0.0.1",
                               "--repl-diskless-sync-delay",
                               "0"};
    const char *args[REDIS_ARGS + 24] = {r->program};
    size_t n = 1;
    snprintf(port, sizeof port, "%d", r->port);
    snprintf(log, sizeof log, "%s/log", r->dir);
    if (r->flags & REDIS_SENTINEL)
        n += sentinel_args(r, &args[n], file, sizeof file);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        args[n++] = own[i];
    for (size_t i = 0; i < REDIS_ARGS && r->args[i][0]; i++)
        args[n++] = r->args[i];
    unsetenv("LD_PRELOAD");   /* the preload is for the test, not for the server */
    setenv("LC_ALL", "C", 1); /* Valkey does not start with a locale that is not installed */
    unsetenv("LC_COLLATE");
    unsetenv("LANG");
    if (r->flags & REDIS_CLOCK)
        set_clock_shim(r);
    execvp(r->program, (char *const *)args);
    _exit(127);
}

static void spawn(struct redis *r) {
    const pid_t parent = getpid();
    unlink(r->socket);
    fflush(NULL);
    r->pid = fork();
    need(r->pid >= 0, "fork: %s", strerror(errno));
    if (r->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            run(r);
        _exit(1);
    }
    note_alive(0, r->pid);
}

/* Returns whether the server answers or has ended. */
static bool up_or_gone(void *arg) {
    struct redis *r = arg;
    if (waitpid(r->pid, NULL, WNOHANG) == r->pid) {
        note_alive(r->pid, 0);
        r->pid = 0;
        return true;
    }
    if (!r->conn)
        r->conn = resp_unix(r->socket);
    const char *const ping[] = {"PING"};
    struct reply *reply =
        r->conn && resp_send(r->conn, 1, ping, NULL) ? resp_read(r->conn, TAP_WAIT_MS) : NULL;
    const bool up = reply && (reply->type == '+' ||
                              ((r->flags & REDIS_LOADING) && reply_is_error(reply, "LOADING")));
    if (!reply)
        disconnect(r); /* perhaps of a server that listened and then ended */
    reply_free(reply);
    return up;
}

static void bring_up(struct redis *r) {
    for (int tries = 0; r->pid == 0; tries++) {
        if (tries == 5)
            give_up(r, "does not start");
        /* Another process may have taken the port since it was found free. */
        if ((r->flags & REDIS_PORT) && (r->port == 0 || tries > 0))
            r->port = redis_free_port();
        spawn(r);
        if (!tap_wait_until(up_or_gone, r, TAP_WAIT_MS))
            give_up(r, "does not answer");
    }
    /* The allocator's thread waits by the wall clock, and would never sleep when that stands still.
     * Redis 5 has no such thread. */
    if (r->flags & REDIS_CLOCK)
        reply_free(redis_ask(r, "CONFIG", "SET", "jemalloc-bg-thread", "no", NULL));
}

static void make_clock(struct redis *r) {
    char path[128];
    snprintf(path, sizeof path, "%s/clock", r->dir);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(fd >= 0 && ftruncate(fd, sizeof *r->clock) >= 0, "%s: %s", path, strerror(errno));
    r->clock = mmap(NULL, sizeof *r->clock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    need(r->clock != MAP_FAILED, "%s: %s", path, strerror(errno));
}

void redis_start_n(struct redis *r, const char *program, const char *name, unsigned flags, size_t n,
                   const char *const *args) {
    static int started;
    *r = (struct redis){.program = program, .flags = flags};
    do /* a forked process may have made some */
        snprintf(r->dir, sizeof r->dir, "%s/%s-%d", socket_dir(), name, ++started);
    while (mkdir(r->dir, 0700) < 0 && errno == EEXIST);
    need(access(r->dir, W_OK) >= 0 &&
             snprintf(r->socket, sizeof r->socket, "%s/sock", r->dir) < (int)sizeof r->socket,
         "%s: %s", r->dir, strerror(errno));
    need(n <= REDIS_ARGS, "more than %d arguments for a server", REDIS_ARGS);
    for (size_t i = 0; i < n; i++)
        snprintf(r->args[i], sizeof r->args[i], "%s", args[i]);
    if (flags & REDIS_CLOCK)
        make_clock(r);
    bring_up(r);
}

void redis_start(struct redis *r, const char *program, const char *name, unsigned flags, ...) {
    const char *args[REDIS_ARGS];
    size_t n = 0;
    va_list rest;
    va_start(rest, flags);
    while (n < REDIS_ARGS && (args[n] = va_arg(rest, const char *)) != NULL)
        n++;
    va_end(rest);
    redis_start_n(r, program, name, flags, n, args);
}

void redis_restart(struct redis *r, bool empty) {
    char path[128];
    redis_kill(r);
    snprintf(path, sizeof path, "%s/dump.rdb", r->dir);
    need(!empty || unlink(path) >= 0 || errno == ENOENT, "%s: %s", path, strerror(errno));
    bring_up(r);
}

/* ---- asking ------------------------------------------------------------- */

static struct reply *ask_once(struct redis *r, size_t n, const char *const *args,
                              const size_t *sizes) {
    if (!r->conn)
        r->conn = resp_unix(r->socket);
    if (!r->conn)
        give_up(r, "%s: %s", r->socket, strerror(errno));
    struct reply *reply =
        resp_send(r->conn, n, args, sizes) ? resp_read(r->conn, TAP_WAIT_MS) : NULL;
    if (!reply)
        disconnect(r);
    return reply;
}

/* Sentinels close all connections of a server whose role they change. So a failed command is
 * repeated once, on a new connection. */
struct reply *redis_ask_n(struct redis *r, size_t n, const char *const *args, const size_t *sizes) {
    const int64_t began = tap_now_ms();
    struct reply *reply = ask_once(r, n, args, sizes);
    if (!reply && tap_now_ms() - began < TAP_WAIT_MS / 2)
        reply = ask_once(r, n, args, sizes);
    if (!reply)
        give_up(r, "no reply to %s", args[0]);
    return reply;
}

static struct reply *ask_va(struct redis *r, const char *arg, va_list rest) {
    const char *args[64] = {arg};
    size_t n = 1;
    while (n < 64 && (args[n] = va_arg(rest, const char *)) != NULL)
        n++;
    return redis_ask_n(r, n, args, NULL);
}

struct reply *redis_ask(struct redis *r, const char *arg, ...) {
    va_list rest;
    va_start(rest, arg);
    struct reply *reply = ask_va(r, arg, rest);
    va_end(rest);
    return reply;
}

int64_t redis_do(struct redis *r, const char *arg, ...) {
    char line[200];
    va_list rest;
    va_start(rest, arg);
    struct reply *reply = ask_va(r, arg, rest);
    va_end(rest);
    if (reply->type != ':' && reply->type != '+')
        give_up(r, "%s: %s", arg, reply_line(reply, line, sizeof line));
    const int64_t number = reply->number;
    reply_free(reply);
    return number;
}

static const char *text_of(struct reply *reply) {
    static char text_line[4096];
    reply_line(reply, text_line, sizeof text_line);
    reply_free(reply);
    return text_line;
}

const char *redis_text(struct redis *r, const char *arg, ...) {
    va_list rest;
    va_start(rest, arg);
    struct reply *reply = ask_va(r, arg, rest);
    va_end(rest);
    return text_of(reply);
}

const char *redis_text_n(struct redis *r, size_t n, const char *const *args, const size_t *sizes) {
    return text_of(redis_ask_n(r, n, args, sizes));
}

char *redis_info(struct redis *r, const char *section, const char *field, char *value,
                 size_t size) {
    char key[80];
    struct reply *reply = redis_ask(r, "INFO", section, NULL);
    snprintf(key, sizeof key, "\n%s:", field);
    const char *at = reply->type == '$' ? strstr(reply->text, key) : NULL;
    at = at ? at + strlen(key) : "";
    snprintf(value, size, "%.*s", (int)strcspn(at, "\r\n"), at);
    reply_free(reply);
    return value;
}

/* ---- roles and clocks --------------------------------------------------- */

const char *redis_port_text(const struct redis *r) {
    static char text[4][16];
    static unsigned next;
    char *to = text[next++ % 4];
    snprintf(to, sizeof text[0], "%d", r->port);
    return to;
}

bool redis_in_step(struct redis *r, struct redis *master) {
    char link[16], port[16], mine[32], its[32];
    redis_info(r, "replication", "master_link_status", link, sizeof link);
    redis_info(r, "replication", "master_port", port, sizeof port);
    redis_info(r, "replication", "slave_repl_offset", mine, sizeof mine);
    redis_info(master, "replication", "master_repl_offset", its, sizeof its);
    return strcmp(link, "up") == 0 && atoi(port) == master->port && strcmp(mine, its) == 0;
}

static bool in_step(void *arg) {
    struct redis *const *pair = arg;
    return redis_in_step(pair[0], pair[1]);
}

void redis_replicate(struct redis *r, const struct redis *master) {
    struct redis source = *master, *pair[] = {r, &source};
    redis_do(r, "REPLICAOF", "127.0.0.1", redis_port_text(master), NULL);
    source.conn = NULL; /* use a connection of its own */
    if (!tap_wait_until(in_step, pair, TAP_WAIT_MS))
        give_up(r, "does not follow its master");
    disconnect(&source);
}

void redis_promote(struct redis *r) { redis_do(r, "REPLICAOF", "NO", "ONE", NULL); }

void redis_resume_promoted(struct redis *r) {
    need(r->conn != NULL &&
             resp_send(r->conn, 3, (const char *const[]){"REPLICAOF", "NO", "ONE"}, NULL),
         "%s is not asked over a connection from before it was paused", r->program);
    redis_resume(r);
    struct reply *reply = resp_read(r->conn, TAP_WAIT_MS);
    need(reply != NULL && reply->type != '-', "%s does not become master", r->program);
    reply_free(reply);
}

void redis_clock_fix(struct redis *r, int64_t unix_ms) {
    atomic_store(&r->clock->clock_fixed_ns, unix_ms * 1000000);
}

void redis_clock_offset(struct redis *r, int64_t ms) {
    atomic_store(&r->clock->clock_offset_ns, ms * 1000000);
    atomic_store(&r->clock->clock_fixed_ns, 0);
}

size_t redis_installed_ones(const char *found[], size_t room) {
    size_t n = 0;
    for (const char *const *program = redis_programs(); *program; program++) {
        if (!redis_installed(*program))
            skip(1, "no %s", *program);
        else if (n < room)
            found[n++] = *program;
    }
    return n;
}
