/* SPDX-License-Identifier: MIT */
#include "support/resp.h"

#include "support/tap.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

enum { BUFFER = 65536, LIST_MOST = 1 << 20, TEXT_MOST = 1 << 28, DIR_MOST = 60 };

struct resp {
    int fd;
    int64_t deadline_ms; /* monotonic, for the current read */
    size_t at, filled;
    char buffer[BUFFER];
};

/* ---- where sockets lie --------------------------------------------------- */

static struct {
    char path[DIR_MOST + 1];
    pid_t owner;
} sockets;

static void remove_sockets(void) {
    if (sockets.owner == getpid())
        remove_tree(sockets.path);
}

static bool is_plain(const char *path) {
    return strlen(path) <= DIR_MOST &&
           path[strspn(
               path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")] == '\0';
}

/* Below the test's directory on /dev/shm, if it has one: that is removed even when a signal ends
 * the test. */
const char *socket_dir(void) {
    const char *const elsewhere[] = {getenv("SFID_TEST_SHM"), "/dev/shm", "/tmp"};
    if (sockets.path[0] == '\0' && is_plain(tap_tmpdir()))
        snprintf(sockets.path, sizeof sockets.path, "%s", tap_tmpdir());
    for (size_t i = 0; i < COUNT(elsewhere) && sockets.path[0] == '\0'; i++) {
        snprintf(sockets.path, sizeof sockets.path, "%s/sock-XXXXXX",
                 elsewhere[i] ? elsewhere[i] : "/nowhere");
        if (!is_plain(sockets.path) || mkdtemp(sockets.path) == NULL)
            sockets.path[0] = '\0';
        else if (elsewhere[i] != elsewhere[0]) {
            sockets.owner = getpid();
            atexit(remove_sockets);
        }
    }
    need(sockets.path[0] != '\0', "no directory for sockets: %s", strerror(errno));
    return sockets.path;
}

/* ---- connections --------------------------------------------------------- */

struct resp *resp_on(int fd) {
    struct resp *c = calloc(1, sizeof *c);
    if (c)
        c->fd = fd;
    return c;
}

static struct resp *connected(int family, const void *address, socklen_t size) {
    struct resp *c = resp_on(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (c && c->fd >= 0 && connect(c->fd, address, size) == 0)
        return c;
    const int why = errno;
    resp_close(c);
    errno = why;
    return NULL;
}

struct resp *resp_unix(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    strcpy(to.sun_path, path);
    return connected(AF_UNIX, &to, sizeof to);
}

void resp_close(struct resp *c) {
    if (c && c->fd >= 0)
        close(c->fd);
    free(c);
}

/* ---- sending ------------------------------------------------------------- */

static bool put(struct resp *c, const char *from, size_t size) {
    while (size > 0) {
        const ssize_t n = send(c->fd, from, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            from += n, size -= (size_t)n;
    }
    return true;
}

/* Sends it at once: a server stopped in the middle of a request would be another test. */
bool resp_send(struct resp *c, size_t n, const char *const *args, const size_t *sizes) {
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    if (!f)
        return false;
    fprintf(f, "*%zu\r\n", n);
    for (size_t i = 0; i < n; i++) {
        const size_t len = sizes ? sizes[i] : strlen(args[i]);
        fprintf(f, "$%zu\r\n", len);
        fwrite(args[i], 1, len, f);
        fputs("\r\n", f);
    }
    const bool sent = fclose(f) == 0 && put(c, out, size);
    free(out);
    return sent;
}

/* ---- reading ------------------------------------------------------------- */

static bool fill(struct resp *c) {
    const int64_t left = c->deadline_ms - tap_now_ms();
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    const int ready = poll(&p, 1, left > 0 ? (int)left : 0);
    if (ready < 0 && errno == EINTR)
        return true;
    if (ready <= 0)
        return false;
    const ssize_t n = read(c->fd, c->buffer, sizeof c->buffer);
    c->at = 0;
    c->filled = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static bool get(struct resp *c, char *to, size_t size) {
    while (size > 0) {
        if (c->at == c->filled) {
            if (!fill(c))
                return false;
            continue;
        }
        const size_t n = c->filled - c->at < size ? c->filled - c->at : size;
        memcpy(to, c->buffer + c->at, n);
        c->at += n, to += n, size -= n;
    }
    return true;
}

static bool get_line(struct resp *c, char *line, size_t size) {
    for (size_t n = 0; n + 1 < size; n++) {
        if (!get(c, line + n, 1))
            return false;
        if (n > 0 && line[n] == '\n' && line[n - 1] == '\r') {
            line[n - 1] = '\0';
            return true;
        }
    }
    return false;
}

static bool read_into(struct resp *c, struct reply *r);

static bool read_text(struct resp *c, struct reply *r, long long size) {
    char end[2];
    if (size < 0) {
        r->type = '_';
        return size == -1;
    }
    r->text = size < TEXT_MOST ? malloc((size_t)size + 1) : NULL;
    if (!r->text || !get(c, r->text, (size_t)size) || !get(c, end, 2))
        return false;
    r->size = (size_t)size;
    r->text[size] = '\0';
    return end[0] == '\r' && end[1] == '\n';
}

static bool read_list(struct resp *c, struct reply *r, long long count) {
    if (count < 0) {
        r->type = '_';
        return count == -1;
    }
    r->list = count < LIST_MOST ? calloc((size_t)count + 1, sizeof *r->list) : NULL;
    for (; r->list && r->count < (size_t)count; r->count++)
        if (!read_into(c, &r->list[r->count])) {
            r->count++; /* includes the incomplete one */
            return false;
        }
    return r->list != NULL;
}

static bool read_into(struct resp *c, struct reply *r) {
    char line[1024];
    if (!get_line(c, line, sizeof line))
        return false;
    r->type = line[0];
    switch (line[0]) {
    case '+':
    case '-':
        r->text = strdup(line + 1);
        r->size = strlen(line + 1);
        return r->text != NULL;
    case ':':
        r->number = strtoll(line + 1, NULL, 10);
        return true;
    case '$':
        return read_text(c, r, strtoll(line + 1, NULL, 10));
    case '*':
        return read_list(c, r, strtoll(line + 1, NULL, 10));
    default:
        return false;
    }
}

struct reply *resp_read(struct resp *c, unsigned limit_ms) {
    struct reply *r = calloc(1, sizeof *r);
    c->deadline_ms = tap_now_ms() + limit_ms;
    if (r && read_into(c, r))
        return r;
    reply_free(r);
    return NULL;
}

/* ---- replies ------------------------------------------------------------- */

static void clear(struct reply *r) {
    free(r->text);
    for (size_t i = 0; i < r->count; i++)
        clear(&r->list[i]);
    free(r->list);
}

void reply_free(struct reply *r) {
    if (r)
        clear(r);
    free(r);
}

bool reply_is_error(const struct reply *r, const char *word) {
    const size_t size = strlen(word);
    return r && r->type == '-' && strncmp(r->text, word, size) == 0 &&
           (r->text[size] == ' ' || r->text[size] == '\0');
}

static void print(FILE *f, const struct reply *r) {
    switch (r->type) {
    case '*':
        for (size_t i = 0; i < r->count; i++) {
            fputs(i > 0 ? " " : "", f);
            print(f, &r->list[i]);
        }
        break;
    case ':':
        fprintf(f, "%" PRId64, r->number);
        break;
    case '_':
        fputs("nil", f);
        break;
    default:
        fputs(r->type == '-' ? "-" : "", f);
        fwrite(r->text, 1, r->size, f);
    }
}

char *reply_line(const struct reply *r, char *line, size_t size) {
    FILE *f = fmemopen(line, size, "w");
    if (!f)
        abort();
    if (r)
        print(f, r);
    else
        fputs("(none)", f);
    fclose(f);
    line[size - 1] = '\0';
    return line;
}
